"""The tools that write files.

Where a change goes:

- how an edit finds its text: a step in `tools/edits/matching.py`, a kind in
  `tests/tools/spoilt_edits.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "notebooks",
    "patch_format",
    "patch_hunks",
    "text_edits",
)
