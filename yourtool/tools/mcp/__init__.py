"""Client of MCP servers.

It is the only user of the library `mcp`; nothing else needs this folder.

Where a change goes:

- what MCP servers send: `tools/mcp/connection.py` (messages), `tools/servers/tool.py` (results),
  `projection.py` (names)
- which addresses a login of an MCP server can name: `tools/mcp/login_addresses.py`
"""
