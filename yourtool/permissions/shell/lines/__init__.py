"""Lines of a shell as trees, words and plain commands."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "expansion",
    "plain",
    "syntax",
)
