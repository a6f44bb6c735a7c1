"""A small ledger of things to pay."""
