"""Vim keys on a text and a caret, without a screen."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # unless Vim's keys are on
    __name__,
    "normal_mode",
)
