"""Shell commands at the prompt: `!` shows the output to the model, `!!` hides it."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from yourtool.agent.commands.parser import ShellLine, parse_input
from yourtool.events.catalog import Event
from yourtool.tui.drafts import Draft
from yourtool.tui.pending_attachments import PendingAttachments

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.session.session import Session

_SHARED = "command · the model sees its output"
_HIDDEN = "command · hidden from the model"


def start_events(
    session: "Session", draft: Draft, attached: PendingAttachments
) -> AsyncGenerator[Event, None]:
    """Return the events of a draft: run its shell command, or send it with the attachments.

    The `!` must be typed in the prompt; a folded paste that starts with it is text.
    """
    if draft.text.startswith("!") and isinstance(line := parse_input(draft.full_text), ShellLine):
        return session.run_shell(line.command, shared=line.shared)
    text = draft.full_text
    return session.send(attached.build_content(text[1:] if text.startswith("\\!") else text))


def shell_hint(text: str) -> str:
    """Return the hint for a shell command, or an empty string for other text."""
    if not text.startswith("!"):
        return ""
    return _HIDDEN if text.startswith("!!") else _SHARED
