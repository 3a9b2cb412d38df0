"""Parsers of replies.

They turn bytes into events, events into a message, and error responses into errors.

Where a change goes:

- which pieces of a reply become one event: `providers/replies/joined_text.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a request fails
    __name__,
    "error_mapping",
)
