"""Migrations: numbered, forward only, one transaction each."""
