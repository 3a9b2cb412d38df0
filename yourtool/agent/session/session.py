"""Session: log, state and operations."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from yourtool.agent.history.channel import Channel, shows_events
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.repair import close_open_turn
from yourtool.agent.history.state import State
from yourtool.agent.input import mentioned_files, user_shell
from yourtool.agent.input.mentions import AddressedPrompt
from yourtool.agent.routes.session_routes import to_routing_record
from yourtool.agent.session import turn_means, turn_opening
from yourtool.agent.session.context import SessionContext
from yourtool.agent.session.fallback import Fallbacks
from yourtool.agent.session.file_restoring import FileRestoring
from yourtool.agent.session.guidance import Guidance
from yourtool.agent.session.judging import TurnJudge
from yourtool.agent.session.model_selection import ModelSelection
from yourtool.agent.session.processes import SessionProcesses
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.agent.session.project.session_hooks import SessionHooks
from yourtool.agent.session.stored_facts import StoredFacts
from yourtool.agent.session.system_prompt import SystemPrompt
from yourtool.agent.session.tree import SessionTree
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn import compaction, loop
from yourtool.agent.turn.hook_events import HookEvents
from yourtool.agent.turn.turn import ProjectOffers, Turn, TurnPrompt
from yourtool.agent.turn.user_messages import build_prompt
from yourtool.effects import Steering, UnsavedText
from yourtool.errors import UsageError
from yourtool.events.catalog import Event
from yourtool.events.sessions import SessionRenamed
from yourtool.events.turns import RouteDecided
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt
from yourtool.messages.blobs import has_bytes, store_media
from yourtool.messages.blocks import ContentBlock
from yourtool.models import Effort, Model
from yourtool.providers.requests.reasoning_effort import describe_effort
from yourtool.settings.config import Mode
from yourtool.store.base import Lease
from yourtool.store.texts import one_line_title
from yourtool.tools.workspace.file_reads import FileReads


class Session:
    """One conversation; runs one turn at a time."""

    def __init__(
        self, session_id: str, state: State, record: Recorder, lease: Lease, env: SessionEnvironment
    ) -> None:
        self.id, self.state, self.record, self._lease = session_id, state, record, lease
        self._env, self.gate, self._routes = env, env.gate, env.routes
        self.stored, self.fallbacks = StoredFacts(state, record), Fallbacks(state, env)
        self.models = ModelSelection(state, record, env, lambda: self.busy)
        self.files = FileRestoring(session_id, state.files, record, env.place, lambda: self.busy)
        self.tree = SessionTree(state, record, self.stored, lambda: self.busy, self.open_aside)
        self.context = SessionContext(state, record, lambda: self.busy, self.build_aside)
        self.use_settings = env.use_settings
        env.user.report_waiting(lease.set_waiting)
        self.processes = SessionProcesses(session_id, state, record, env.place.processes)
        self.hooks = SessionHooks(HookEvents(session_id, state, Channel(record), env))
        self.judge = TurnJudge(state, record, env.spending.judge_budget)
        self._prompt = SystemPrompt(session_id, state, env)
        self.guidance = Guidance(self.trust, state, env)
        self._reads, self._opened, self._closed = FileReads(), time.monotonic(), False
        self._interrupt: Interrupt | None = None

    @property
    def workspace(self) -> Path:
        """The workspace directory."""
        return self._env.place.workspace.root

    @property
    def project(self) -> Path:
        """The workspace directory; for a demo, the directory that was copied to it."""
        return self._env.place.project

    @property
    def busy(self) -> bool:
        """Whether a turn is running."""
        return self._interrupt is not None

    @property
    def limit_reached(self) -> str | None:
        """Message about the limit that stopped the last turn; None if none did."""
        return self._env.spending.limit_reached

    @property
    def mode(self) -> Mode:
        """The approval mode."""
        return self._env.gate.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._env.gate.mode = mode

    @property
    def sandbox_level(self) -> str:
        """The level of the sandbox; `off` if it is switched off, empty before it was measured."""
        return "off" if self._env.place.sandbox is None else self._env.place.sandbox.shown_level

    @property
    def effort(self) -> Effort | None:
        """The selected reasoning effort; None: the default of each model."""
        return self._env.requests.effort

    @property
    def model(self) -> Model:
        """The preferred model of the next turn, whether or not it is usable."""
        return self._routes.expected_model(self.state)

    def explain(self) -> list[str]:
        """Return at most twelve lines about the active model and the last routing decision."""
        active, *more = self._routes.explain(self.state)
        return [active, self.effort_summary(), *more, *self.judge.describe()][:12]

    def effort_summary(self) -> str:
        """Return a line about the reasoning effort of the next turn."""
        return describe_effort(self.model, self.effort)

    @shows_events
    async def rename(self, channel: Channel, title: str) -> None:
        """Set the title of the session; an empty one restores the first line of the session."""
        await channel.emit(SessionRenamed(title=one_line_title(title)))

    @property
    def trust(self) -> ProjectTrust:
        """The trust in the project; a copy for the demo uses none of its files."""
        return ProjectTrust(self.workspace, asks=self.workspace == self.project)

    def list_files(self, limit: int) -> list[str]:
        """Return resources and at most `limit` files that git does not ignore; blocks on files."""
        resources = servers.list_resources() if (servers := self._env.find_servers()) else []
        workspace = self._env.place.workspace
        return [*resources, *mentioned_files.list_mentionable_files(workspace, limit)]

    @property
    def mentioned_files(self) -> "mentioned_files.MentionedFiles":
        """The files that prompts mention."""
        env, attaches = self._env, self._env.user.attaches_mentions
        around = (env.place.workspace, env.gate, self._reads, env.place.mask)
        servers = env.find_servers()
        return mentioned_files.MentionedFiles(*around, self.find_rejection, attaches, servers)

    async def load_model_description(self) -> None:
        """Load the description of the next turn's model from its server if it is unknown."""
        await self._routes.load_description(self.model)

    def find_rejection(self, *content: ContentBlock) -> str | None:
        """Return why the model of the next turn rejects `content`, or None if it accepts it."""
        return self._routes.find_rejection(content, self.state)

    @shows_events
    async def send(self, channel: Channel, content: str | tuple[ContentBlock, ...]) -> None:
        """Send a prompt and run its turn.

        A prompt can start with `@alias` to select the model of this turn.

        Raises:
            UsageError: a turn is running, or the prompt is invalid; nothing was stored.
            BlobError: an attachment cannot be stored; nothing was stored.
        """
        self._require_idle()
        addressed = turn_opening.parse_prompt(content, self._env)
        blocks = addressed.content
        self._routes.check_media_limits(blocks, addressed.override, self.state)
        if has_bytes(blocks):
            blocks = await asyncio.to_thread(store_media, self._env.place.blobs, blocks)
        await self.judge.stop()
        await self._run_turn(channel, blocks, addressed)

    def steer_with(self, steering: Steering) -> None:
        """Set the source of messages to running turns, which `build_steering` returned."""
        self._env.user.steering = steering

    def read_unsaved_with(self, unsaved: UnsavedText) -> None:
        """Set what `read_file` reads before the file on the disk."""
        self._env.place.unsaved = unsaved

    def build_steering(self, content: str | tuple[ContentBlock, ...]) -> tuple[ContentBlock, ...]:
        """Return the content of a message to the running turn; as `check_steering`."""
        addressed = turn_opening.parse_prompt(content, self._env)
        return turn_opening.check_steering(self.id, addressed, self.state, self._routes)

    @shows_events
    async def retry(self, channel: Channel) -> None:
        """Run the last turn again with the stored user message.

        The model that failed may be used again despite an outage, and so may the model that the
        message was addressed to, unless another was selected since.

        Raises:
            UsageError: a turn is running, or there is no turn to retry.
        """
        self._require_idle()
        if not self.state.prompts:
            raise UsageError("There is no turn to retry yet.")
        model_id = self.state.addressed_model
        override = self._routes.catalogue.get(model_id) if model_id else None
        await self.judge.stop()
        await self._run_turn(channel, None, AddressedPrompt((), override))

    @shows_events
    async def compact(self, channel: Channel, hint: str = "") -> None:
        """Summarise what is before the last turn, for all later requests.

        Raises:
            UsageError: a turn is running, or there is nothing to summarise.
        """
        async with self.open_aside(channel) as turn:
            await compaction.compact(turn, hint)

    @asynccontextmanager
    async def open_aside(self, channel: Channel) -> AsyncGenerator[Turn]:
        """Return a turn without a prompt, which runs until the context is left."""
        self._require_idle()
        interrupt = self._interrupt = Interrupt()
        try:
            yield await self.build_aside(channel, interrupt)
        finally:
            self._release_turn(interrupt)

    async def build_aside(self, channel: Channel, interrupt: Interrupt) -> Turn:
        """Return a turn without a prompt, also while another one runs."""
        if self._interrupt in (None, interrupt):  # not during a turn, whose tools are fixed
            await self.guidance.renew_tools()
        route = await asyncio.to_thread(self._routes.decide, None, self.state)
        return await self._build_turn(channel, interrupt, "", route, self.model)

    @shows_events
    async def run_shell(self, channel: Channel, command: str, *, shared: bool) -> None:
        """Run a shell command of the user in the workspace, without approval.

        `shared`: whether later requests contain the command and its output.

        Raises:
            UsageError: a turn is running; nothing was run.
        """
        self._require_idle()
        interrupt = self._interrupt = Interrupt()
        try:
            await close_open_turn(self.state, channel)
            shell = user_shell.UserShell(self.id, self._env.place, channel, interrupt)
            await shell.run(command, shared=shared)
        finally:
            self._release_turn(interrupt)
        await self.models.store_if_idle(channel)

    def select_model(
        self, name: str | None, *, use_placeholders: bool = False
    ) -> AsyncGenerator[Event, None]:
        """Select the model of the session by id or alias; None selects the default model.

        During a turn the selection is pending until its end, and a later one replaces it.
        `use_placeholders`: send placeholders for earlier media that the model does not support.

        Raises:
            UnknownModelError: no model, or more than one, has this name.
            SwapRefusedError: the model cannot continue the session; the active model did not
                change, and the refusal is stored.
        """
        return self.models.select_model(name, use_placeholders=use_placeholders)

    def select_effort(self, level: Effort | None) -> AsyncGenerator[Event, None]:
        """Select the reasoning effort of the session, from the next turn on."""
        return self.models.select_effort(level)

    def cancel(self, *, is_leaving: bool = False) -> bool:
        """Stop the turn; return False if none runs, or if it is stopping: then stop its workers."""
        self.record.stop_waiting()
        return self._interrupt is not None and self._interrupt.request(is_leaving=is_leaving)

    async def close(self) -> None:
        """Record the end of the session and release its lease; idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.judge.stop()
            await self._env.spending.reported_costs.close()
            await self.hooks.end()
            await self.processes.record_leaving()
            await self.models.store_pending(Channel(self.record))
            if self.state.messages:
                await self.record(self.state.build_end(round(time.monotonic() - self._opened, 3)))
        finally:
            await asyncio.to_thread(self._lease.release)  # closes a file, and a disk can stall
            await self._env.close()
            await self.processes.close()

    def _require_idle(self) -> None:
        if self.busy:
            raise UsageError("A turn is running; wait until it ends or stop it.")

    async def _run_turn(
        self, channel: Channel, content: tuple[ContentBlock, ...] | None, addressed: AddressedPrompt
    ) -> None:
        """Run a turn for a new prompt; `content` None: for the last prompt again."""
        interrupt = self._interrupt = Interrupt()
        routes = self._routes
        self._env.begin_turn()
        try:
            await turn_opening.settle(self.state, channel, self.models, self.processes)
            retried = self.state.last_model if content is None else None
            await routes.load_description(addressed.override or routes.expected_model(self.state))
            toolbox = await self.guidance.renew_tools()
            trust = await asyncio.to_thread(self.trust.examine)
            trust.apply_to(self._env.gate)  # before git is asked below
            await self.hooks.open_turn(content, trust, interrupt, channel)
            self.record.turn_id = new_id()
            message = None if content is None else build_prompt(self.id, content)
            opening = (message, self.state, self._env, self._prompt)
            fact = await turn_opening.build_turn_started(*opening)
            started = await channel.record(fact)
            problems, user = (*toolbox.problems, trust.unreadable_notice), self._env.user
            unused = self.trust.find_notice(trust, user.interactive)
            await channel.emit(*user.new_notices(*problems, unused))
            await turn_opening.prepare_routing(routes, channel, self.state, trust)
            await self.fallbacks.settle(addressed.override, interrupt, channel)
            decide = partial(routes.decide_for_record, addressed.override, self.state, retried)
            decided = await asyncio.to_thread(decide)
            if addressed.override is None and turn_opening.is_only_too_long(decided, self.model.id):
                long = (interrupt, started.id, decided.route, self.model)
                await compaction.make_room_to_route(await self._build_turn(channel, *long))
                decided = await asyncio.to_thread(decide)
            if decided.snapshot.settings not in self.state.routing_settings:
                await channel.defer(decided.snapshot, parent=started.id)
            route = await channel.defer(decided.route, parent=started.id)
            await self.hooks.report_route(route, interrupt, channel)
            if route.chosen_model is None:
                await turn_opening.end(route, routes, channel, interrupt)
            else:
                chosen = self._routes.catalogue.get(route.chosen_model)
                turn = await self._build_turn(channel, interrupt, started.id, route, chosen)
                await channel.emit(*turn_opening.find_notices(turn, self._prompt))
                await loop.run_turn(turn)
                self.judge.start(turn)
        finally:
            self._release_turn(interrupt)  # before the end of the turn is shown
        await self.models.store_if_idle(channel)

    def _release_turn(self, interrupt: Interrupt) -> None:
        """Allow the next turn; has no effect if it has started already."""
        if self._interrupt is interrupt:
            self._interrupt = None
            self.record.turn_id = None

    async def _build_turn(
        self, channel: Channel, interrupt: Interrupt, root: str, route: RouteDecided, model: Model
    ) -> Turn:
        """Return the turn that an event started."""
        env, memory = self._env, self.guidance.memory
        return Turn(
            session_id=self.id,
            state=self.state,
            channel=channel,
            interrupt=interrupt,
            env=env,
            model=model,
            means=await turn_means.find_means(env, model, to_routing_record(route, model.id)),
            prompt=TurnPrompt(
                (await asyncio.to_thread(self._prompt.build_stable),),
                lambda: self._prompt.build_situation(self.mode, memory.text()),
            ),
            project=ProjectOffers(
                self.trust.find_offer,
                self.trust.find_sandbox_offer,
                self.guidance.instructions.find,
            ),
            reads=self._reads,
            root=root,
            parent=root,
        )
