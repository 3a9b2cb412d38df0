"""Runtime of a process."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import UNSET

from yourtool import extensions
from yourtool.agent.history.estimates import RequestEstimates
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.space import SpaceWait
from yourtool.agent.history.state import State
from yourtool.agent.input.attachments import read_attachment
from yourtool.agent.input.clipboard import read_clipboard_content
from yourtool.agent.money.budgets import Budgets, JudgeBudget
from yourtool.agent.routes.routing_rules import DefaultModels, RoutingRules, find_default_models
from yourtool.agent.routes.session_routes import Routes
from yourtool.agent.session.demo_workspace import find_scratch_copies, make_scratch_copy
from yourtool.agent.session.known_secrets import build_mask
from yourtool.agent.session.moved_sessions import find_workspace, require_workspace
from yourtool.agent.session.project.project_checks import find_checks
from yourtool.agent.session.project.project_trust import ProjectTrust, open_trusted_gate
from yourtool.agent.session.project.session_hooks import build_own_hooks
from yourtool.agent.session.project.skills import read_descriptions
from yourtool.agent.session.repairing import repair_stored
from yourtool.agent.session.session import Session
from yourtool.agent.session.stored_facts import acquire_lease, load_state
from yourtool.agent.session.system_prompt import system_messages
from yourtool.agent.session_environment import (
    Budget,
    Place,
    SessionEnvironment,
    SessionSpending,
    SessionUser,
    build_requests,
    open_workspace,
)
from yourtool.agent.tool_servers import ServerPool
from yourtool.agent.workers.delegation import Delegation, WorkerPlan
from yourtool.effects import Confirm
from yourtool.events.sessions import (
    SessionCreated,
    SessionEffortSelected,
    SessionModelSelected,
    SessionResumed,
)
from yourtool.foundation.amounts import Spending
from yourtool.ids import new_session_id
from yourtool.models import Model
from yourtool.paths import Paths, own_directories, to_stored_path
from yourtool.permissions.gate import Gate
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.agents import add_agents
from yourtool.providers.catalogue.discovery import add_servers
from yourtool.providers.catalogue.local_servers import LocalServer
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.stored_prices import StoredPrices
from yourtool.providers.registry import Registry
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.routing import policy
from yourtool.routing.availability import Availability
from yourtool.run_result import NoModelError
from yourtool.settings.config import Config, RunOptions, load_usable
from yourtool.settings.credentials import Credentials
from yourtool.store.base import Lease, SessionStore, describe_unread
from yourtool.store.forks import workspace_hash
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.sandbox.sandboxes import Sandboxes
from yourtool.tools.sandbox.workspace_problems import find_problems
from yourtool.tools.toolset import Toolset, ToolSnapshot
from yourtool.tools.workspace.workspace import Workspace


class Runtime:
    """The shared objects of a process; creates and resumes sessions."""

    def __init__(
        self, paths: Paths, options: RunOptions, config: Config, store: SessionStore
    ) -> None:
        """`store` is closed with the runtime."""
        self.paths, self.options, self.config = paths, options, config
        self.credentials = Credentials(paths).read_keychain()
        self.catalogue, self._warnings = Catalogue.load_valid(paths)
        add_agents(self.catalogue, config.agents)
        self.registry = Registry(config, self.credentials, interactive=options.interactive)
        self.store, self.space, self.availability = store, SpaceWait(), Availability()
        own, used = own_directories(paths), config.sandbox.is_used and not options.no_sandbox
        self._sandboxes = Sandboxes(config.sandbox, own) if used else None
        self._prices = StoredPrices(paths.price_tables, self.catalogue)
        self.tool_servers = ServerPool(paths, options, config)
        self._asks_all, self._discovery_file = False, paths.cache / discovery_cache.FILE_NAME
        found = self._discovery_file, self.registry, self.catalogue
        self._warnings += discovery_cache.restore_discoveries(*found)

    @classmethod
    async def open(cls, paths: Paths, options: RunOptions) -> "Runtime":
        """Load the settings in a thread; raises `ConfigError` for an invalid variable."""
        report = await asyncio.to_thread(load_usable, paths)
        store = SqliteStore(Database(paths.database))
        runtime = await asyncio.to_thread(cls, paths, options, report.config, store)
        runtime._warnings += map(str, report.problems)
        runtime._asks_all = report.hides_restriction
        return runtime

    async def close(self) -> None:
        """Close the connections and the store; idempotent."""
        await self.tool_servers.close()
        if self._sandboxes is not None:
            await self._sandboxes.close()
        await self.registry.close()
        await self.store.close()

    def take_warnings(self) -> list[str]:
        """Return the new warnings of the runtime and its sessions, each only once."""
        taken, self._warnings = list(dict.fromkeys(self._warnings)), []
        return taken

    async def new_session(
        self,
        confirm: Confirm,
        model: str | None = None,
        *,
        workspace: Path | None = None,
        tools: Toolset | None = None,
        dirs: Sequence[Path] | None = None,
    ) -> Session:
        """Start a session; a session of the demo uses a scratch copy of the workspace.

        `model`, `workspace` and `dirs` replace those of the command line, `tools` the built-in
        ones. `dirs`: directories that the file tools can use besides the workspace.

        Raises:
            UnknownModelError: no model, or more than one, has the name.
            NoModelError: the provider of the model is not configured.
            UsageError: a value of `--allow` or `--deny` is not a rule or names an unknown tool.
        """
        session_id = new_session_id()
        chosen, project = self._explicit_model(model), workspace or self.options.workspace
        initial = chosen or self.catalogue.get(self.default_models(project).preferred)
        workspace = project
        if initial.is_demo:
            own = own_directories(self.paths)
            workspace = await asyncio.to_thread(make_scratch_copy, project, self.paths.scratch, own)
        files = await self._open_workspace(workspace, dirs, session_id)
        env = await self._build_environment(session_id, files, tools, confirm, ToolIdMap())
        env.place.project = project
        created = SessionCreated(
            workspace_path=to_stored_path(workspace),
            workspace_hash=workspace_hash(workspace),
            initial_active_model=chosen.id if chosen else None,
            routing_policy_version=env.routes.rules.policy.version,
        )
        return await self._create(session_id, env, created)

    async def open_worker(self, plan: WorkerPlan) -> Session:
        """Start the session of a worker."""
        session_id, root = new_session_id(), plan.parent.place.workspace.root
        files = await self._open_workspace(root, plan.parent.place.workspace.readable, session_id)
        env = await self._build_environment(
            session_id, files, plan.tools, plan.confirm, ToolIdMap(), plan.parent.gate
        )
        plan.share_with(env)
        created = SessionCreated(
            workspace_path=to_stored_path(root),
            workspace_hash=workspace_hash(root),
            routing_policy_version=env.routes.rules.policy.version,
            parent_session_id=plan.parent_session_id,
            parent_tool_use_id=plan.tool_use_id,
        )
        return await self._create(session_id, env, created)

    async def _create(
        self, session_id: str, env: SessionEnvironment, created: SessionCreated
    ) -> Session:
        """Store and return a new session."""
        lease = await acquire_lease(self.store, session_id)
        state = State(keep_facts=False, keep_tree=False)
        record = Recorder(self.store, session_id, state, self.space)
        await record(created)
        if created.initial_active_model is not None:
            await record(SessionModelSelected(model=created.initial_active_model))
        if not env.is_worker:
            await self._record_effort(record)
        return Session(session_id, state, record, lease, env)

    async def resume(
        self,
        session_id: str,
        confirm: Confirm,
        *,
        keep_model: bool = False,
        workspace: Path | None = None,
        tools: Toolset | None = None,
        dirs: Sequence[Path] | None = None,
    ) -> Session:
        """Open a stored session and close the turn that a dead process left open.

        `keep_model`: ignore `--model`. `workspace` replaces the directory of the session, `tools`
        and `dirs` are those of `new_session`.

        Raises:
            SwapRefusedError: the model of `--model` cannot continue the session.
            SessionNotFoundError: no session has this id.
            SessionBusyError: another process uses the session.
            UsageError: the session has no directory any more, or an option names no valid rule.
        """
        lease = await acquire_lease(self.store, session_id)
        try:
            # The rows of the ids are freed here, and the state uses their memory.
            tool_ids = ToolIdMap(await self.store.provider_call_ids(session_id))
            state, unread = await load_state(self.store, session_id)
            self._warnings += [describe_unread(session_id, unread)] if unread else []
            root = workspace or find_workspace(state, self.options, self.paths)
            await require_workspace(root, session_id)
            files = await self._open_workspace(root, dirs, session_id, state.parents)
            env = await self._build_environment(session_id, files, tools, confirm, tool_ids)
            session = await self._reopen(session_id, state, lease, env, to_stored_path(root))
            if not keep_model:
                await self._select_explicit_model(session)
            return session
        except BaseException:
            lease.release()
            raise

    async def _reopen(
        self, session_id: str, state: State, lease: Lease, env: SessionEnvironment, path: str
    ) -> Session:
        """Record that a stored session continues in a directory."""
        last = state.facts[-1].id
        record = Recorder(self.store, session_id, state, self.space)
        await repair_stored(self.store, session_id, state, record)
        here = workspace_hash(env.place.workspace.root)
        moved = UNSET if path == state.workspace_path else path
        await record(
            SessionResumed(workspace_hash=here, workspace_path=moved, last_event_id_at_resume=last)
        )
        await self._record_effort(record)
        env.spending.budgets.session_cost = state.cost_usd
        return Session(session_id, state, record, lease, env)

    async def find_last_session(self) -> str | None:
        """Return the last session of the workspace, including demo sessions in copies of it."""
        workspace = self.options.workspace
        copies = await asyncio.to_thread(find_scratch_copies, workspace, self.paths.scratch)
        return await self.store.last_used(*map(to_stored_path, (workspace, *copies)))

    def mask_keys(self, text: str) -> str:
        """Return `text` with every known key masked; blocks on the file system."""
        return build_mask(self.paths, os.environ).text(text)

    async def open_rules(self, workspace: Path) -> RoutingRules:
        """Return the routing rules for a directory, as their files are now."""
        rules = RoutingRules(
            self.paths.home / policy.FILE_NAME,
            Path(await asyncio.to_thread(os.path.realpath, workspace)),
            lambda name: self.catalogue.resolve(name).id,
            self.spent_today,
            lambda: read_descriptions(workspace),
            self.default_models(workspace),
        )
        trust = ProjectTrust(workspace, self.paths)
        await asyncio.to_thread(lambda: rules.refresh(trust.examine().routing_file))
        return rules

    async def build_routes(self, workspace: Path, estimates: RequestEstimates) -> Routes:
        """Return the routes of a directory, with the rules for it."""
        routes = Routes(
            self.registry,
            self.availability,
            estimates,
            await self.open_rules(workspace),
            interactive=self.options.interactive,
            structured_output=self.options.output_schema is not None,
        )
        if (config := self.config.routing).patterns:
            routes.learned = extensions.open_learned_routes(self.store, str(workspace), config)
        return routes

    def build_estimates(self, workspace: Path, snapshot: ToolSnapshot) -> RequestEstimates:
        """Return the estimates for requests with a system prompt and tools."""
        system, search_at = system_messages(workspace, ""), self.config.context.search_tools_at
        return RequestEstimates(self.catalogue, snapshot, system, search_at)

    attach = staticmethod(read_attachment)
    """Reads an attachment, for front ends that import the core late."""
    read_clipboard = staticmethod(read_clipboard_content)
    """Returns the image in the clipboard as an attachment, or else the text."""

    async def find_servers(self, *, elsewhere: bool) -> tuple[LocalServer, ...]:
        """Find local servers and add their models to the catalogue.

        `elsewhere`: also query the configured servers on other machines.
        """
        file = self._discovery_file
        return await add_servers(self.registry, self.catalogue, file, include_remote=elsewhere)

    async def spent_today(self) -> Spending:
        """Return the cost of all sessions since midnight UTC."""
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return await self.store.spending_since(midnight)

    def _explicit_model(self, name: str | None = None) -> Model | None:
        """Return the model with this name, by default that of `--model`.

        Raises:
            UnknownModelError: no model, or more than one, has the name.
            NoModelError: the provider of the model is not configured.
        """
        if (name := name or self.options.model) is None:
            return None
        model = self.catalogue.resolve(name)
        if (why := self.registry.find_problem(model)) is not None:
            raise NoModelError(f"`{model.id}` cannot be used: {why}")
        return model

    async def _select_explicit_model(self, session: Session) -> None:
        """Select the model of `--model` for a stored session unless it is selected already."""
        chosen, in_words = self._explicit_model(), self.options.use_placeholders
        if chosen is not None and (in_words or chosen.id != session.state.model):
            async for _ in session.select_model(chosen.id, use_placeholders=in_words):
                pass

    async def _record_effort(self, record: Recorder) -> None:
        """Record the reasoning effort of `--effort`, if given."""
        if (effort := self.options.effort) is not None:
            await record(SessionEffortSelected(effort=effort))

    def default_models(self, workspace: Path) -> DefaultModels:
        """Return the default models of sessions in a directory."""
        return find_default_models(self.config, self.catalogue, self.registry, workspace)

    async def _open_workspace(
        self, root: Path, dirs: Sequence[Path] | None, session_id: str, parents: Sequence[str] = ()
    ) -> Workspace:
        extra, owners = self.options.add_dirs if dirs is None else dirs, (session_id, *parents)
        return await asyncio.to_thread(open_workspace, self.paths, root, extra, owners)

    async def _build_environment(
        self,
        session_id: str,
        workspace: Workspace,
        tools: Toolset | None,
        confirm: Confirm,
        tool_ids: ToolIdMap,
        gate: Gate | None = None,
    ) -> SessionEnvironment:
        options, config, boxes = self.options, self.config, self._sandboxes
        place, is_copy = workspace.root, workspace.root.parent == self.paths.scratch
        enclosing = boxes and boxes.build(place, workspace.readable, is_copy=is_copy)
        own = default_toolbox(delegates=config.delegation.enabled)
        snapshot = ToolSnapshot(tools or await self.tool_servers.join(own, place, enclosing))
        estimates = await asyncio.to_thread(self.build_estimates, place, snapshot)
        if gate is None:
            self._warnings += await asyncio.to_thread(list, find_problems(place, enclosing))
            opening = self.paths, options, config.mode, place, snapshot.toolbox.subject_kinds
            gate, problems = await asyncio.to_thread(open_trusted_gate, *opening, session_id)
            self._warnings += map(str, problems)
            if self._asks_all:
                gate.ask_about_all()
        env = SessionEnvironment(
            place=Place(
                workspace=workspace,
                project=options.workspace if is_copy else place,
                spill=self.paths.spill_directory(session_id),
                blobs=self.paths.blobs,
                mask=lambda: build_mask(self.paths, os.environ),
                undo=config.undo,
                sandbox=enclosing,
                environments=self.tool_servers.environments,
            ),
            user=SessionUser(confirm, options.interactive, config.ui.file_mentions == "attach"),
            requests=build_requests(config, options, self.registry, estimates, tool_ids),
            spending=SessionSpending(
                limits=config.limits,
                prices=self._prices,
                budget=Budget(max_requests=options.max_turns, max_cost=options.max_cost),
                budgets=Budgets(config=config.budget, read_today=self.spent_today),
                judge_budget=JudgeBudget(config=config.routing, store=self.store),
            ),
            routes=await self.build_routes(place, estimates),
            gate=gate,
            tools=snapshot,
            hooks=build_own_hooks(config.hooks),
            find_checks=lambda: find_checks(config.checks, place, self.paths),
            find_servers=self.tool_servers.build_finder(place),
            renew_servers=lambda: self.tool_servers.renew(place),
            fallback=config.fallback,
            tasks=Delegation(config.delegation, self.open_worker),
        )
        env.agents = extensions.open_agents(config.agents, env)
        return env
