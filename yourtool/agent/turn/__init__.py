"""The turn: model requests and tool calls until a reply calls no tool."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until a turn
    __name__,
    "change_journal",
    "compaction",
    "loop",
    "model_call",
    "request",
    "summaries",
    "tool_runner",
)
