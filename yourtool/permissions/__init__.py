"""Permission rules."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # a session can do without changes and searches
    __name__,
    "credential_search",
    "protection",
)
