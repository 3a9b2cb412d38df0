"""Tools of MCP servers (https://modelcontextprotocol.io), other programs that offer tools."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a server is configured; the library `mcp`, and `jsonschema`
    __name__,
    "client_credentials",
    "connection",
    "oauth",
    "tool",
    "transport",
)
