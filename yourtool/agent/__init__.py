"""The core: sessions and turns, whose events front ends iterate over."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a message
    __name__,
    "next_request",
)
