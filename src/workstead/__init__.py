"""Workstead: a self-hosted workplace for AI agents."""
