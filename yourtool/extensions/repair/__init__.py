"""Repair of stored sessions.

It includes checks, sound copies, a new database and the deletion of old sessions.

Where a change goes:

- what `sessions check` finds: `extensions/repair/checks.py` (facts), `store/sqlite/row_checks.py`
  (rows), `extensions/repair/repaired_copies.py` (`--fix`)
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # used by one action each
    __name__,
    "checks",
    "pruning",
    "repaired_copies",
    "salvage",
)
