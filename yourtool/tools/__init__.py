"""The tools that models can call."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # few calls need them
    __name__,
    "expanded_targets",
    "file_matcher",
    "grep_result",
    "line_ranges",
    "page_fetching",
    "patch_format",
    "patch_hunks",
    "text_edits",
    "validation",
)
