"""Transports: HTTP clients that send bytes to a provider and stream the response."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until the first request, or one that needs them
    __name__,
    "certificates",
    "exchange",
    "http",
)
