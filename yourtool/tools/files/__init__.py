"""The tools that read files."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "line_ranges",
)
