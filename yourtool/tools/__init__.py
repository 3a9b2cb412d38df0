"""The tools that models can call."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # few calls need them
    __name__,
    "expanded_targets",
    "page_fetching",
)

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # few calls need them
    __name__,
    "expanded_targets",
    "page_fetching",
)
