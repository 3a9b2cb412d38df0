"""Commands about sessions, branches, changes and undo."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "session_list",
    "tree",
)
