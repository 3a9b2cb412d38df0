"""Branches of a session.

A conversation can continue after any message; messages can be labelled and merged.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from msgspec import UNSET

from yourtool.agent.history import branches
from yourtool.agent.history.branches import Place, TreeRow
from yourtool.agent.history.channel import Channel, shows_events
from yourtool.agent.history.file_history import RestorePlan
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.agent.session.stored_facts import StoredFacts
from yourtool.agent.turn import summaries
from yourtool.agent.turn.turn import Turn
from yourtool.errors import UsageError
from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
    EntryAdded,
    MergedMessage,
    Reach,
)
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.events.tree import FactTree, get_entry_id
from yourtool.foundation.text import storable
from yourtool.ids import new_id
from yourtool.interrupt import Interrupted
from yourtool.messages.message import Message
from yourtool.store.texts import one_line_title

PURPOSE = "branch"
"""The purpose of the call that summarises a branch."""
_MAX_MERGED = 200
"""Messages that are merged at once."""


class SessionTree:
    """Changes the branches of a session between its turns."""

    def __init__(
        self,
        state: State,
        record: Recorder,
        stored: StoredFacts,
        is_busy: Callable[[], bool],
        open_turn: Callable[[Channel], AbstractAsyncContextManager[Turn]],
    ) -> None:
        """`open_turn`: returns a turn without a prompt, for the call that writes a summary."""
        self._state = state
        self.record = record
        self._stored = stored
        self._is_busy = is_busy
        self._open_turn = open_turn

    async def build_rows(self, *, shows_steps: bool = False) -> list[TreeRow]:
        """Return the rows of the tree; `shows_steps`: with calls and results."""
        tree, labels = await self._stored.load_tree(), self._state.labels
        return await asyncio.to_thread(branches.build_rows, tree, labels, shows_steps=shows_steps)

    async def find_place(self, entry_id: str) -> Place:
        """Return where the conversation continues for an entry: before a prompt, after others."""
        tree = await self._stored.load_tree()
        return await asyncio.to_thread(branches.find_place, tree, entry_id)

    async def plan_files(self, leaf: str) -> RestorePlan | None:
        """Plan how to restore the files of the time of an entry; None if none would change."""
        tree = await self._stored.load_tree()
        through = await asyncio.to_thread(branches.find_last_fact, tree, leaf)
        return self._state.files.plan_return(through)

    @shows_events
    async def add_note(self, channel: Channel, text: str, reach: Reach) -> None:
        """Add a note of the user.

        Raises:
            UsageError: a turn is running.
        """
        self._require_idle()
        await channel.emit(EntryAdded(kind="note", text=storable(text), reach=reach))

    async def move(self, leaf: str) -> AsyncGenerator[Event, None]:
        """Continue after an entry.

        Raises:
            UsageError: a turn is running.
        """
        self._require_idle()
        left = self._state.branch.leaf
        if leaf == left:
            yield Notice(level="info", text="The conversation is there already.")
            return
        await self._stored.load_tree()
        selected = await self.record(BranchSelected(leaf=leaf, left=left))
        await asyncio.to_thread(self._state.build_branch)
        yield selected

    @shows_events
    async def label(self, channel: Channel, message_id: str, label: str) -> None:
        """Give a message a label, or remove it if `label` is empty."""
        await channel.emit(BranchLabelled(target=message_id, label=one_line_title(storable(label))))

    @shows_events
    async def summarise(self, channel: Channel, left: str, hint: str = "") -> None:
        """Summarise the messages up to an entry that are not on the present branch.

        `hint`: what the summary must have above all.

        Raises:
            UsageError: a turn is running.
        """
        self._require_idle()
        tree = await self._stored.load_tree()
        messages = await asyncio.to_thread(_find_left, tree, left)
        if not any(each.is_prompt for each in messages):
            text = "There is nothing to summarise on that branch."
            await channel.emit(Notice(level="info", text=text))
            return
        try:
            async with self._open_turn(channel) as turn:
                paid = turn.counts.cost
                summary = await summaries.summarise(turn, messages, hint, PURPOSE)
        except Interrupted:
            await channel.emit(Notice(level="info", text="Stopped; nothing was summarised."))
            return
        await channel.emit(
            BranchSummarised(
                summary=summary.text,
                left=left,
                model=summary.model,
                problem=summary.problem,
                message_count=len(messages),
                cost_usd=turn.counts.cost - paid or UNSET,
            )
        )

    @shows_events
    async def merge(self, channel: Channel, entry_ids: Sequence[str]) -> None:
        """Add copies of messages to requests, each with all calls and results of its step.

        Raises:
            UsageError: a turn is running, or none of the messages is on another branch.
        """
        self._require_idle()
        tree = await self._stored.load_tree()
        here = {message.id for message in self._state.messages}
        wanted = dict[str, None]()
        for entry_id in sorted(entry_ids):
            wanted.update(dict.fromkeys(branches.find_step(tree, entry_id)))
        picked = [e for e in wanted if e not in here and branches.find_message(tree, e)]
        if not picked:
            raise UsageError("Nothing to merge: choose messages of another branch.")
        if len(picked) > _MAX_MERGED:
            raise UsageError(f"At most {_MAX_MERGED} messages can be merged at once.")
        merged = tuple(MergedMessage(each, new_id()) for each in picked)
        await channel.emit(BranchMerged(merged=merged))

    def _require_idle(self) -> None:
        if self._is_busy():
            raise UsageError("A turn is running; wait until it ends or stop it.")


def _find_left(tree: FactTree, left: str) -> list[Message]:
    """Return the messages up to an entry that are not on the present branch."""
    here = set(map(get_entry_id, tree.iterate_path()))
    facts = (fact for fact in tree.iterate_path(left) if get_entry_id(fact) not in here)
    found = (branches.get_message(fact) for fact in facts)
    return sorted(filter(None, found), key=lambda each: each.id)
