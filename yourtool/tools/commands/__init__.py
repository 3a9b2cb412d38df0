"""The tools that run commands.

Where a change goes:

- why a command failed in the sandbox: `tools/commands/blocks.py`
- which hooks and servers run what models can write: `tools/commands/workspace_programs.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "blocks",
    "expanded_targets",
)
