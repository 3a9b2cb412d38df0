"""MCP servers.

MCP servers are other programs that offer tools. The package has their settings, states and tools,
and everything that the user accepted of them.

The client that connects to them is `yourtool/tools/mcp`, which `client.py` loads.

Where a change goes:

- a field of `mcp.json`: `tools/servers/settings.py`, `docs/mcp.md`; which files:
  `agent/tool_servers.py`
- when an MCP server runs and is offered: `tools/servers/server.py` (states), `acceptance.py`
  (answers)
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a server is configured
    __name__, "acceptance", "server", "servers", "settings", "tool"
)
