"""Command lines in permission rules.

Where a change goes:

- commands and hosts in rules: `permissions/shell/`, `permissions/hosts.py`
- what a program reads, writes, runs or fetches, and what `*` of a rule covers: its row in one of
  the files `*.toml` of `permissions/shell/programs/`, whose fields are in `table.py` there
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
