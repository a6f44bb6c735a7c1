"""How tests are tied to capabilities, and what is printed about it."""
