"""Session storage: the port, its implementation in SQLite, copies and exports of sessions."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # used by a command
    __name__,
    "exports",
    "scrubbing",
    "unused_contents",
)
