"""Facts about a session.

They record its start and end, copies, and settings of the user.
"""

from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import UNSET, UnsetType

from yourtool.events.facts import Actor, Fact, Sensitivity
from yourtool.models import Effort


class SessionCreated(Fact, frozen=True, kw_only=True, tag="session.created"):
    """A session was created."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    workspace_path: str
    workspace_hash: str
    initial_active_model: str | None = None
    routing_policy_version: str = ""
    """Of the rules at this time, as in `routing.policy_changed`; empty: no rules."""
    parent_session_id: str | UnsetType = UNSET
    """The session that delegated the task of this one; unset: it is not a worker."""
    parent_tool_use_id: str | UnsetType = UNSET
    """The call of `delegate` that started this worker."""


class SessionResumed(Fact, frozen=True, kw_only=True, tag="session.resumed"):
    """A stored session was opened again."""

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    workspace_hash: str
    workspace_path: str | UnsetType = UNSET
    """The directory in which it continues; unset: the one before."""
    last_event_id_at_resume: str | None = None


class SessionForked(Fact, frozen=True, kw_only=True, tag="session.forked"):
    """The events before were copied from another session, which has their costs."""

    actor: ClassVar[Actor] = Actor.USER

    parent_session_id: str
    is_repaired: bool | UnsetType = UNSET
    """Whether the copy has what is sound of a damaged session; unset: it is an ordinary fork."""


class SessionImported(Fact, frozen=True, kw_only=True, tag="session.imported"):
    """The events before were imported from a file; their costs are not ours."""

    actor: ClassVar[Actor] = Actor.USER

    source_session_id: str
    """The id of the exported session."""
    source_sha256: str | UnsetType = UNSET
    """The hash of the imported file, by which a repeated import finds this session."""
    system: str | UnsetType = UNSET
    """The program that wrote the file; unset: this one."""
    source_bytes: int | UnsetType = UNSET
    """The size of the file, whose start stays the same when that program continues it."""
    losses: tuple[str, ...] | UnsetType = UNSET
    """What the file has and the session does not, each with how often."""


class SessionExtended(Fact, frozen=True, kw_only=True, tag="session.extended"):
    """The file of an imported session had grown; its new entries were added."""

    actor: ClassVar[Actor] = Actor.USER

    source_session_id: str
    source_sha256: str | UnsetType = UNSET
    system: str | UnsetType = UNSET
    source_bytes: int | UnsetType = UNSET
    losses: tuple[str, ...] | UnsetType = UNSET


class EntryImported(Fact, frozen=True, kw_only=True, tag="entry.imported"):
    """An entry of a kind that we do not have, of a file of another program.

    It is not part of the conversation: no model gets it, and no screen shows it.
    """

    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    system: str
    """The program that wrote the file, such as `pi`."""
    kind: str
    """Its name there."""
    text: str
    """The JSON of the entry."""


class SessionModelSelected(Fact, frozen=True, kw_only=True, tag="session.model_selected"):
    """The user set the model of the session, or reset it with `/model -`."""

    actor: ClassVar[Actor] = Actor.USER

    model: str | None
    """None: the default model is used."""
    media_in_words: bool = False
    """Whether the model gets placeholders for unsupported media that are already in the
    session."""


class SessionModelRefused(Fact, frozen=True, kw_only=True, tag="session.model_refused"):
    """The user chose a model that cannot take the session; the active model is unchanged."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    model: str
    validation_failure: str
    """A failure code of the router, as in `route.decided`."""
    reason: str
    """The text that the user saw."""


class SessionRenamed(Fact, frozen=True, kw_only=True, tag="session.renamed"):
    """The user gave the session a title."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    title: str
    """One line; empty: the first line of the first message is the title."""


class SessionEffortSelected(Fact, frozen=True, kw_only=True, tag="session.effort_selected"):
    """The user set the reasoning effort of the session."""

    actor: ClassVar[Actor] = Actor.USER

    effort: Effort | None
    """None: no effort is sent (`/effort -`)."""


class SessionEnded(Fact, frozen=True, kw_only=True, tag="session.ended"):
    """The program closed a session."""

    disposition: Literal["completed", "abandoned", "error"]
    turn_count: int
    total_cost_usd: Decimal
    duration_seconds: float
