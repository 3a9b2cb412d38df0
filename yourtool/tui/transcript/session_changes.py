"""Transcript lines for changes of a session between turns."""

from typing import Literal, TypeAlias

from yourtool.events.sessions import (
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
    SessionRenamed,
)
from yourtool.events.turns import ProviderRecovered, ProviderUnavailable
from yourtool.tui.transcript import turn_results

SessionChange: TypeAlias = (
    SessionModelSelected
    | SessionModelRefused
    | SessionForked
    | SessionRenamed
    | SessionImported
    | ProviderUnavailable
    | ProviderRecovered
)


def describe_change(change: SessionChange) -> tuple[Literal["info", "warning"], str]:
    """Return the level and the text of the line for a change."""
    match change:
        case SessionModelSelected(model=None):
            return "info", "Using the default model again"
        case SessionModelSelected(model=model, media_in_words=in_words):
            words = ", with placeholders for what it cannot process" if in_words else ""
            return "info", f"Model of this session: {model}{words}"
        case SessionRenamed(title=title):
            return "info", f"Title of this session: {title or 'its first message'}"
        case SessionModelRefused(reason=reason):
            return "warning", reason
        case SessionForked(parent_session_id=parent):
            return "info", f"Forked here from {parent}, which is unchanged: /resume"
        case SessionImported(source_session_id=source):
            return "info", f"Imported up to here from session {source}"
        case ProviderUnavailable():
            return "warning", turn_results.format_outage(change)
        case ProviderRecovered():
            return "info", turn_results.format_recovery(change)
