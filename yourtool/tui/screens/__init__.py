"""Chat screen and modal screens.

Where a change goes:

- an attachment of a prompt: a chip of the `Draft`, inserted by `tui/screens/attachments.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # opened by keys and commands
    __name__,
    "answer",
    "changes",
    "dialog",
    "key_inspector",
    "picker",
    "report",
    "swap",
    "tree",
)
