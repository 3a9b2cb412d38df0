"""Facts about the context of requests: what they have in place of messages of the session."""

from typing import ClassVar, Literal, TypeAlias

from yourtool.events.facts import Actor, Fact, Sensitivity

RoomReason: TypeAlias = Literal["user", "threshold", "overflow"]
"""Why a conversation was shortened: the user asked, it was long, or a provider rejected it."""


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
    """The model that wrote the summary; empty: the program, without a model."""
    problem: str = ""
    """Why no model wrote it."""
    turn_count: int
    """Number of turns that the summary replaces, at least in part."""
    message_count: int
    tokens_before: int
    """Estimated tokens of the next request without the summary."""
    tokens_after: int
