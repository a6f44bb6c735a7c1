"""Workspace: the only door to a project's folder and to child processes; no tables."""
