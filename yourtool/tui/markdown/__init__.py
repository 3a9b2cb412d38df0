"""Markdown rendered as styled lines while it streams."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a reply
    __name__,
    "stream",
)
