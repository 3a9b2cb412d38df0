"""Stored session as input of a replay.

It separates the facts that the replay gets from those that it has to produce again.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
    EntryAdded,
)
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.context import ContextOverridden
from yourtool.events.files import FilesRestored
from yourtool.events.model_calls import (
    LlmCallCompleted,
    LlmCallEnd,
    LlmCallFailed,
    LlmCallStarted,
    is_silent,
)
from yourtool.events.sessions import SessionCreated, SessionRenamed
from yourtool.events.tools import ProcessesReported, ShellRan, ToolCompleted, ToolFailed
from yourtool.events.turns import (
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
    TurnSteered,
)
from yourtool.messages.blocks import ContentBlock, ToolResultBlock
from yourtool.messages.message import Message

GivenFact: TypeAlias = (
    SessionCreated
    | SessionRenamed
    | ShellRan
    | FilesRestored
    | ProcessesReported
    | BranchSelected
    | BranchLabelled
    | ContextOverridden
    | BranchSummarised
    | BranchMerged
    | EntryAdded
)
"""The facts between turns that a replay repeats as they are."""


class Step(Struct):
    """A reply of a turn, and what followed it."""

    reply: LlmCallEnd
    results: list[ToolResultBlock]
    """The results of its calls, in the order in which the calls ended."""
    steering: list[tuple[ContentBlock, ...]]
    """The messages of the user that followed the results."""
    objections: list[EntryAdded]
    """What hooks had for the model that did not let the turn end."""


class RecordedTurn(Struct):
    """A turn: what is given, and its steps."""

    started: TurnStarted
    route: RouteDecided | None
    """None: the turn was stopped before a model was chosen."""
    steps: list[Step]
    silent: list[LlmCallEnd]
    """The ends of silent calls, such as for a summary."""
    messages: list[Message]
    """Those that the loop adds, in the order of their ids."""


def read_recording(facts: Sequence[AnyFact]) -> list[GivenFact | RecordedTurn]:
    """Return the turns of a session and the facts between them, in order."""
    found, turn = list[GivenFact | RecordedTurn](), list[AnyFact]()
    for fact in facts:
        if isinstance(fact, TurnStarted) or turn:
            turn.append(fact)
            if isinstance(fact, TurnCompleted | TurnCancelled):
                found.append(_read_turn(turn))
                turn = []
        elif isinstance(fact, GivenFact):
            found.append(fact)
    return found


def _read_turn(facts: Sequence[AnyFact]) -> RecordedTurn:
    started = facts[0]
    assert isinstance(started, TurnStarted), "a turn begins with its start"
    turn = RecordedTurn(started, None, [], [], [])
    ends = set(map(id, _find_ends(facts)))
    for fact in facts:
        match fact:
            case RouteDecided():
                turn.route = fact
            case LlmCallCompleted() | LlmCallFailed() if is_silent(fact):
                turn.silent.append(fact)
            case LlmCallCompleted() | LlmCallFailed() if id(fact) in ends:
                turn.steps.append(Step(fact, [], [], []))
            case ToolCompleted(message=message) | ToolFailed(message=message) if turn.steps:
                turn.steps[-1].results += [message.result] if message.result else []
            case EntryAdded() if turn.steps:
                turn.steps[-1].objections.append(fact)
            case TurnSteered(message=message) if turn.steps:
                turn.steps[-1].steering.append(message.content)
            case _:
                pass
        message = None if is_silent(fact) or fact is started else message_of(fact)
        if message is not None:
            turn.messages.append(message)
    turn.messages.sort(key=lambda each: each.id)
    return turn


def _find_ends(facts: Sequence[AnyFact]) -> Iterator[LlmCallEnd]:
    """Yield the ends of visible requests; failed attempts that were repeated are omitted."""
    failed: LlmCallFailed | None = None
    for fact in facts:
        if is_silent(fact):
            continue
        if failed is not None and isinstance(fact, LlmCallStarted | TurnCompleted | TurnCancelled):
            yield failed
            failed = None
        if isinstance(fact, LlmCallCompleted):
            yield fact
            failed = None
        elif isinstance(fact, LlmCallFailed):
            failed = fact
