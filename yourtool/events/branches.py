"""Facts about the branches of a session.

A message follows the one before it on its branch. `branch.selected` starts a new branch after any
message, and the branch that it leaves stays stored. Entries are what a branch has in addition to
its messages.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from yourtool.events.facts import Actor, Fact, Sensitivity

Reach: TypeAlias = Literal["session", "next_request", "requests"]
"""Who gets an entry: only people who read the session, the next request alone, or all requests."""


class BranchSelected(Fact, frozen=True, kw_only=True, tag="branch.selected"):
    """The conversation continues after an earlier message, or after the last one of a branch."""

    actor: ClassVar[Actor] = Actor.USER

    leaf: str
    """Id of the message that the next one follows; empty: the conversation starts again."""
    left: str
    """Id of the last message of the branch that is left; empty if it had none."""


class BranchLabelled(Fact, frozen=True, kw_only=True, tag="branch.labelled"):
    """The user gave a message a label, by which the tree of the session shows it."""

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    target: str
    """Id of the message."""
    label: str
    """One line; empty: the label is removed."""


class BranchSummarised(Fact, frozen=True, kw_only=True, tag="branch.summarised"):
    """Requests have a summary of a branch that was left, which the session still stores."""

    actor: ClassVar[Actor] = Actor.AGENT
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    summary: str
    left: str
    """Id of the last message of that branch."""
    model: str = ""
    """The model that wrote the summary; empty: the program, or another one before an import."""
    problem: str = ""
    """Why no model wrote it."""
    message_count: int
    cost_usd: Decimal | UnsetType = UNSET
    """Cost of the silent call for the summary, as its `llm.call_completed` has it; unset: none."""


class MergedMessage(Struct, frozen=True):
    """A message that requests have a second time, at another place."""

    source: str
    """Id of the stored message."""
    id: str
    """Id of the copy, which determines its place."""


class BranchMerged(Fact, frozen=True, kw_only=True, tag="branch.merged"):
    """Requests have copies of messages of other branches from here on."""

    actor: ClassVar[Actor] = Actor.USER

    merged: tuple[MergedMessage, ...]


class EntryAdded(Fact, frozen=True, kw_only=True, tag="entry.added"):
    """A text was added to the session in addition to its messages.

    Requests that have it get a message that is composed of it; the session stores no message.
    """

    actor: ClassVar[Actor] = Actor.USER
    sensitivity: ClassVar[Sensitivity] = Sensitivity.PRIVATE

    kind: str
    """Who added it: `note` is the user; other kinds have other names."""
    text: str
    reach: Reach
    data: Mapping[str, Any] | UnsetType = UNSET
    """The values of the text, if it is the result of a command such as `/review`."""
