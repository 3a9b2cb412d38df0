"""Common fields of facts.

The core yields one stream of facts and deltas, which every front end consumes. A `Fact` is stored
before it is displayed; replaying the facts rebuilds the session exactly. Facts are named in the
past tense, and their `type` is the one of the event catalog. They form a tree by
`parent_event_id`, whose root is the `turn.started` of the turn.

A fact that adds a message to the conversation has it in `message`; the store keeps the message in
its own table and only its id in the payload of the event.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

UNSTAMPED = datetime(1970, 1, 1, tzinfo=UTC)


class Sensitivity(StrEnum):
    """The minimum privacy class of an event type."""

    PRIVATE = "private"
    USER_CONTROLLED = "user_controlled"
    PSEUDONYMOUS = "pseudonymous"
    AGGREGATABLE = "aggregatable"


class Actor(StrEnum):
    """The originator of an event."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"
    TOOL = "tool"


class Fact(Struct, frozen=True, kw_only=True, tag_field="type"):
    """The common fields of stored events."""

    actor: ClassVar[Actor] = Actor.SYSTEM
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PSEUDONYMOUS

    id: str = ""
    """ULID; empty until the fact is recorded, like the other common fields."""
    timestamp: datetime = UNSTAMPED
    session_id: str = ""
    turn_id: str | None = None
    parent_event_id: str | None = None
