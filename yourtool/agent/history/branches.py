"""Rows of the session tree."""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.events.branches import BranchMerged, BranchSummarised, EntryAdded
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.tree import FactTree, get_entry_id
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import Audience, Origin

EntryKind: TypeAlias = Literal[
    "prompt", "message", "command", "reply", "call", "result", "branch", "note"
]
"""`message`: to a running turn. `call`: a reply with calls. `branch`: what is from another one."""
_MAX_TEXT = 1_000
_MAX_SHORT_TEXT = 100
"""Characters of an entry that a row has."""
_ROOT = ""


class Place(Struct, frozen=True):
    """Where the conversation can continue."""

    leaf: str
    """Id of the entry that the next message follows; empty: none."""
    prompt: Message | None
    """The prompt before which it is, which can be edited and sent again."""


class TreeRow(Struct, frozen=True, kw_only=True):
    """An entry of a session, as a row of its tree."""

    id: str
    number: int
    """Its place among all entries by age, from 1."""
    kind: EntryKind
    text: str
    """The start of its text, as one line."""
    guide: str
    """The lines that lead to it."""
    label: str = ""
    is_active: bool
    """Whether it is on the branch that the conversation is on."""
    is_leaf: bool
    """Whether the next message follows it."""
    branch: str = ""
    """Id of the first entry of its branch; empty on the trunk."""
    outer: str = ""
    """Id of the first entry of the branch from which that one leads."""

    @property
    def short_text(self) -> str:
        """So much of the text as a line of a list has."""
        cut = len(self.text) > _MAX_SHORT_TEXT
        return f"{self.text[: _MAX_SHORT_TEXT - 1]}…" if cut else self.text


class _Node(Struct):
    id: str
    kind: EntryKind
    text: str
    number: int = 0
    children: list["_Node"] = []


def find_parent(tree: FactTree, entry_id: str) -> str:
    """Return the id of the entry that another one follows; empty if it follows none."""
    earlier = map(get_entry_id, tree.iterate_path(entry_id))
    return max((each for each in earlier if each < entry_id), default=_ROOT)


def find_step(tree: FactTree, entry_id: str) -> list[str]:
    """Return the ids of a step: a reply and the results of its calls; others are alone.

    The conversation continues after whole steps only, so every call there has its result.
    """
    facts = tree.branches[tree.find_branch(entry_id)].facts
    messages = [each for fact in facts if (each := get_message(fact)) is not None]
    found = next((each for each in messages if each.id == entry_id), None)
    if found is not None and found.result is not None:
        call = found.result.tool_use_id
        owners = (each for each in messages if any(use.id == call for use in each.tool_uses))
        found = next(owners, found)
    if found is None:
        return [entry_id]
    calls = {use.id for use in found.tool_uses}
    results = (each.id for each in messages if each.result and each.result.tool_use_id in calls)
    return [found.id, *sorted(results)]


def find_step_end(tree: FactTree, entry_id: str) -> str:
    """Return the id of the last entry of a step."""
    return find_step(tree, entry_id)[-1]


def find_message(tree: FactTree, message_id: str) -> Message | None:
    """Return the message with an id, on any branch."""
    facts = tree.branches[tree.find_branch(message_id)].facts
    messages = (each for fact in facts if (each := get_message(fact)) is not None)
    return next((each for each in messages if each.id == message_id), None)


def find_last_fact(tree: FactTree, entry_id: str) -> str:
    """Return the id of the last fact of the path up to an entry; empty without one."""
    return max((fact.id for fact in tree.iterate_path(entry_id)), default="")


def find_place(tree: FactTree, entry_id: str) -> Place:
    """Return where the conversation continues for an entry: before a prompt, after others."""
    message = find_message(tree, entry_id)
    if message is not None and message.is_prompt:
        return Place(find_parent(tree, entry_id), message)
    return Place(find_step_end(tree, entry_id), None)


def build_rows(
    tree: FactTree, labels: Mapping[str, str], *, shows_steps: bool = False
) -> list[TreeRow]:
    """Return the rows of a tree; entries with several successors have them indented below.

    `shows_steps`: include the calls and results between a prompt and its reply.
    """
    nodes = _build_nodes(tree, shows_steps=shows_steps)
    active = {_ROOT, *map(get_entry_id, tree.iterate_path())}
    last = max(each for each in active if each in nodes)
    rows = list[TreeRow]()
    waiting = [*_follow(nodes[_ROOT], _Line())][::-1]
    while waiting:
        node, guide, line = waiting.pop()
        rows.append(
            TreeRow(
                id=node.id,
                number=node.number,
                kind=node.kind,
                text=node.text,
                guide=guide,
                label=labels.get(node.id, ""),
                is_active=node.id in active,
                is_leaf=node.id == last,
                branch=line.branch,
                outer=line.outer,
            )
        )
        waiting += [*_follow(node, line)][::-1]
    return rows


class _Line(Struct, frozen=True):
    """The entries of a branch below each other."""

    below: str = ""
    """The guide of entries after the first one."""
    branch: str = ""
    outer: str = ""


def _follow(node: _Node, line: _Line) -> Iterator[tuple[_Node, str, _Line]]:
    """Yield the entries that follow one, with the guides of their rows and their lines."""
    if len(node.children) == 1:
        yield node.children[0], line.below, line
        return
    for number, child in enumerate(node.children, 1):
        is_last = number == len(node.children)
        below = line.below + ("   " if is_last else "│  ")
        guide = line.below + ("└─ " if is_last else "├─ ")
        yield child, guide, _Line(below, child.id, line.branch)


def _build_nodes(tree: FactTree, *, shows_steps: bool) -> dict[str, _Node]:
    """Return the nodes by id; those of hidden entries are omitted from lists of children."""
    nodes, count = {_ROOT: _Node(_ROOT, "message", "")}, 0
    visible = {_ROOT: _ROOT}
    """The id of each entry, or of the one before it that is visible."""
    for branch in tree.branches:
        entries = {entry: fact for fact in branch.facts if (entry := get_entry_id(fact))}
        parent = visible.get(branch.leaf, _ROOT)
        for entry in sorted(entries):
            node, count = _build_node(entry, entries[entry]), count + 1
            if node is not None and (shows_steps or node.kind not in ("call", "result")):
                nodes[entry], node.number = node, count
                nodes[parent].children.append(node)
                parent = entry
            visible[entry] = parent
    return nodes


def _build_node(entry: str, fact: AnyFact) -> _Node | None:
    match fact:
        case BranchSummarised(summary=summary):
            text = f"summary of a branch: {_one_line(summary)}"
            return _Node(entry, "branch", text)
        case BranchMerged(merged=merged):
            return _Node(entry, "branch", f"{len(merged)} messages merged")
        case EntryAdded(text=text):
            return _Node(entry, "note", _one_line(text))
        case _:
            message = message_of(fact)
            if message is None or message.metadata.audience is Audience.MODEL:
                return None
            kind = _get_kind(message)
            return _Node(entry, kind, _describe(message, kind))


def _get_kind(message: Message) -> EntryKind:
    match message.role:
        case Role.ASSISTANT:
            return "reply" if message.text.strip() and not message.tool_uses else "call"
        case Role.TOOL:
            return "result"
        case _ if message.metadata.origin == Origin.USER_SHELL:
            return "command"
        case _:
            return "prompt" if message.is_prompt else "message"


def _describe(message: Message, kind: EntryKind) -> str:
    if kind == "call":
        names = ", ".join(use.name for use in message.tool_uses)
        return " · ".join(filter(None, (_one_line(message.text), names))) or "(no text)"
    if message.result is not None:
        texts = (getattr(part, "text", "") for part in message.result.content)
        return _one_line(" ".join(texts)) or "(no text)"
    return _one_line(message.text_without_files) or "(no text)"


def _one_line(text: str) -> str:
    return " ".join(text[:_MAX_TEXT].split())


def get_message(fact: AnyFact) -> Message | None:
    """Return the message that a fact adds to the conversation, if any."""
    return message_of(fact) if get_entry_id(fact) else None
