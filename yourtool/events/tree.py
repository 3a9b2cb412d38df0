"""Tree of a session.

The facts between two `branch.selected` are one branch. It continues another one after an entry,
its leaf, so a path through the tree consists of the start of each branch up to that entry. Ids are
ordered, so nothing else refers to a parent.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
    EntryAdded,
)
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.context import ContextOverridden
from yourtool.events.model_calls import is_silent
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import (
    SessionCreated,
    SessionEffortSelected,
    SessionEnded,
    SessionExtended,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
    SessionRenamed,
    SessionResumed,
)
from yourtool.events.tools import ProcessEnded, ProcessStarted
from yourtool.events.turns import ProviderRecovered, ProviderUnavailable, RoutingSnapshot
from yourtool.messages.message import Message

_OF_SESSION = (
    SessionCreated,
    SessionResumed,
    SessionForked,
    SessionImported,
    SessionExtended,
    SessionModelSelected,
    SessionModelRefused,
    SessionEffortSelected,
    SessionRenamed,
    SessionEnded,
    PolicySnapshot,
    RoutingSnapshot,
    ProcessStarted,
    ProcessEnded,
    ProviderUnavailable,
    ProviderRecovered,
    BranchLabelled,
    ContextOverridden,
)
"""Facts that are about the session, on all its branches."""


class Branch(Struct, frozen=True):
    """Facts without a `branch.selected` between them."""

    start: str
    """Id of the fact that selected it; empty for the first one."""
    leaf: str
    """Id of the entry that it follows; empty: it follows none."""
    facts: list[AnyFact]


class FactTree:
    """Facts by branch, in their order."""

    def __init__(self, facts: Iterable[AnyFact] = ()) -> None:
        self.branches = [Branch("", "", [])]
        for fact in facts:
            self.add(fact)

    def add(self, fact: AnyFact) -> None:
        """Add a fact, which follows all others."""
        if isinstance(fact, BranchSelected):
            self.branches.append(Branch(fact.id, fact.leaf, []))
        self.branches[-1].facts.append(fact)

    def find_branch(self, entry_id: str) -> int:
        """Return the index of the branch that has an entry; an empty id is in the first one."""
        return max(0, bisect_left(self.branches, entry_id, key=lambda each: each.start) - 1)

    def iterate_messages(self) -> Iterator[Message]:
        """Yield the messages of all branches in the order of their facts."""
        for branch in self.branches:
            for fact in branch.facts:
                message = None if is_silent(fact) else message_of(fact)
                if message is not None:
                    yield message

    def iterate_path(self, leaf: str | None = None) -> Iterator[AnyFact]:
        """Yield the facts of a path in order: up to an entry, or of the last branch."""
        last = len(self.branches) - 1 if leaf is None else self.find_branch(leaf)
        parts = [(last, leaf)]
        while last > 0:
            leaf = self.branches[last].leaf
            last = min(self.find_branch(leaf), last - 1)
            parts.append((last, leaf))
        for index, end in reversed(parts):
            yield from _until(self.branches[index].facts, end)


def _until(facts: Sequence[AnyFact], end: str | None) -> Iterator[AnyFact]:
    """Yield the facts before the first one whose entry comes after `end`."""
    for fact in facts:
        if end is not None and get_entry_id(fact) > end:
            return
        yield fact


def get_entry_id(fact: AnyFact) -> str:
    """Return the id of what a fact adds to the conversation; empty if it adds nothing.

    Replies to silent calls are no part of it. A `branch.selected` can refer to this id.
    """
    if (message := message_of(fact)) is not None:
        return "" if is_silent(fact) else message.id
    match fact:
        case BranchSummarised(id=fact_id) | EntryAdded(id=fact_id):
            return fact_id
        case BranchMerged(merged=(*_, last)):
            return last.id
        case _:
            return ""


def select_branch(facts: Sequence[AnyFact]) -> Sequence[AnyFact]:
    """Return the facts of the branch that the conversation is on, and all about the session."""
    tree = FactTree(facts)
    if len(tree.branches) == 1:
        return facts
    kept = {fact.id for fact in tree.iterate_path()}
    return [fact for fact in facts if fact.id in kept or isinstance(fact, _OF_SESSION)]
