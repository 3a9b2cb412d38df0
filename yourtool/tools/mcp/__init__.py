"""The client of MCP servers, the only user of the library `mcp`; nothing else needs this folder."""
