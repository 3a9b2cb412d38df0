"""MCP servers, other programs that offer tools: settings, states, tools, and what was accepted.

The client that connects to them is `yourtool/tools/mcp`, which `client.py` loads.
"""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a server is configured
    __name__, "acceptance", "server", "servers", "settings", "tool"
)
