"""The chat screen and the modal screens above it."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # opened by keys and commands
    __name__,
    "changes",
    "dialog",
    "key_inspector",
    "picker",
    "report",
    "swap",
    "tree",
)
