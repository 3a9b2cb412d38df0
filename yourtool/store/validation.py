"""Validation of facts."""

from collections.abc import Iterable

from yourtool.errors import InvalidMessageError, StoreError
from yourtool.events.catalog import AnyFact
from yourtool.events.facts import Fact
from yourtool.events.model_calls import LlmCallFailed
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.ids import is_ulid
from yourtool.messages.invariants import count_problems, validate_message, value_problems
from yourtool.messages.message import Message

_MAY_BE_NEGATIVE = ("`winner_index`", "`exit_code`")


def require_valid_fact(fact: AnyFact) -> None:
    """Check the id, the time and the numbers of a fact; its message is not checked here.

    Raises:
        StoreError: a value is invalid; the message names the field.
    """
    if not is_ulid(fact.id):
        raise StoreError(f"A `{type(fact).__name__}` without an id was not stored.")
    problems = [p for p in count_problems("", fact) if not p.startswith(_MAY_BE_NEGATIVE)]
    if isinstance(fact, LlmCallFailed):
        problems += count_problems("usage.", fact.usage)
    if fact.timestamp.tzinfo is None:
        problems.append("`timestamp` has no time zone")
    if problems:
        raise StoreError(f"A `{type(fact).__name__}` was not stored: {'; '.join(problems)}")


def require_valid_message(fact: Fact, message: Message, further_problems: Iterable[str]) -> None:
    """Check the message of a fact.

    `further_problems`: those with other messages of the store.

    Raises:
        InvalidMessageError: the message breaks an invariant, or belongs to another session.
    """
    problems = [*validate_message(message), *value_problems(message)]
    if message.session_id != fact.session_id:
        problems.append(f"T2: it belongs to session `{message.session_id}`")
    if isinstance(fact, ToolCompleted | ToolFailed) and (
        message.result is None or message.result.tool_use_id != fact.tool_use_id
    ):
        problems.append(f"T2: it is not the result of `{fact.tool_use_id}`")
    problems += further_problems
    if problems:
        raise InvalidMessageError(
            f"The {message.role} message `{message.id}` was not stored: {'; '.join(problems)}"
        )
