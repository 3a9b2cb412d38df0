"""Command sandbox.

It uses bubblewrap, else Landlock, else nothing.

Where a change goes:

- what the start names because it cannot work in a workspace: `tools/sandbox/workspace_problems.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # a session can do without commands
    __name__,
    "confinement",
    "enclosure",
    "host_needs",
    "layout",
    "probes",
)
