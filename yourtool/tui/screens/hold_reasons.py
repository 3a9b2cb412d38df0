"""Reasons to hold queued messages instead of sending them after a turn."""

from typing import TYPE_CHECKING

from yourtool.events.catalog import Event
from yourtool.events.tools import ShellRan
from yourtool.events.turns import TurnCancelled

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.session.session import Session

NOT_SENT = "the message could not be sent"
COMMAND_FAILED = "a command failed"
FAULT = "the program failed"


def user_stop_reason(event: Event) -> str:
    """Return a reason if the user stopped a turn or a command, else an empty string."""
    if isinstance(event, TurnCancelled):
        return "you stopped the turn"
    if isinstance(event, ShellRan) and event.exit_code is None:
        return "you stopped the command"
    return ""


def failure_reason(session: "Session") -> str:
    """Return a reason if the last turn failed, else an empty string."""
    route = session.state.last_route
    if session.state.last_turn_failed and route is not None and route.chosen_model is None:
        return "no model was available"
    if session.limit_reached is not None:
        return "the turn reached a limit"
    return "the turn failed" if session.state.last_turn_failed else ""
