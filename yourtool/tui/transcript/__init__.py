"""The conversation as a scrolling list of items.

Where a change goes:

- the display of an event: an item and one `case` in `tui/transcript/timeline.py`
- a fact shown as one line: `tui/transcript/session_changes.py`; one not shown: `NOT_SHOWN` there
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(__name__, "search_bar")  # until a search
