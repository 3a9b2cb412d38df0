"""The core: sessions and turns. A turn is an async generator of events."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a message
    __name__,
    "next_request",
)
