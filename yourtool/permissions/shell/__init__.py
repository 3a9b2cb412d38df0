"""Command lines in permission rules: their syntax, what they run, and which of it only reads."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # a session can do without commands
    __name__,
    "canonical",
    "coverage",
    "denials",
    "destruction",
    "expansion",
    "place",
    "plain",
    "proposals",
    "specs",
    "wrapped",
    "writes",
)
