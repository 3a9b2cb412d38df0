"""Everything a run needs, opened once, and the sessions made of it."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path

from yourtool.agent.attachments import Attachment, from_bytes, read_attachment
from yourtool.agent.clipboard import clipboard_picture
from yourtool.agent.demo_workspace import make_scratch_copy, scratch_copies
from yourtool.agent.environment import RequestSettings, RunBudget, RunOptions, SessionEnvironment
from yourtool.agent.gate import Gate, rules_of, stored_rules
from yourtool.agent.known_keys import known_mask
from yourtool.agent.mentions import address
from yourtool.agent.recorder import Recorder
from yourtool.agent.repair import close_open_turn
from yourtool.agent.routes import Defaults, Routes
from yourtool.agent.session import Session
from yourtool.agent.state import State
from yourtool.agent.system_prompt import system_messages
from yourtool.amounts import Spending
from yourtool.config import Config, load_config
from yourtool.credentials import Credentials
from yourtool.effects import Confirm
from yourtool.errors import SessionNotFoundError, UsageError
from yourtool.events import (
    RouteDecided,
    SessionCreated,
    SessionEffortSelected,
    SessionModelSelected,
    SessionResumed,
)
from yourtool.ids import new_id, new_session_id
from yourtool.masking import Mask
from yourtool.messages import Message, Role, now
from yourtool.models import Model
from yourtool.paths import Paths, own_directories
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import RuleSet
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.local_servers import LocalServer
from yourtool.providers.catalogue.model_listing import find_servers
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.routing.availability import Availability
from yourtool.run_result import NoModelError
from yourtool.store.database import Database
from yourtool.store.exports import export_format_of, export_lines, write_export
from yourtool.store.forks import fork, workspace_hash
from yourtool.store.leases import Lease
from yourtool.store.log import Log
from yourtool.store.sessions import Sessions
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.workspace import Workspace

DEMO = "demo"
"""The provider whose sessions work in a scratch copy."""


class Runtime:
    """Opened after the first paint; shared by every session of the process."""

    def __init__(self, paths: Paths, options: RunOptions, config: Config) -> None:
        self.paths = paths
        self.options = options
        self.config = config
        self.credentials = Credentials(paths)
        self.catalogue = Catalogue.load(paths)
        self.registry = Registry(config, self.credentials, interactive=options.interactive)
        self.toolbox = default_toolbox()
        self.availability = Availability()
        self.database = Database(paths.database)
        self.log = Log(self.database)
        self.sessions = Sessions(self.database, paths.data / "locks")
        self._rules = RuleSet(
            rules_of("--allow", options.allow, self.toolbox),
            rules_of("--deny", options.deny, self.toolbox),
        )
        self._warnings: list[str] = []
        try:
            discovery_cache.apply_discoveries(
                discovery_cache.load_discoveries(self._probed), self.registry, self.catalogue
            )
        except ValueError as error:
            self._warnings.append(str(error))

    @classmethod
    async def open(cls, paths: Paths, options: RunOptions) -> "Runtime":
        """Load the settings and open the store, off the event loop.

        Raises:
            ConfigError: a file of the user cannot be used.
            UsageError: `--allow` or `--deny` has no rule, or one for a tool that does not exist.
            StoreError: the database cannot be opened.
        """
        return await asyncio.to_thread(lambda: cls(paths, options, load_config(paths)))

    async def close(self) -> None:
        """Let go of connections and of the store; idempotent."""
        await self.registry.close()
        await self.database.close()

    def take_warnings(self) -> list[str]:
        """Return, once each, what the user should know that did not stop the program.

        Opening the runtime and opening a session can both have some.
        """
        taken, self._warnings = list(dict.fromkeys(self._warnings)), []
        return taken

    async def new_session(self, confirm: Confirm, model: str | None = None) -> Session:
        """Begin a session in the run's workspace, or for the demo in a scratch copy of it.

        `model` takes the place of what `--model` names.

        Raises:
            UnknownModelError: `--model` names none, or several.
            NoModelError: `--model` names one that is not configured.
        """
        session_id = new_session_id()
        chosen = self._explicit_model(model)
        workspace = self.options.workspace
        if self._first_model(chosen).provider == DEMO:
            own = own_directories(self.paths)
            workspace = await asyncio.to_thread(make_scratch_copy, workspace, self._scratch, own)
        lease = self.sessions.lease(session_id)
        state = State()
        record = Recorder(self.log, session_id, state)
        await record(
            SessionCreated(
                workspace_path=str(workspace),
                workspace_hash=workspace_hash(workspace),
                initial_active_model=chosen.id if chosen else None,
            )
        )
        if chosen is not None:
            await record(SessionModelSelected(model=chosen.id))
        await self._record_effort(record)
        around = await self._surroundings(session_id, workspace, confirm, ToolIdMap())
        return Session(session_id, state, record, lease, around)

    async def resume(
        self, session_id: str, confirm: Confirm, *, keeps_model: bool = False
    ) -> Session:
        """Open a stored session and close what a dead process left open in it.

        `keeps_model`: the session keeps its model, whatever `--model` names.

        Raises:
            SwapRefusedError: the model of `--model` cannot take the session, which stays as it is.
            SessionNotFoundError: there is none of this id.
            SessionBusyError: another process writes it.
            UsageError: its directory is gone.
        """
        lease = self.sessions.lease(session_id)
        try:
            session = await self._resume(session_id, confirm, lease)
            if not keeps_model:
                await self._swap(session)
            return session
        except BaseException:
            lease.release()
            raise

    async def _resume(self, session_id: str, confirm: Confirm, lease: Lease) -> Session:
        state = State(keeps_facts=self.options.interactive)
        await self.log.replay(session_id, state.apply)
        if not state.facts:
            raise SessionNotFoundError(
                f"There is no session `{session_id}`;"
                " `yourtool sessions list` shows those there are."
            )
        workspace = Path(state.workspace_path)
        if not await asyncio.to_thread(workspace.is_dir):
            raise UsageError(
                f"Session `{session_id}` works in `{workspace}`, which does not exist any more."
                " Put the directory back, or read it with `yourtool sessions show`."
            )
        last = state.facts[-1].id
        record = Recorder(self.log, session_id, state)
        async for _ in close_open_turn(state, record, session_id):
            pass
        here = workspace_hash(workspace)
        await record(SessionResumed(workspace_hash=here, last_event_id_at_resume=last))
        await self._record_effort(record)
        known = ToolIdMap(await self.log.provider_call_ids(session_id))
        around = await self._surroundings(session_id, workspace, confirm, known, state.parents)
        return Session(session_id, state, record, lease, around)

    async def last_session(self) -> str | None:
        """Return the last session of the workspace; the demo's work in copies of it."""
        workspace = self.options.workspace
        copies = await asyncio.to_thread(scratch_copies, workspace, self._scratch)
        return await self.sessions.last_used(*map(str, (workspace, *copies)))

    async def fork(self, session_id: str, at: str | None = None) -> str:
        """Copy a stored session, or what stood before the prompt `at`; return the new id."""
        return await fork(self.log, session_id, at)

    async def export(self, session_id: str, file: Path, *, overwrite: bool = False) -> None:
        """Write a stored session to a file, in the form that its name asks for, without keys.

        Raises:
            UsageError: the file exists and is not to be replaced, or it cannot be written.
        """
        facts = await self.log.read(session_id)
        mask = (await asyncio.to_thread(self._mask)).text
        lines = export_lines(facts, export_format_of(file), mask, self.paths.blobs)
        await asyncio.to_thread(write_export, file, lines, overwrite=overwrite)

    def without_keys(self, text: str) -> str:
        """Return a text with every key that is known taken out; blocks on the file system."""
        return self._mask().text(text)

    def _mask(self) -> Mask:
        return known_mask(self.paths, os.environ)

    async def route(self, prompt: str) -> RouteDecided:
        """Say where a prompt would go in a new session, without sending or storing anything.

        Raises:
            UsageError: it begins with an `@alias` that cannot be obeyed, or is empty.
            UnknownModelError: `--model` names none, or several.
        """
        state, named = State(), self.options.model
        addressed = address(prompt, self.catalogue, self.options.workspace)
        said = Message(
            id=new_id(),
            session_id="",
            role=Role.USER,
            content=addressed.content,
            created_at=now(),
        )
        state.messages.append(said)
        state.model = self.catalogue.resolve(named).id if named else None
        return self.routes(self.options.workspace).decide(addressed.override, state)

    def routes(self, workspace: Path) -> Routes:
        """Return the routing of a workspace."""
        here = self.config.workspaces.get(str(workspace))
        routes = Routes(
            self.catalogue,
            self.registry,
            self.availability,
            self.toolbox.definitions,
            system_messages(workspace, ""),
            Defaults(
                self.catalogue.resolve(here.model).id if here and here.model else None,
                self._global_default(),
            ),
        )
        routes.interactive = self.options.interactive
        routes.structured_output = self.options.output_schema is not None
        return routes

    attach = staticmethod(read_attachment)
    """Reads a file as a block of a prompt, for front ends that load the core late."""

    @staticmethod
    def attach_clipboard() -> Attachment:
        """Return the picture in the clipboard as a block of a prompt; blocks.

        Raises:
            UsageError: there is none, or it cannot be had.
        """
        return from_bytes(clipboard_picture(), "clipboard")

    async def find_servers(self, *, elsewhere: bool) -> tuple[LocalServer, ...]:
        """Make the models of servers known: here, and `elsewhere` where the settings say."""
        found = list[LocalServer]()
        async with aclosing(find_servers(self.registry, include_remote=elsewhere)) as servers:
            async for server in servers:
                self.registry.add_provider(server.spec)
                self.catalogue.add_discovered(server.spec.name, server.models)
                found.append(server)
        answers = [discovery_cache.new_discovery(server.spec, server.models) for server in found]
        with suppress(OSError):  # only a cache
            await asyncio.to_thread(discovery_cache.save_discoveries, self._probed, answers)
        return tuple(found)

    async def spent_today(self) -> Spending:
        """Return what all sessions have cost since midnight UTC."""
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return await self.sessions.spending_since(midnight)

    @property
    def _scratch(self) -> Path:
        return self.paths.cache / "scratch"

    @property
    def _probed(self) -> Path:
        return self.paths.cache / discovery_cache.FILE_NAME

    def _gate(self, workspace: Path) -> Gate:
        grants = Grants(self.paths.home / "permissions.toml", workspace)
        granted, problems = stored_rules(grants, self.toolbox)
        self._warnings += problems
        return Gate(self._rules | granted, self.options.mode or self.config.mode, grants)

    def _explicit_model(self, name: str | None = None) -> Model | None:
        """Return the model of this name, else that of `--model`.

        Raises:
            UnknownModelError: it names none, or several.
            NoModelError: its provider is not configured.
        """
        if (name := name or self.options.model) is None:
            return None
        model = self.catalogue.resolve(name)
        if (why := self.registry.configuration_problem(model.provider)) is not None:
            raise NoModelError(f"`{model.id}` cannot be used: {why}")
        return model

    async def _swap(self, session: Session) -> None:
        """Take the model of `--model` for a stored session, unless it has that model already."""
        chosen, in_words = self._explicit_model(), self.options.in_words
        if chosen is not None and (in_words or chosen.id != session.state.model):
            async for _ in session.select(chosen.id, in_words=in_words):
                pass

    async def _record_effort(self, record: Recorder) -> None:
        """Store the effort that the command line chooses."""
        if (effort := self.options.effort) is not None:
            await record(SessionEffortSelected(effort=effort))

    def _first_model(self, chosen: Model | None) -> Model:
        here = self.config.workspaces.get(str(self.options.workspace))
        default = here.model if here and here.model else self._global_default()
        return chosen or self.catalogue.resolve(default)

    def _global_default(self) -> str:
        named = self.config.model
        return self.catalogue.resolve(named).id if named else self.registry.default_model()

    async def _surroundings(
        self,
        session_id: str,
        workspace: Path,
        confirm: Confirm,
        tool_ids: ToolIdMap,
        parents: Sequence[str] = (),
    ) -> SessionEnvironment:
        """`parents`: sessions whose long outputs the history of this one may name."""
        options, limits = self.options, self.config.limits
        spills = self.paths.state / "spill"
        spill = spills / session_id
        await asyncio.to_thread(lambda: spill.mkdir(mode=0o700, parents=True, exist_ok=True))
        named = [spills / each for each in parents if Path(each).name == each]
        known = [each for each in named if await asyncio.to_thread(each.is_dir)]
        return SessionEnvironment(
            workspace=Workspace(
                workspace, (*options.add_dirs, spill, *known), own_directories(self.paths)
            ),
            registry=self.registry,
            routes=self.routes(workspace),
            toolbox=self.toolbox,
            gate=self._gate(workspace),
            confirm=confirm,
            budget=RunBudget(
                limits=limits, max_requests=options.max_turns, max_cost=options.max_cost
            ),
            spill=spill,
            blobs=self.paths.blobs,
            pricing_version=self.catalogue.pricing_version,
            mask=self._mask,
            settings=RequestSettings(
                effort=self.config.effort,
                cache_retention=self.config.cache_retention,
                output_schema=options.output_schema,
            ),
            thinking_on_swap=self.config.thinking_on_swap,
            interactive=options.interactive,
            tool_ids=tool_ids,
        )
