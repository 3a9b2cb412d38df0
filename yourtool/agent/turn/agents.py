"""End of a turn of another agent.

The work that the agent still does is stopped, and its changes are reported.
"""

from collections.abc import Sequence

from yourtool.agent.turn.calls import change_journal
from yourtool.agent.turn.turn import Turn
from yourtool.events.deltas import Notice
from yourtool.ids import new_tool_use_id

_MAX_NAMED = 10
"""Files that a notice names."""


def abandon_agent(turn: Turn) -> None:
    """Let the next turn stop what an agent still does, in case that this one cannot settle it."""
    if turn.env.agents is not None:
        turn.env.agents.abandon(turn.model)


async def settle_agent(turn: Turn) -> None:
    """Stop what an agent still does for the turn, and report what it changed without a question.

    Has no effect on the turn of a model. The changes have no call in the history.
    """
    if turn.env.agents is None:
        return
    settled = await turn.env.agents.settle(turn.model)
    if settled.changes:
        journal = change_journal.CallJournal(turn, new_tool_use_id(), turn.parent)
        for found in settled.changes:
            await journal.add(found)
    if settled.problem:
        text = f"`{turn.model.id}` {settled.problem}."
        await turn.emit(Notice(level="warning", text=text))
    if settled.unasked:
        await turn.emit(Notice(level="warning", text=_describe_unasked(turn, settled.unasked)))


def _describe_unasked(turn: Turn, paths: Sequence[str]) -> str:
    """Return what an agent changed without a question, and how that is taken back."""
    named = ", ".join(f"`{path}`" for path in paths[:_MAX_NAMED])
    more = len(paths) - _MAX_NAMED
    rest = f" and {more:,} more" if more > 0 else ""
    way = " /undo takes it back." if turn.env.user.interactive else ""
    return f"`{turn.model.id}` changed without a question: {named}{rest}.{way}"
