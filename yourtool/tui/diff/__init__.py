"""Unified diffs on the screen."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a change
    __name__,
    "rows",
)
