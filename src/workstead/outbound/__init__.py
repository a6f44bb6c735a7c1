"""Outbound: the one HTTP client with which the server reaches out; guarded, bounded, never silently repeated."""
