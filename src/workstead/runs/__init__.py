"""Runs: the supervisor of a project, activations, nodes, acceptance and recovery."""
