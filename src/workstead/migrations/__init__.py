"""Migrations: the numbered revisions of the schema and the start that applies them."""
