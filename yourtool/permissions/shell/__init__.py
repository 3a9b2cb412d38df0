"""Command lines in permission rules.

Where a change goes:

- commands and hosts in rules: `permissions/shell/`, `permissions/hosts.py`
- a program that only reads: a row in `permissions/shell/programs.toml`; what its fields mean:
  `programs.py`
- what `*` of a rule covers: a row in `permissions/shell/writing_programs.toml` (options that it
  covers) or `open_rules.toml` (those that it does not, and whether such a rule is offered)
- which files a command reads without naming them: `permissions/shell/searches.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # a session can do without commands
    __name__,
    "canonical",
    "coverage",
    "denials",
    "destruction",
    "place",
    "proposals",
    "specs",
    "wrapped",
    "writes",
)
