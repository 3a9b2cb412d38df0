"""The input of a user: mentions, attachments and shell commands as messages."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a message
    __name__,
    "file_paths",
    "mentioned_files",
    "user_shell",
)
