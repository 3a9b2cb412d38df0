"""Entries of a foreign session.

All text is data: nothing of it runs, opens, permits or configures anything.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct, field

from yourtool.messages.blocks import (
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
)
from yourtool.messages.usage import Usage
from yourtool.store.texts import describe_unknown

UNKNOWN_MODEL = "import:unknown"
"""The model of a reply whose file does not name it."""


class Unknown(Struct, frozen=True):
    """A block of a kind that our format does not have."""

    raw: Mapping[str, Any]
    """The block as it is in the file; no request has it."""

    @property
    def text(self) -> str:
        """The text in its place."""
        return describe_unknown(self.raw)


Part: TypeAlias = TextBlock | ImageBlock | Unknown
"""A part of a prompt or a result."""


class Prompt(Struct, frozen=True, kw_only=True):
    """A message of the user."""

    content: tuple[Part, ...]
    for_user_only: bool = False
    """Whether requests do not have it."""


class Call(Struct, frozen=True):
    """A tool call in a reply."""

    id: str
    """The id in the file."""
    name: str
    input: Mapping[str, object]
    problem: str = ""
    """Why the arguments in the file are no JSON object; then `input` is empty."""
    raw: str = ""
    """These arguments."""


ReplyPart: TypeAlias = TextBlock | ThinkingBlock | RedactedThinkingBlock | Call | Unknown


class Reply(Struct, frozen=True, kw_only=True):
    """A reply of a model."""

    content: tuple[ReplyPart, ...]
    model: str = UNKNOWN_MODEL
    """`<provider>:<name>`."""
    usage: Usage | None = None
    """Disjoint counters; the cost is the one in the file."""
    stop: str = ""
    """The reason in the file."""
    failure: str = ""
    """Why it is incomplete; empty: it is complete."""
    is_cancelled: bool = False
    """Whether the user stopped it; otherwise a failure is an error."""


class Result(Struct, frozen=True, kw_only=True):
    """The result of a call."""

    call: str
    """The id of the call in the file."""
    content: tuple[Part, ...]
    is_error: bool = False


class Command(Struct, frozen=True, kw_only=True):
    """A shell command that the user ran."""

    command: str
    output: str
    exit_code: int | None = None
    shared: bool = True
    """Whether requests have it."""


class Compaction(Struct, frozen=True, kw_only=True):
    """A summary in place of the entries before one."""

    summary: str
    first_kept: str = ""
    """The first entry that requests still have; empty: none before the summary."""
    tokens_before: int = 0


class Summary(Struct, frozen=True, kw_only=True):
    """A summary of a branch that was left."""

    summary: str


class Note(Struct, frozen=True, kw_only=True):
    """A text that another program, or its user, added."""

    kind: str
    text: str
    for_model: bool = False
    """Whether requests have it."""


class Label(Struct, frozen=True, kw_only=True):
    """A label of an entry; empty: it is removed."""

    target: str
    label: str


class Title(Struct, frozen=True, kw_only=True):
    """The title of the session."""

    title: str


class Position(Struct, frozen=True, kw_only=True):
    """The conversation continues after another entry."""

    target: str


class UnknownEntry(Struct, frozen=True, kw_only=True):
    """An entry of a kind that our format does not have."""

    system: str
    """The program that wrote it."""
    kind: str
    text: str
    """Its JSON; no request has it."""


class Nothing(Struct, frozen=True, kw_only=True):
    """An entry that has a place in the tree and nothing that we store."""


What: TypeAlias = (
    Prompt
    | Reply
    | Result
    | Command
    | Compaction
    | Summary
    | Note
    | Label
    | Title
    | Position
    | UnknownEntry
    | Nothing
)


class Entry(Struct, frozen=True, kw_only=True):
    """An entry of the session."""

    id: str
    parent: str
    """The id of the entry that it follows; empty: none."""
    at: datetime
    what: What


class Transcript(Struct, kw_only=True):
    """A session as it is in a file."""

    system: str
    """The program that wrote the file, such as `pi`."""
    format: str
    source_id: str
    """The id of the session there."""
    created_at: datetime
    directory: str = ""
    """Where that program ran; shown, never opened."""
    entries: list[Entry] = field(default_factory=list[Entry])
    attachments: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Contents of images, by the reference that their blocks have."""
    unknown_bytes: int = 0
    """The size of the entries of unknown kinds that are stored."""
    losses: Counter[str] = field(default_factory=Counter[str])
    """What the file has and the session does not, with how often."""


class Continuation(Struct, frozen=True, kw_only=True):
    """A session to which the new entries of a file are added."""

    session_id: str
    known: frozenset[str]
    """The entries of the file that it has."""
    messages: Mapping[str, str]
    """Our messages by entry of the file."""
    leaves: Mapping[str, str]
    """The last message of the step of each of these entries."""
    leaf: str
    """The last entry of the session now."""
