"""Slash commands: their table and handlers, which every front end shares."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a command
    __name__,
    "custom",
    "mcp",
    "models",
    "session_list",
    "table",
    "tree",
)
