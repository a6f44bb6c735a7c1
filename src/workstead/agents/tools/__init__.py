"""The tools an agent at work may call."""
