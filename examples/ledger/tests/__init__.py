"""Tests of the ledger: python3 -m unittest -q."""
