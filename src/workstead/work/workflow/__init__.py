"""Pure rules of cards: identities, lifecycle, who may do what, and compiled workflow graphs. No I/O."""
