"""The client of MCP servers (https://modelcontextprotocol.io), the only user of the library `mcp`.

`client.py` has the functions of `tools/servers/client.py`, which loads it. Nothing else imports
from here, so the program works without this folder.
"""
