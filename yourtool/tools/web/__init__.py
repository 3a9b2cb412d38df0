"""The tool that reads the public web."""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "page_fetching",
)
