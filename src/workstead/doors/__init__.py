"""Doors: thin entries that find the proof, call one operation and reply."""
