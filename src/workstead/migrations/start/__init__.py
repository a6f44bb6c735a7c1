"""The first schema, a module for each package; each is a copy of that package's `tables.py`."""
