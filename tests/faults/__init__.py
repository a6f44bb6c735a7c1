"""Processes that are killed at named points and at random times."""
