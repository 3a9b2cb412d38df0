"""Results for the calls of a session whose own results are lost."""

from collections.abc import Iterator, Sequence

from yourtool.errors import ToolFailure
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.tools import ToolFailed
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import ResultMessage
from yourtool.messages.metadata import Origin, ResultMetadata
from yourtool.store.checks import find_unanswered

_NO_RESULT = "The result of this call is lost. Check what it did before you do it again."


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
