"""Facts about the context of requests.

They record the content that requests have in place of messages of the session.
"""

from decimal import Decimal
from typing import ClassVar, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from yourtool.events.facts import Actor, Fact, Sensitivity

RoomReason: TypeAlias = Literal["user", "threshold", "overflow"]
"""Why a conversation was shortened: the user asked, it was long, or a provider rejected it."""
Override: TypeAlias = Literal["pinned", "truncated", "without_media", "omitted", "none"]
"""The part of a message in requests: always all of it, its start and its end, all but its
attachments, nothing, the usual."""


class LeftOut(Struct, frozen=True):
    """A block of the conversation that a request does not have."""

    message_id: str
    kind: str
    """Such as `image` or `redacted thinking`."""
    reason: str


class ContextElided(Fact, frozen=True, kw_only=True, tag="context.elided"):
    """Requests to a model omit old tool outputs, before it rejects one."""

    actor: ClassVar[Actor] = Actor.AGENT

    model: str
    through: str
    """Id of the last message whose output is omitted."""


class ContextCompacted(Fact, frozen=True, kw_only=True, tag="context.compacted"):
    """Requests have a summary in place of the first messages, which the session still stores."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    summary: str
    through: str
    """Id of the last message that the summary replaces."""
    kept: tuple[str, ...] = ()
    """Ids of messages up to that one which requests have nevertheless."""
    reason: RoomReason
    model: str = ""
    """The model that wrote the summary; empty: the program, or another one before an import."""
    problem: str = ""
    """Why no model wrote it."""
    turn_count: int
    """Number of turns that the summary replaces, at least in part."""
    message_count: int
    tokens_before: int
    """Estimated tokens of the next request without the summary."""
    tokens_after: int
    cost_usd: Decimal | UnsetType = UNSET
    """Cost of the silent call for the summary, as its `llm.call_completed` has it; unset: none."""


class ContextOverridden(Fact, frozen=True, kw_only=True, tag="context.overridden"):
    """The part of one message in requests; the session stores all of it.

    The user chose it, or a provider refused the rest.
    """

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    target: str
    """Id of the message."""
    override: Override
    text: str = ""
    """The text of a truncated or omitted message; empty: the start and the end of what is stored,
    or that the user removed it. Without media: the kinds that are omitted, with spaces."""


class ContextHandedOver(Fact, frozen=True, kw_only=True, tag="context.handed_over"):
    """A conversation continues with another model than the one of its last reply."""

    actor: ClassVar[Actor] = Actor.AGENT

    source: str
    """The model of the last reply."""
    model: str
    """The model that continues."""
    left_out: tuple[LeftOut, ...] = ()
    """The blocks of the conversation that this model does not get, at most a hundred."""
    left_out_count: int = 0
    """Number of all of them."""
