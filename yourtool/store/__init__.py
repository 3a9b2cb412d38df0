"""Session storage, copies and exports.

Where a change goes:

- an export format: a function that yields lines in `store/`, a `case` in `store/exports.py`
- secrets and names in exports: `store/scrubbing.py` (forms of secrets), `store/redaction.py`
  (fields that are not private)
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # used by a command
    __name__,
    "exports",
    "scrubbing",
    "unused_contents",
)
