"""The tools that search."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "file_matcher",
    "grep_result",
)
