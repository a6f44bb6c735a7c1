"""Benchmarks: ours beside a peer or a floor measured in the same run."""
