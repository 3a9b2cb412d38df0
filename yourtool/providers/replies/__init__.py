"""Parse replies: bytes into events, events into a message, error responses into errors."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a request fails
    __name__,
    "error_mapping",
)
