"""Shell lines as trees, words and commands."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "expansion",
    "plain",
    "syntax",
)
