"""Repair of stored sessions: checks, sound copies, a new database, and the deletion of old ones."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # used by one action each
    __name__,
    "checks",
    "pruning",
    "repaired_copies",
    "salvage",
)
