"""Model transports: one event shape for every provider, practice included."""
