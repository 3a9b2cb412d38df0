"""The sandbox of commands: bubblewrap, else Landlock, else none."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # off by default
    __name__,
    "blocks",
    "sandbox",
)
