"""Conditions of routing rules.

A condition is a table. Several keys in one table must all hold, and the empty table always holds.
Patterns are those of RE2 (https://github.com/google/re2/wiki/Syntax), whose time is linear in the
text, because the file of a project can have any pattern.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import time
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard

import msgspec
from msgspec import Struct

from yourtool.foundation.patterns import compile_pattern
from yourtool.foundation.suggestions import find_closest
from yourtool.models import MAX_SAFE_INTEGER
from yourtool.settings.tables import is_table

MAX_TEXT = 2**16
"""Characters of a message in which a pattern or words are searched."""
_MAX_DEPTH = 10
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


class TurnInput(Struct, frozen=True, kw_only=True):
    """What conditions test."""

    text: str = ""
    """The new message."""
    has_images: bool = False
    """Whether the new message has images."""
    has_tool_calls: bool = False
    """Whether there are tool calls in the history."""
    workspace: str = ""
    skills: frozenset[str] = frozenset()
    """The skills whose description matches the message."""
    file_extensions: frozenset[str] = frozenset()
    """Of the files that tool calls of the session named, in lower case, such as `.py`."""
    local_time: time = time()
    spent_today: Decimal = Decimal(0)
    """In USD, since midnight UTC, by all sessions."""


CountTokens: TypeAlias = Callable[[], int]
"""Returns the estimated tokens of the request for the candidate of a rule."""


class ConditionError(Exception):
    """A mistake in a condition."""

    def __init__(
        self, path: tuple[str | int, ...], message: str, nearest: str | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.nearest = nearest


class PredicateKind(Struct, frozen=True):
    """A predicate; the table in `docs/routing.md` is generated from these."""

    name: str
    kind: Any
    """The type of the value in the file."""
    example: str
    meaning: str
    """When it holds."""
    holds: Callable[[Any, TurnInput, CountTokens], bool]
    prepare: Callable[[Any], Any] = lambda value: value
    """Raises a ValueError if the value has a mistake."""
    has_source: bool = True
    """Whether the program has the value that is tested; if not, the predicate never holds."""


class Test(Struct, frozen=True):
    """One predicate with its value."""

    kind: PredicateKind
    written: Any
    prepared: Any


class AllOf(Struct, frozen=True):
    """Holds if all parts hold."""

    parts: tuple["Condition", ...]


class AnyOf(Struct, frozen=True):
    """Holds if a part holds."""

    parts: tuple["Condition", ...]


class Not(Struct, frozen=True):
    """Holds if the part does not."""

    part: "Condition"


Condition: TypeAlias = Test | AllOf | AnyOf | Not


@lru_cache(maxsize=1)
def _lower(text: str) -> str:
    """Return the searched part of a message in lower case, once for all rules."""
    return text[:MAX_TEXT].lower()


def _parse_hours(value: Sequence[str]) -> tuple[time, time]:
    found = [_CLOCK.fullmatch(each) for each in value]
    if len(found) != len(("start", "end")) or None in found:
        raise ValueError('must be two times, such as ["22:00", "06:00"]')
    start, end = (time(int(each[1]), int(each[2])) for each in found if each)
    if start == end:
        raise ValueError("starts and ends at the same time, so it never holds")
    return start, end


def _is_between(hours: tuple[time, time], now: time) -> bool:
    """Whether a time is in a span, which can include midnight; its end is not part of it."""
    start, end = hours
    return start <= now < end if start < end else now >= start or now < end


def _require_words(value: Sequence[str]) -> tuple[str, ...]:
    if not value or not all(each.strip() for each in value):
        raise ValueError("must be a list of words that is not empty")
    return tuple(each.lower() for each in value)


def _parse_extensions(value: Sequence[str]) -> frozenset[str]:
    return frozenset(f".{each.removeprefix('.')}" for each in _require_words(value))


def _require_positive(value: float) -> float:
    if value < 0:
        raise ValueError("must not be negative")
    if not value <= MAX_SAFE_INTEGER:  # also `nan`, which no comparison orders
        raise ValueError(f"must be a number of at most {MAX_SAFE_INTEGER:,}")
    return value


PREDICATES = {
    each.name: each
    for each in (
        PredicateKind(
            "message_matches",
            str,
            r"'(?i)\bprove\b'",
            "the pattern matches a part of the new message",
            lambda pattern, turn, _: pattern.search(turn.text[:MAX_TEXT]) is not None,
            compile_pattern,
        ),
        PredicateKind(
            "message_contains_any",
            list[str],
            '["typo", "rename"]',
            "the new message contains one of the texts, ignoring case",
            lambda words, turn, _: any(map(_lower(turn.text).__contains__, words)),
            _require_words,
        ),
        PredicateKind(
            "estimated_input_tokens_gt",
            int,
            "50_000",
            "the request to the model of the rule has more tokens, estimated",
            lambda limit, _, tokens: tokens() > limit,
            _require_positive,
        ),
        PredicateKind(
            "estimated_input_tokens_lt",
            int,
            "2_000",
            "the request to the model of the rule has fewer tokens, estimated",
            lambda limit, _, tokens: tokens() < limit,
            _require_positive,
        ),
        PredicateKind(
            "has_images",
            bool,
            "true",
            "the new message has an image, or has none if the value is `false`",
            lambda wanted, turn, _: turn.has_images == wanted,
        ),
        PredicateKind(
            "has_tool_calls_in_history",
            bool,
            "true",
            "the session has tool calls, or has none if the value is `false`",
            lambda wanted, turn, _: turn.has_tool_calls == wanted,
        ),
        PredicateKind(
            "skills_matching_message_includes",
            list[str],
            '["release-notes"]',
            "the new message has the name of one of these skills, or two words of its description",
            lambda names, turn, _: not turn.skills.isdisjoint(names),
            _require_words,
        ),
        PredicateKind(
            "file_extensions_in_context",
            list[str],
            '[".sql", ".tf"]',
            "a tool call of the session named a file with one of these extensions",
            lambda wanted, turn, _: not turn.file_extensions.isdisjoint(wanted),
            _parse_extensions,
        ),
        PredicateKind(
            "workspace_path_matches",
            str,
            '"^/home/me/work/"',
            "the pattern matches a part of the path of the directory",
            lambda pattern, turn, _: pattern.search(turn.workspace) is not None,
            compile_pattern,
        ),
        PredicateKind(
            "time_of_day_between",
            list[str],
            '["22:00", "06:00"]',
            "the local time is in this span, which can include midnight",
            lambda hours, turn, _: _is_between(hours, turn.local_time),
            _parse_hours,
        ),
        PredicateKind(
            "cost_today_exceeds_usd",
            float,
            "5.0",
            "all sessions together cost more since midnight UTC",
            lambda limit, turn, _: turn.spent_today > Decimal(str(limit)),
            _require_positive,
        ),
        PredicateKind(
            "team_budget_remaining_lt",
            float,
            "10.0",
            "never: this program has no teams",
            lambda _limit, _turn, _tokens: False,
            _require_positive,
            has_source=False,
        ),
    )
}
COMBINATORS = ("all_of", "any_of", "not")


def parse_condition(table: Any, path: tuple[str | int, ...] = (), depth: int = 0) -> Condition:
    """Return the condition of a table.

    Raises:
        ConditionError: it has a mistake.
    """
    if depth > _MAX_DEPTH:
        raise ConditionError(path, f"is nested more than {_MAX_DEPTH} times")
    if not is_table(table):
        raise ConditionError(path, "must be a table, such as { has_images = true }")
    parts = tuple(_parse_part(name, value, path, depth) for name, value in table.items())
    return parts[0] if len(parts) == 1 else AllOf(parts)


def restore_condition(table: Any) -> Condition:
    """Return the condition that `to_table` returned as a table.

    Raises:
        ConditionError: another version stored a condition that this one does not have.
    """
    return parse_condition(table, depth=-_MAX_DEPTH - 1)  # tables of several keys are lists now


def _parse_part(name: str, value: Any, path: tuple[str | int, ...], depth: int) -> Condition:
    here = (*path, name)
    if name == "not":
        return Not(parse_condition(value, here, depth + 1))
    if name in COMBINATORS:
        if not _is_list(value) or not value:
            raise ConditionError(here, "must be a list of tables that is not empty")
        parts = tuple(
            parse_condition(each, (*here, at), depth + 1) for at, each in enumerate(value)
        )
        return AnyOf(parts) if name == "any_of" else AllOf(parts)
    if (kind := PREDICATES.get(name)) is None:
        nearest = find_closest(name, (*PREDICATES, *COMBINATORS))
        raise ConditionError(here, "there is no such predicate", nearest)
    try:
        return Test(kind, value, kind.prepare(msgspec.convert(value, kind.kind)))
    except msgspec.ValidationError as error:
        raise ConditionError(here, f"{str(error)[:1].lower()}{str(error)[1:]}") from error
    except ValueError as error:
        raise ConditionError(here, str(error)) from error


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def holds(condition: Condition, turn: TurnInput, tokens: CountTokens) -> bool:
    """Whether a condition holds for a turn."""
    match condition:
        case Test():
            return condition.kind.holds(condition.prepared, turn, tokens)
        case AllOf(parts):
            return all(holds(each, turn, tokens) for each in parts)
        case AnyOf(parts):
            return any(holds(each, turn, tokens) for each in parts)
        case Not(part):
            return not holds(part, turn, tokens)


def iter_tests(condition: Condition) -> Iterator[Test]:
    """Yield every predicate of a condition."""
    match condition:
        case Test():
            yield condition
        case AllOf(parts) | AnyOf(parts):
            for each in parts:
                yield from iter_tests(each)
        case Not(part):
            yield from iter_tests(part)


def to_table(condition: Condition) -> Mapping[str, Any]:
    """Return a condition as a table; equal conditions have equal tables."""
    match condition:
        case Test():
            return {condition.kind.name: condition.written}
        case AllOf(parts):
            return {"all_of": [to_table(each) for each in parts]} if parts else {}
        case AnyOf(parts):
            return {"any_of": [to_table(each) for each in parts]}
        case Not(part):
            return {"not": to_table(part)}


def describe(condition: Condition) -> str:
    """Return a condition in one line."""
    match condition:
        case Test():
            return f"{condition.kind.name} = {msgspec.json.encode(condition.written).decode()}"
        case AllOf(parts):
            return " and ".join(_in_brackets(each) for each in parts) if parts else "always"
        case AnyOf(parts):
            return " or ".join(_in_brackets(each) for each in parts)
        case Not(part):
            return f"not {_in_brackets(part)}"


def _in_brackets(condition: Condition) -> str:
    text = describe(condition)
    return text if isinstance(condition, Test) else f"({text})"
