"""Accounts: people, sign-ins, projects, shares and the one authority function."""
