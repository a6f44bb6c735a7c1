"""Rules of the repository that no linter knows."""
