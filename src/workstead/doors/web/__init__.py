"""Pages: routes, views, templates and the live stream; nothing is decided here."""
