"""Pages of facts from a session's end.

A page is as fast in a session of 100,000 messages as in a short one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from yourtool.events.branches import BranchSelected
from yourtool.events.catalog import AnyFact
from yourtool.events.sessions import SessionCreated
from yourtool.events.tree import select_branch
from yourtool.store.base import SessionStore

PAGE_FACTS = 2_000
"""Facts of a page, without those that complete its first turn."""


class Page(NamedTuple):
    """Facts of a session that follow each other."""

    facts: Sequence[AnyFact]
    """In order; the first one starts a turn, or it is the first of the session."""
    has_earlier: bool
    """Whether the session has facts before them."""


async def read_page(
    store: SessionStore, session_id: str, before: str = "", count: int = PAGE_FACTS
) -> Page:
    """Return the last facts of the present branch, or those before a fact with an id.

    `count`: facts of the page, without those that complete its first turn. The page that leads to
    another branch has all facts of the path before it.
    """
    facts = await store.read_end(session_id, count, before)
    if not any(isinstance(fact, BranchSelected) for fact in facts):
        return Page(facts, bool(facts) and not isinstance(facts[0], SessionCreated))
    branch = select_branch(await store.read(session_id))
    return Page([fact for fact in branch if not before or fact.id < before], has_earlier=False)
