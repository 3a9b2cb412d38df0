"""Calls in the messages of an agent."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct, field

from yourtool.effects import OUTSIDE_SANDBOX, Preview
from yourtool.foundation.line_diff import format_unified
from yourtool.foundation.text import printable
from yourtool.messages.blocks import canonical_json
from yourtool.permissions.protected_places import is_protected
from yourtool.settings.tables import is_table

MAX_TITLE, MAX_PATH, MAX_TEXT, MAX_INPUT = 300, 4_096, 50_000, 20_000
"""Characters of a title, a path, a result, and of arguments; longer ones are cut."""
_MAX_DIFF = 1_000_000
"""Characters of a file whose diff is shown."""
_MAX_PATHS = 50
_KINDS = frozenset(
    ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode")
)
"""The kinds of the protocol besides `other`."""
_EDITS = ("edit", "delete", "move")
_OVER = ("completed", "failed")


class ForeignDiff(Struct, frozen=True):
    """A change of a file that the agent proposes."""

    path: str
    old: str | None
    """None: the file is new."""
    new: str


class Option(Struct, frozen=True):
    """An answer that the agent offers for a permission request."""

    id: str
    kind: str


class ForeignCall(Struct):
    """A call, as the messages about it have it together."""

    id: str
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    raw_input: Any = None
    raw_output: Any = None
    paths: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    diffs: list[ForeignDiff] = field(default_factory=list[ForeignDiff])
    is_told: bool = False
    """Whether our history has it."""

    @property
    def is_over(self) -> bool:
        """Whether the agent reported its end."""
        return self.status in _OVER

    def update(self, fields: dict[str, Any]) -> None:
        """Take over what a message has about it."""
        if isinstance(title := fields.get("title"), str):
            self.title = clean_line(title)
        if isinstance(kind := fields.get("kind"), str) and kind in _KINDS:
            self.kind = kind
        if isinstance(status := fields.get("status"), str):
            self.status = status
        self.raw_input = fields.get("rawInput") or self.raw_input
        self.raw_output = fields.get("rawOutput") or self.raw_output
        if isinstance(fields.get("locations"), list):
            named = (each.get("path") for each in _tables(fields["locations"]))
            paths = (clean_line(each, MAX_PATH) for each in named if isinstance(each, str))
            self.paths = list(paths)[:_MAX_PATHS]
        if isinstance(fields.get("content"), list):
            self._take_content(_tables(fields["content"]))

    def _take_content(self, parts: Iterator[dict[str, Any]]) -> None:
        self.texts, self.diffs = [], []
        for part in parts:
            block = part.get("content")
            if part.get("type") == "diff":
                path, old, new = (part.get(key) for key in ("path", "oldText", "newText"))
                if isinstance(path, str) and isinstance(new, str):
                    before = old if isinstance(old, str) else None
                    self.diffs.append(ForeignDiff(clean_line(path, MAX_PATH), before, new))
            elif is_table(block):
                self.texts.append(read_text(block))

    def build_input(self) -> dict[str, Any]:
        """Return the arguments of our call."""
        arguments: dict[str, Any] = {"title": self.title or "a call", "kind": self.kind}
        if self.raw_input is not None:
            arguments["input"] = _shorten(self.raw_input)
        if paths := [*dict.fromkeys((*self.paths, *(each.path for each in self.diffs)))]:
            arguments["paths"] = paths
        return arguments

    def build_preview(self, agent: str) -> Preview:
        """Return what the agent claims about the call, for the question to the user.

        A change of files is shown as a diff, unless the arguments have a command.
        """
        paths = tuple(dict.fromkeys((*self.paths, *(each.path for each in self.diffs))))
        title = self.title or "a call without a title"
        diffs = "\n".join(map(_format_diff, self.diffs))
        is_edit = bool(diffs) and self.kind in _EDITS and "command" not in as_table(self.raw_input)
        parts = [f"{agent} asks for: {title}"]
        if self.raw_input is not None:
            parts.append(canonical_json(self.raw_input).decode()[:MAX_INPUT])
        parts += (text[:MAX_TEXT] for text in (*self.texts, diffs) if text.strip())
        return Preview(
            kind="diff" if is_edit else "text",
            body=diffs if is_edit else "\n\n".join(parts),
            paths=paths,
            protected=any(map(is_protected, paths)),
            surroundings=f"{agent} ({title}), {OUTSIDE_SANDBOX}",
        )

    def format_result(self) -> str:
        """Return what the agent reports about the end of the call."""
        parts = [text for text in self.texts if text.strip()] + list(map(_format_diff, self.diffs))
        if not parts and self.raw_output is not None:
            output = self.raw_output
            parts = [output if isinstance(output, str) else canonical_json(output).decode()]
        text = "\n".join(parts).strip()
        cut = "\n… [cut]" if len(text) > MAX_TEXT else ""
        return text[:MAX_TEXT] + cut or {"completed": "Done."}.get(self.status, "No result.")


def read_text(block: dict[str, Any]) -> str:
    """Return the text of a content block; of other content, what it is."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(address)}:
            return f"[{clean_line(address)}]"
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": str(kind)}:
            return f"[{clean_line(kind)}]"
        case _:
            return ""


def read_options(options: Any) -> Sequence[Option]:
    """Return the answers that a permission request offers, without those that share an id.

    Otherwise a denial, or a permission for one call, could be read as a lasting permission.
    """
    found = ((each.get("optionId"), each.get("kind")) for each in _tables(options))
    offered = [
        Option(key, kind) for key, kind in found if isinstance(key, str) and isinstance(kind, str)
    ]
    counts = Counter(each.id for each in offered)
    return [each for each in offered if counts[each.id] == 1]


def clean_line(text: str, most: int = MAX_TITLE) -> str:
    """Return a text of the agent as one line that a terminal can show."""
    line = " ".join(printable(text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[:most]}…"


def as_table(value: Any) -> dict[str, Any]:
    """Return a table, or an empty one for anything else."""
    return value if is_table(value) else {}


def _tables(values: Any) -> Iterator[dict[str, Any]]:
    found = cast("list[Any]", values) if isinstance(values, list) else []
    return (each for each in found if is_table(each))


def _shorten(value: Any) -> Any:
    """Return arguments of the agent, or the start of their text if they are long."""
    text = canonical_json(value).decode()
    return value if len(text) <= MAX_INPUT else f"{text[:MAX_INPUT]}…"


def _format_diff(diff: ForeignDiff) -> str:
    if max(len(diff.old or ""), len(diff.new)) > _MAX_DIFF:
        return f"{diff.path}: {len(diff.new):,} characters, too long for a diff"
    before = "/dev/null" if diff.old is None else f"a/{diff.path}"
    old, new = (diff.old or "").splitlines(), diff.new.splitlines()
    return "\n".join(format_unified((before, f"b/{diff.path}"), old, new))[:MAX_TEXT]
