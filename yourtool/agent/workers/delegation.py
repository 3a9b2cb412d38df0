"""Delegation of tasks to workers.

A worker shares the workspace, the rules, the mode and the budget of the session that started it. It
has another history and model, and limits. Its questions go to the same user, with its name. What it
changes is also recorded in the session that started it, so that undo covers it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from yourtool.agent.session_environment import DelegatingCall, SessionEnvironment
from yourtool.agent.workers.worker import MissingContext, Worker, WorkerSession
from yourtool.effects import Confirm, Confirmation, Decision, Scope
from yourtool.errors import ToolError, UnknownModelError
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.delegation import DelegateCompleted, DelegateFailed, DelegateStarted
from yourtool.events.files import FileChangeFailed, FilesChanged
from yourtool.foundation.masking import Mask
from yourtool.foundation.text import storable
from yourtool.messages.blocks import TextBlock, canonical_json
from yourtool.models import EDIT_TOOLS
from yourtool.permissions.rules import find_server
from yourtool.providers.estimate import estimate_text
from yourtool.settings.agent_config import DelegationConfig
from yourtool.tools.base import ToolContext, ToolOutput
from yourtool.tools.guidance.delegate import (
    DELEGATE,
    Delegate,
    find_report_problem,
    require_valid_schema,
)
from yourtool.tools.guidance.memory import REMEMBER
from yourtool.tools.guidance.skills import LOAD_SKILL
from yourtool.tools.processes.output import CommandOutput
from yourtool.tools.toolset import Toolbox

_log = logging.getLogger(__name__)
_NOT_FOR_WORKERS = frozenset({"ask_user", "propose_plan", "update_plan", LOAD_SKILL, REMEMBER})
"""Tools about the plans of the session, which a worker does not make."""
_OFFERS_NOTHING: Mapping[str, Any] = {
    "rules": (), "describe_rule": None, "trust": None, "sandbox": None, "offers_edits": False
}  # fmt: skip
"""Fields of the question of a worker, whose answer is about one call."""
_ONCE: Mapping[str, Any] = {
    "scope": Scope.ONCE, "rules": (), "trusts_folder": False, "allows_contained": False,
    "accepts_edits": False,
}  # fmt: skip
_MAX_LAST_WORDS = 4_000
"""Characters of a failed worker's last reply that the model gets."""
_RULES = """\
You are a worker: another agent gave you the task above, and nobody answers questions.
- Do this task and nothing else. What you need, find out with your tools.
- If something is missing that no tool can find, call report_missing at once.
- Your last message is your report, and all that the other agent gets. State results, with paths and
  lines, and what you could not do. Be brief."""


class WorkerPlan(Struct, frozen=True, kw_only=True):
    """What is fixed when a worker starts."""

    parent: SessionEnvironment
    parent_session_id: str
    tool_use_id: str
    model: str
    max_tokens: int
    tools: Toolbox
    confirm: Confirm
    depth: int
    tasks: "Delegation | None"
    """With which the worker delegates; None: it cannot."""

    def share_with(self, env: SessionEnvironment) -> None:
        """Let the environment of the worker share what belongs to both sessions."""
        parent = self.parent
        place, spending, shared = env.place, env.spending, parent.spending
        place.watch, place.project = parent.place.watch, parent.place.project
        place.workspace.share_locks(parent.place.workspace)
        spending.budget, spending.budgets, spending.turn = (
            shared.budget,
            shared.budgets,
            shared.turn,
        )
        spending.max_tokens = self.max_tokens
        env.requests.effort = parent.requests.effort
        env.requests.output_schema = None  # of the last reply of the delegating session
        env.is_worker, env.tasks, env.routes.delegated_model = True, self.tasks, self.model


OpenWorker: TypeAlias = Callable[[WorkerPlan], Awaitable[WorkerSession]]
"""Creates the session of a worker."""


class Delegation:
    """Starts the workers of one session."""

    def __init__(self, config: DelegationConfig, open_worker: OpenWorker, depth: int = 0) -> None:
        """`depth`: 0 for a session of the user, 1 for a worker of it."""
        self.config = config
        self.open_worker = open_worker
        self.depth = depth
        self._count = 0

    def build_child(self) -> "Delegation | None":
        """Return what a worker delegates with; None at the greatest depth."""
        if self.depth + 1 >= self.config.max_depth:
            return None
        return Delegation(self.config, self.open_worker, self.depth + 1)

    def bind(self, call: DelegatingCall) -> "CallDelegator":
        """Return what runs the task of one call."""
        return CallDelegator(self, call)

    def next_name(self) -> str:
        """Return a new name for a worker."""
        self._count += 1
        return f"worker {self._count}"


class CallDelegator:
    """Runs the tasks of one call of `delegate`."""

    def __init__(self, starter: Delegation, call: DelegatingCall) -> None:
        self._starter = starter
        self._call = call
        self._copied: dict[str, str] = {}
        """Our event id of each copied `files.changed`, by the worker's event id."""

    async def run(self, args: Delegate, context: ToolContext) -> ToolOutput:
        """Run a task in a new session and return the report.

        Raises:
            ToolError: the worker ended without a report; the message has the reason.
        """
        require_valid_schema(args)
        env, missing, delegation = self._call.env, MissingContext(), self._starter
        model = self._choose_model(args, delegation.config)
        toolbox, dropped = self._choose_tools(args, missing, delegation)
        name, holder = delegation.next_name(), list[Worker]()
        most = delegation.config.max_tokens

        async def confirm(question: Confirmation) -> Decision:
            with holder[0].waiting_for_user():
                decision = await env.user.confirm(
                    replace(question, asked_by=name, **_OFFERS_NOTHING)
                )
            return replace(decision, **_ONCE)

        plan = WorkerPlan(
            parent=env,
            parent_session_id=self._call.session_id,
            tool_use_id=self._call.tool_use_id,
            model=model,
            max_tokens=min(args.max_tokens or most, most),
            tools=toolbox,
            confirm=confirm,
            depth=delegation.depth + 1,
            tasks=delegation.build_child(),
        )
        worker = Worker(
            session=await delegation.open_worker(plan),
            max_seconds=delegation.config.max_seconds,
            max_tokens=plan.max_tokens,
            show=context.emit,
            observe=self._copy_change,
        )
        holder.append(worker)
        omitted = tuple(map(context.mask.text, dropped))
        await self._record(self._build_started(args, plan, worker, name, omitted))
        context.emit(f"{name}: {model}\n")
        started = asyncio.get_running_loop().time()
        try:
            await worker.run(build_brief(args))
        except Exception as error:  # noqa: BLE001 - a bug in a worker ends the worker only
            _log.exception("a worker failed")
            worker.failure, worker.problem = "worker_error", f"internal error: {error}"
        finally:
            if missing.reported is not None:
                worker.failure, worker.problem = "insufficient_context", missing.describe()
            elif args.output_schema and worker.failure is None:
                await context.run_in_thread(_check_report, worker, args.output_schema)
            elapsed = asyncio.get_running_loop().time() - started
            await self._record(self._build_ended(worker, elapsed, context.mask))
        return await self._build_output(name, worker, context)

    def _choose_model(self, args: Delegate, config: DelegationConfig) -> str:
        """Return the model of the tier, by default that of the turn."""
        tiers = {"fast": config.fast, "balanced": config.balanced, "deep": config.deep}
        if not (named := tiers.get(args.tier, "")):
            return self._call.model_id
        try:
            return self._call.env.routes.catalogue.resolve(named).id
        except UnknownModelError as error:
            raise ToolError(
                f"No worker was started: `delegation.{args.tier}` of `config.toml` names no model:"
                f" {error}. Call `{DELEGATE}` without `tier`."
            ) from error

    def _choose_tools(
        self, args: Delegate, missing: MissingContext, delegation: Delegation
    ) -> tuple[Toolbox, tuple[str, ...]]:
        """Return the tools of the worker, and the names that it cannot have."""
        can_delegate = delegation.build_child() is not None
        hidden = _NOT_FOR_WORKERS if can_delegate else _NOT_FOR_WORKERS | {DELEGATE}
        usable = [each for each in self._call.toolbox if each.definition.name not in hidden]
        names = {each.definition.name for each in usable}
        asked = set(args.allowed_tools)
        allowed = {each for each in names if {each, find_server(each)} & asked} if asked else names
        if allowed & set(EDIT_TOOLS):
            allowed |= set(EDIT_TOOLS)  # the worker's model is offered the one that it is used to
        known = names | {find_server(each) for each in names}
        dropped = tuple(each for each in dict.fromkeys(args.allowed_tools) if each not in known)
        chosen = [each for each in usable if each.definition.name in allowed]
        if not chosen:
            raise ToolError(
                "No worker was started: it can have none of the tools in `allowed_tools`. It can"
                f" have: {', '.join(sorted(names))}."
            )
        return Toolbox((*chosen, missing.build_tool())), dropped

    async def _copy_change(self, event: Event) -> None:
        """Record a change of files by the worker for the call that started it."""
        tool_use_id = self._call.tool_use_id
        match event:
            case FilesChanged(changes=changes, omitted=omitted):
                ours = FilesChanged(tool_use_id=tool_use_id, changes=changes, omitted=omitted)
                self._copied[event.id] = (await self._record(ours)).id
            case FileChangeFailed(changed_event_id=changed) if changed in self._copied:
                await self._record(
                    FileChangeFailed(
                        tool_use_id=tool_use_id, changed_event_id=self._copied[changed]
                    )
                )
            case _:
                pass

    async def _record(self, fact: AnyFact) -> AnyFact:
        return await self._call.channel.record(fact, parent=self._call.parent)

    def _build_started(
        self, args: Delegate, plan: WorkerPlan, worker: Worker, name: str, dropped: tuple[str, ...]
    ) -> DelegateStarted:
        references = len(args.files) + len(args.notes)
        return DelegateStarted(
            tool_use_id=plan.tool_use_id,
            worker_session_id=worker.session.id,
            worker_name=name,
            tier=args.tier,
            requested_model=plan.model,
            context_mode="explicit" if references else "minimal",
            context_reference_count=references,
            task_size_tokens=round(estimate_text(args.task)),
            allowed_tool_count=len(plan.tools.definitions),
            dropped_tools=dropped,
            depth=plan.depth,
        )

    def _build_ended(
        self, worker: Worker, seconds: float, mask: Mask
    ) -> DelegateCompleted | DelegateFailed:
        used: dict[str, Any] = {
            "tool_use_id": self._call.tool_use_id,
            "worker_session_id": worker.session.id,
            "wall_time_seconds": round(seconds, 3),
            **asdict(worker.totals),
        }
        if worker.failure is None:
            size = len(worker.report.encode("utf-8", "replace"))
            return DelegateCompleted(output_size_bytes=size, **used)
        problem = storable(mask.text(worker.problem))
        return DelegateFailed(failure_mode=worker.failure, error_message=problem, **used)

    async def _build_output(self, name: str, worker: Worker, context: ToolContext) -> ToolOutput:
        """Return the report, truncated like the output of a command.

        Raises:
            ToolError: there is none.
        """
        where = f"its session is {worker.session.id}"
        if worker.failure is not None:
            said = worker.report[-_MAX_LAST_WORDS:]
            partial = f"\nThe end of its last reply:\n{said}" if said else ""
            raise ToolError(
                f"The task failed ({worker.failure}): {worker.problem}; {where}.{partial}"
            )
        output = CommandOutput(context.spill, lambda _: None, context.mask)

        def cut() -> str:
            output.feed(worker.report.encode("utf-8", "replace"))
            output.close()
            return output.text()

        text = await context.run_in_thread(cut)
        return ToolOutput(
            (TextBlock(text),), details={"worker": name, "session": worker.session.id}
        )


def _check_report(worker: Worker, schema: dict[str, Any]) -> None:
    if problem := find_report_problem(schema, worker.report):
        worker.failure, worker.problem = "output_schema_validation_failed", problem


def build_brief(args: Delegate) -> str:
    """Return the message with which a worker starts."""
    parts = [args.task]  # first, because the first line is the title of the session
    if args.files:
        files = (
            f"- {each.path}{f', lines {each.lines}' if each.lines else ''}" for each in args.files
        )
        parts.append("Files to start with:\n" + "\n".join(files))
    if args.notes:
        parts.append("Known already:\n" + "\n".join(f"- {note}" for note in args.notes))
    parts.append(_RULES)
    if args.output_schema:
        schema = canonical_json(args.output_schema).decode()
        parts.append(f"Your report is nothing but JSON that matches this schema: {schema}")
    return "\n\n".join(parts)
