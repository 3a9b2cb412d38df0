"""The line that the transcript has for what changes a session between turns."""

from typing import Literal, TypeAlias

from yourtool.events import (
    ProviderRecovered,
    ProviderUnavailable,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
)
from yourtool.tui.widgets import summary

Change: TypeAlias = (
    SessionModelSelected
    | SessionModelRefused
    | SessionForked
    | SessionImported
    | ProviderUnavailable
    | ProviderRecovered
)


def remark(change: Change) -> tuple[Literal["info", "warning"], str]:
    """Return the level and the text of the line."""
    match change:
        case SessionModelSelected(model=None):
            return "info", "Using the default model again"
        case SessionModelSelected(model=model, media_in_words=in_words):
            words = ", with placeholders for what it cannot process" if in_words else ""
            return "info", f"Model of this session: {model}{words}"
        case SessionModelRefused(reason=reason):
            return "warning", reason
        case SessionForked(parent_session_id=parent):
            return "info", f"Forked here from {parent}, which stays as it is: /resume"
        case SessionImported(source_session_id=source):
            return "info", f"Imported up to here; it was {source}"
        case ProviderUnavailable():
            return "warning", summary.outage(change)
        case ProviderRecovered():
            return "info", summary.recovery(change)
