"""Guides: the packaged Markdown that assistants read and search, and the prompts they start from."""
