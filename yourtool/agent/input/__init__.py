"""User input as messages.

Where a change goes:

- a program of the clipboard: a row in `agent/input/clipboard_tools.py`; ways to copy:
  `tui/terminal/clipboard.py`
- a file that a prompt mentions: `agent/input/mentioned_files.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a message
    __name__,
    "file_paths",
    "mentioned_files",
    "user_shell",
)
