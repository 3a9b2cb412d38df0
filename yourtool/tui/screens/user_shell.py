"""Command lines at the prompt: `!` runs one and lets models see it, `!!` runs one unseen."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from yourtool.agent.commands import ShellLine, parse
from yourtool.events import Event
from yourtool.tui.drafts import Draft
from yourtool.tui.pending_attachments import Attached

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.session import Session

_SHARED = "command · the model sees its output"
_UNSEEN = "command · the model sees nothing"


def begun(session: "Session", draft: Draft, attached: Attached) -> AsyncGenerator[Event, None]:
    """Do what a draft asks for: run it, or say it together with what is attached.

    The sign must stand in the prompt itself; a folded paste that begins with it is text.
    """
    if draft.text.startswith("!") and isinstance(line := parse(draft.full), ShellLine):
        return session.run_shell(line.command, shared=line.shared)
    said = draft.full
    return session.send(attached.take(said[1:] if said.startswith("\\!") else said))


def shell_hint(text: str) -> str:
    """Return what the prompt says of a line that is a command; empty: it is none."""
    if not text.startswith("!"):
        return ""
    return _UNSEEN if text.startswith("!!") else _SHARED
