"""Slash commands of all front ends.

Where a change goes:

- a slash command: a handler and its row in a module of `agent/commands/` (a new module also in
  `table.py`), then `make docs`
- what a custom command can contain: `agent/commands/custom.py`
- a slash command about the screen: a row in `agent/commands/table.py`, a function in
  `tui/screens/screen_commands.py`, then `make docs`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a command
    __name__,
    "answers",
    "custom",
    "mcp",
    "models",
    "server_prompts",
    "table",
)
