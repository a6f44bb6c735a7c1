"""The MCP door: one address where assistants find and call the operations they were given."""
