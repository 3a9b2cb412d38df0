"""Why queued messages wait for the user instead of being sent after a turn."""

from typing import TYPE_CHECKING

from yourtool.events import Event, ShellRan, TurnCancelled

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.session import Session

NOT_SENT = "it could not be sent"
COMMAND_FAILED = "a command failed"
FAULT = "the program failed"


def stopped(event: Event) -> str:
    """Return a reason if the event says that the user stopped a turn or a command."""
    if isinstance(event, TurnCancelled):
        return "you stopped the turn"
    if isinstance(event, ShellRan) and event.exit_code is None:
        return "you stopped the command"
    return ""


def trouble(session: "Session") -> str:
    """Return a reason if the last turn did not end well; empty: it did."""
    route = session.state.last_route
    if session.state.failed and route is not None and route.chosen_model is None:
        return "no model could take the turn"
    if session.budget.reached is not None:
        return "the turn reached a limit"
    return "the turn failed" if session.state.failed else ""
