"""A session that is played again, offline: the loop runs, with stored replies and results."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # for `sessions replay` only
    __name__,
    "player",
)
