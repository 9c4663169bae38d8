"""The MCP server: the knowledge base as read-only tools, resources and a prompt (extra `mcp`)."""
