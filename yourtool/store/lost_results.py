"""Replacements for lost tool results."""

from collections.abc import Iterator, Sequence

from yourtool.errors import ToolFailure
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.model_calls import is_silent
from yourtool.events.tools import ToolFailed
from yourtool.events.turns import TurnCancelled, TurnCompleted, TurnStarted
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import ResultMessage
from yourtool.messages.metadata import Origin, ResultMetadata

_NO_RESULT = "The result of this call is lost. Check what it did before you do it again."


def find_open_turn(facts: Sequence[AnyFact]) -> str | None:
    """Return the id of the turn at the end that has not ended: it runs, or its process died."""
    for fact in reversed(facts):
        if isinstance(fact, TurnCompleted | TurnCancelled):
            return None
        if isinstance(fact, TurnStarted):
            return fact.turn_id
    return None


def find_unanswered(facts: Sequence[AnyFact]) -> dict[str, AnyFact]:
    """Return the calls of ended turns that have no result, with the facts that contain them.

    Calls in replies to silent calls are never run.
    """
    calls, open_turn = dict[str, AnyFact](), find_open_turn(facts)
    for fact in facts:
        if (message := message_of(fact)) is not None and not is_silent(fact):
            if fact.turn_id is None or fact.turn_id != open_turn:
                calls |= {call.id: fact for call in message.tool_uses}
            if message.result is not None:
                calls.pop(message.result.tool_use_id, None)
    return calls


def add_lost_results(facts: Sequence[AnyFact]) -> Iterator[AnyFact]:
    """Yield the facts, with a result for each call of an ended turn that has none.

    The ids of the new facts and messages are not ULIDs, but sort where these belong.
    """
    unanswered = find_unanswered(facts)
    for fact in facts:
        yield fact
        message = message_of(fact)
        for number, call in enumerate(message.tool_uses if message is not None else ()):
            if message is not None and call.id in unanswered:
                yield _build_result(fact, call, f"~{number}")


def _build_result(fact: AnyFact, call: ToolUseBlock, suffix: str) -> ToolFailed:
    """Return a result whose ids sort directly after those of the fact with the call."""
    message = message_of(fact)
    assert message is not None, "a fact with a call has a message"
    return ToolFailed(
        id=fact.id + suffix,
        timestamp=fact.timestamp,
        session_id=fact.session_id,
        turn_id=fact.turn_id,
        parent_event_id=fact.id,
        tool_use_id=call.id,
        tool_name=call.name,
        error_class=ToolFailure.CANCELLED,
        error_message=_NO_RESULT,
        latency_ms=0,
        message=ResultMessage(
            id=message.id + suffix,
            session_id=message.session_id,
            content=(ToolResultBlock(call.id, (TextBlock(_NO_RESULT),), is_error=True),),
            metadata=ResultMetadata(parent_tool_use_id=call.id, origin=Origin.RESUME_REPAIR),
            created_at=message.created_at,
        ),
    )
