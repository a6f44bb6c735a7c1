"""Work: cards, records, notifications, workflows and the configuration of a project."""
