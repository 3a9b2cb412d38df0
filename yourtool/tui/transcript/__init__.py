"""The conversation as a scrolling list of items."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(__name__, "search_bar")  # until a search
