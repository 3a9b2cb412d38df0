"""A session: a log, the state folded from it, and the verbs that change both.

Every verb that changes something returns the events of the change, so that whoever iterates sees
all of it and nothing else need be told.
"""

import asyncio
import hashlib
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from decimal import Decimal
from itertools import islice
from pathlib import Path

from yourtool.agent.environment import RunBudget, SessionEnvironment
from yourtool.agent.loop import run_turn
from yourtool.agent.mentions import Addressed, address
from yourtool.agent.model_selection import Choices
from yourtool.agent.recorder import Recorder
from yourtool.agent.repair import close_open_turn
from yourtool.agent.routes import record_of
from yourtool.agent.state import State
from yourtool.agent.system_prompt import system_messages
from yourtool.agent.turn import Turn
from yourtool.agent.user_shell import UserShell
from yourtool.blobs import has_bytes, store_media
from yourtool.config import Mode
from yourtool.deltas import Notice
from yourtool.errors import ToolError, UsageError
from yourtool.events import (
    Event,
    RouteDecided,
    SessionEnded,
    ShellRan,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
)
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt
from yourtool.messages import (
    ContentBlock,
    ImageBlock,
    Message,
    Role,
    StopReason,
    TextBlock,
    now,
)
from yourtool.models import Effort, Model
from yourtool.providers.requests.thinking import describe_effort, describe_effort_change
from yourtool.store.leases import Lease
from yourtool.text import storable
from yourtool.tools import tree
from yourtool.tools.workspace import FileReads

MAX_FILES = 50_000
"""Offered for mentions at the most."""


class Session:
    """One conversation; runs one turn at a time."""

    def __init__(
        self,
        session_id: str,
        state: State,
        record: Recorder,
        lease: Lease,
        around: SessionEnvironment,
    ) -> None:
        self.id = session_id
        self.state = state
        self._record = record
        self._lease = lease
        self._around = around
        self._choices = Choices(state, record, around, lambda: self.busy)
        self._reads = FileReads()
        self._interrupt: Interrupt | None = None
        self._opened = time.monotonic()
        self._closed = False

    @property
    def workspace(self) -> Path:
        """The directory that the tools work in."""
        return self._around.workspace.root

    @property
    def busy(self) -> bool:
        """Whether a turn is running."""
        return self._interrupt is not None

    @property
    def budget(self) -> RunBudget:
        """The limits of the run, and the one that stopped it."""
        return self._around.budget

    @property
    def mode(self) -> Mode:
        """How much is asked before tools run."""
        return self._around.gate.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._around.gate.mode = mode

    @property
    def effort(self) -> Effort | None:
        """The reasoning effort that models are asked for; None: none is sent."""
        return self._around.settings.effort

    @property
    def model(self) -> Model:
        """The model that the next turn would go to, if it can take it."""
        return self._around.routes.expected(self.state)

    def explain(self) -> list[str]:
        """Say in at most twelve lines which model answers and why the last turn went where."""
        active, *more = self._around.routes.explain(self.state)
        return [active, self.thinking(), *more]

    def thinking(self) -> str:
        """Say in a line how long the next turn's model is asked to think."""
        return describe_effort(self.model, self.effort)

    async def context(self) -> list[tuple[str, int]]:
        """Return what the next request would hold, part by part, in estimated tokens."""
        return await asyncio.to_thread(self._around.routes.parts, self.state)

    def files(self) -> list[str]:
        """Return paths of the workspace that can be mentioned, ignored files left out; capped.

        Blocks on the file system.
        """
        found = tree.iter_files(self._around.workspace, ".", threading.Event())
        with suppress(ToolError):  # a directory of the program itself
            return [
                name for name in islice(found, MAX_FILES) if name.isprintable() and " " not in name
            ]
        return []

    async def learn(self) -> None:
        """Have the next turn's model described by its server, if nobody else described it."""
        await self._around.routes.learn(self.model)

    def objection(self, *content: ContentBlock) -> str | None:
        """Say what of `content` the model of the next turn does not take; None: it takes all."""
        return self._around.routes.objection(content, self.state)

    async def send(self, content: str | tuple[ContentBlock, ...]) -> AsyncGenerator[Event, None]:
        """Say something and run the turn that it starts.

        A text may begin with `@alias`: that model takes this turn alone.

        Raises:
            UsageError: a turn is running, or it cannot be obeyed or sent; nothing was stored.
            BlobError: what is attached cannot be kept; nothing was stored.
        """
        self._must_be_idle()
        addressed = address(content, self._around.routes.catalogue, self.workspace)
        said = addressed.content
        self._around.routes.demand_room(said, addressed.override, self.state)
        if has_bytes(said):
            said = await asyncio.to_thread(store_media, self._around.blobs, said)
        async with aclosing(self._run(said, addressed)) as events:
            async for event in events:
                yield event

    async def retry(self) -> AsyncGenerator[Event, None]:
        """Run the last turn again over the user message that is stored already.

        The model that failed is asked again despite an outage, and so is the one that the message
        was addressed to, unless another was chosen since.

        Raises:
            UsageError: a turn is running, or there is nothing to try again.
        """
        self._must_be_idle()
        if not self.state.prompts:
            raise UsageError("There is no turn to try again yet.")
        named = self.state.addressed
        override = self._around.routes.catalogue.get(named) if named else None
        async with aclosing(self._run(None, Addressed((), override))) as events:
            async for event in events:
                yield event

    async def run_shell(self, command: str, *, shared: bool) -> AsyncGenerator[Event, None]:
        """Run a command line of the user in the workspace, at once and without asking.

        `shared`: whether the next requests hold it and what it printed.

        Raises:
            UsageError: a turn is running; nothing was run.
        """
        self._must_be_idle()
        interrupt = self._interrupt = Interrupt()
        try:
            async for fact in close_open_turn(self.state, self._record, self.id):
                yield fact
            shell = UserShell(self.id, self._around, self._record, interrupt)
            async with aclosing(shell.run(command, shared=shared)) as events:
                async for event in events:
                    if isinstance(event, ShellRan):
                        self._end(interrupt)
                    yield event
        finally:
            self._end(interrupt)
        async for fact in self._choices.store():
            yield fact

    async def select(
        self, name: str | None, *, in_words: bool = False
    ) -> AsyncGenerator[Event, None]:
        """Choose the model of the session by id or alias; None gives the choice back.

        During a turn the choice waits for its end; of several, the last holds. `in_words`: the
        model is sent placeholders for the media so far that it takes none of.

        Raises:
            UnknownModelError: no model, or several, have this name.
            SwapRefusedError: the model cannot take the session; the active model did not change,
                and the refusal is stored.
        """
        async for event in self._choices.select_model(name, in_words=in_words):
            yield event

    async def select_effort(self, level: Effort | None) -> AsyncGenerator[Event, None]:
        """Choose the reasoning effort of the session; the next turn is the first that uses it."""
        async for fact in self._choices.select_effort(level):
            yield fact

    def cancel(self) -> bool:
        """Stop the running turn; False if none runs or it is being stopped already."""
        return self._interrupt is not None and self._interrupt.request()

    async def close(self) -> None:
        """Write the end down and let go of the session; idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            async for _ in self._choices.store_now():
                pass
            if self.state.messages:
                await self._record(
                    SessionEnded(
                        disposition="completed",
                        turn_count=self.state.turn_count,
                        total_cost_usd=self.state.cost_usd,
                        duration_seconds=round(time.monotonic() - self._opened, 3),
                    )
                )
        finally:
            self._lease.release()

    def _must_be_idle(self) -> None:
        if self.busy:
            raise UsageError("A turn is running; wait for its end or stop it.")

    async def _run(
        self, content: tuple[ContentBlock, ...] | None, addressed: Addressed
    ) -> AsyncGenerator[Event, None]:
        """Run a turn over a new prompt; None: over the last one again."""
        interrupt = self._interrupt = Interrupt()
        record, self.budget.reached = self._record, None
        try:
            async for fact in close_open_turn(self.state, record, self.id):
                yield fact
            async for fact in self._choices.store_now():
                yield fact
            routes = self._around.routes
            retried = self._retried() if content is None else None
            await routes.learn(addressed.override or routes.expected(self.state))
            record.turn_id = new_id()
            message = None if content is None else self._prompt(content)
            started = await record(await asyncio.to_thread(self._started, message))
            yield started
            for recovered in routes.sweep():
                yield await record(recovered, parent=started.id)
            decided = await asyncio.to_thread(
                routes.decide, addressed.override, self.state, retried=retried
            )
            route = await record(decided, parent=started.id)
            yield route
            if route.chosen_model is None:
                for line in routes.why_none(route):
                    yield Notice(level="error", text=line)
                yield await record(_nothing_ran(), parent=route.id)
            else:
                turn = self._turn(interrupt, started, route)
                thinks = describe_effort_change(turn.model, turn.wishes.effort)
                for notice in self._around.new_notices(thinks, routes.without_tools(turn.model)):
                    yield notice
                async with aclosing(run_turn(turn)) as events:
                    async for event in events:
                        if isinstance(event, TurnCompleted | TurnCancelled):
                            self._end(interrupt)
                        yield event
        finally:
            self._end(interrupt)
        async for fact in self._choices.store():
            yield fact

    def _retried(self) -> str | None:
        """Return the model that the last turn went to."""
        return self.state.last_route.chosen_model if self.state.last_route else None

    def _end(self, interrupt: Interrupt) -> None:
        """Be free for the next turn; without effect if that has begun."""
        if self._interrupt is interrupt:
            self._interrupt = None
            self._record.turn_id = None

    def _prompt(self, content: tuple[ContentBlock, ...]) -> Message:
        """Return a message of the user; its id is greater than every one recorded so far."""
        return Message(
            id=new_id(),
            session_id=self.id,
            role=Role.USER,
            content=tuple(
                TextBlock(storable(block.text)) if isinstance(block, TextBlock) else block
                for block in content
            ),
            created_at=now(),
        )

    def _started(self, message: Message | None) -> TurnStarted:
        text = message.text if message is not None else ""
        history = self.state.messages
        said = [message] if message is not None else []
        return TurnStarted(
            user_message_hash=hashlib.sha256(text.encode()).hexdigest(),
            estimated_input_tokens=self._around.routes.estimate(self.state, self.model.id, said),
            has_images=any(isinstance(b, ImageBlock) for m in said for b in m.content),
            has_tool_calls_in_history=any(each.tool_uses for each in history),
            message=message,
        )

    def _turn(self, interrupt: Interrupt, started: TurnStarted, route: RouteDecided) -> Turn:
        around = self._around
        assert route.chosen_model is not None, "only a routed turn is run"
        model = around.routes.catalogue.get(route.chosen_model)
        return Turn(
            session_id=self.id,
            state=self.state,
            record=self._record,
            interrupt=interrupt,
            around=around,
            model=model,
            adapter=around.registry.adapter(model),
            routing=record_of(route),
            system=system_messages(self.workspace, self.id),
            reads=self._reads,
            wishes=around.settings,
            root=started.id,
            parent=started.id,
        )


def _nothing_ran() -> TurnCompleted:
    return TurnCompleted(
        stop_reason=StopReason.ERROR,
        llm_call_count=0,
        tool_call_count=0,
        total_input_tokens=0,
        total_output_tokens=0,
        total_cost_usd=Decimal(0),
        wall_time_seconds=0,
    )
