"""Environment of a session."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import UNSET, Struct, field

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.estimates import RequestEstimates
from yourtool.agent.hooks.hooks import Hooks
from yourtool.agent.hooks.transcript import FILE_NAME, Transcript
from yourtool.agent.money.budgets import Budgets, JudgeBudget
from yourtool.agent.money.reported_costs import ReportedCosts
from yourtool.agent.routes.session_routes import Routes
from yourtool.effects import Confirm, Confirmation, Decision, Steering, UnsavedText, no_steering
from yourtool.events.deltas import Notice
from yourtool.foundation.files import is_directory
from yourtool.foundation.masking import Mask
from yourtool.models import CacheRetention, Effort
from yourtool.paths import Paths, own_directories
from yourtool.permissions.gate import Gate
from yourtool.providers.base import ToolChoice
from yourtool.providers.catalogue.stored_prices import StoredPrices
from yourtool.providers.dropped_blocks import DropLog
from yourtool.providers.encoded_history import EncodedHistory
from yourtool.providers.registry import Registry
from yourtool.providers.requests.request_view import RequestView
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.settings.agent_config import (
    CheckConfig,
    ContextConfig,
    FallbackConfig,
    Limits,
    UndoConfig,
)
from yourtool.settings.config import Config, RunOptions, ThinkingOnSwap
from yourtool.tools.background import ProcessTable
from yourtool.tools.base import Delegator
from yourtool.tools.changes.workspace_watch import CommandChanges, WorkspaceWatch
from yourtool.tools.processes.environments import Environments
from yourtool.tools.toolset import Toolbox, ToolSnapshot
from yourtool.tools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from yourtool.models import Model
    from yourtool.providers.base import Adapter
    from yourtool.tools.sandbox.sandbox import Sandbox
    from yourtool.tools.servers.servers import ToolServers


class SettledAgent(Struct, frozen=True):
    """The report of an ended turn of another agent."""

    changes: tuple[CommandChanges, ...] = ()
    """Changes that are not in the journal yet."""
    unasked: tuple[str, ...] = ()
    """The files that it changed without a question during the turn."""
    problem: str = ""
    """How stopping it failed."""


class OtherAgents(Protocol):
    """Other agents that answer as models of a session: an extension."""

    def find_adapter(self, model: "Model") -> "Adapter":
        """Return the adapter of an agent, which starts with its first request."""
        ...

    def build_toolbox(self, model: "Model") -> Toolbox:
        """Return the tools of turns that an agent answers."""
        ...

    def abandon(self, model: "Model") -> None:
        """Let the next request to an agent stop its present prompt first."""
        ...

    async def settle(self, model: "Model") -> SettledAgent:
        """End what an agent does for a turn."""
        ...

    async def close(self) -> None:
        """End all agents; idempotent."""
        ...


class Budget(Struct, kw_only=True):
    """Requests and cost of a session and its workers since it was opened, with their limits."""

    max_requests: int | None = None
    """Maximum of `requests` (`--max-turns`)."""
    max_cost: Decimal | None = None
    """Maximum of `cost` (`--max-cost`), in US dollars."""
    requests: int = 0
    cost: Decimal = Decimal(0)
    """In US dollars."""
    expected_cost: Decimal = Decimal(0)
    """The minimum cost of the requests that run now, in US dollars."""


class TurnSpending(Struct, kw_only=True):
    """Cost of a turn of the user, with that of its workers, in US dollars."""

    cost: Decimal = Decimal(0)
    allowance: Decimal = Decimal(0)
    """Cost at which the user is asked again; 0: the configured limit."""


class DelegatingCall(Struct, frozen=True, kw_only=True):
    """A running call of `delegate`, with what its worker gets from the turn."""

    env: "SessionEnvironment"
    session_id: str
    model_id: str
    toolbox: Toolbox
    channel: Channel
    tool_use_id: str
    parent: str
    """Event id of the start of the call."""


class TaskStarter(Protocol):
    """Starts workers."""

    def bind(self, call: DelegatingCall) -> Delegator:
        """Return what runs the task of one call."""
        ...


class Place(Struct, kw_only=True, eq=False):
    """Files and programs of a session."""

    workspace: Workspace
    project: Path
    """The workspace directory; if it is a scratch copy, the directory that was copied."""
    spill: Path
    blobs: Path
    mask: Callable[[], Mask]
    """Returns the mask that replaces keys in calls and results; blocks on the file system."""
    undo: UndoConfig = field(default_factory=UndoConfig)
    """The limits of copies before a command."""
    sandbox: "Sandbox | None" = None
    """Encloses the commands of the model; None: they run without a sandbox."""
    environments: Environments = field(default_factory=Environments)
    """Builds the variables of the programs that the session starts."""
    processes: ProcessTable = field(default_factory=ProcessTable)
    """The running commands of the session; a worker has its own."""
    unsaved: UnsavedText | None = None
    transcript: Transcript = UNSET  # pyright: ignore[reportAssignmentType] - set below
    """The file that hooks can read."""
    watch: WorkspaceWatch = UNSET  # pyright: ignore[reportAssignmentType] - set below
    """Finds the files that commands change."""

    def __post_init__(self) -> None:
        self.watch = WorkspaceWatch(self.workspace, self.blobs / "repositories", self.undo)
        self.transcript = Transcript(self.spill / FILE_NAME)


class SessionUser(Struct, eq=False):
    """The user of a session, as its turns reach them."""

    confirm: Confirm
    interactive: bool = True
    attaches_mentions: bool = True
    """Whether the content of the files that a prompt mentions is sent."""
    steering: Steering = no_steering
    shown_notices: set[str] = field(default_factory=set[str])
    """Notices that the session has shown already."""

    def report_waiting(self, report: Callable[[bool], None]) -> None:
        """Call `report` with whether a question to the user is open, whenever that changes."""
        ask, count = self.confirm, 0

        async def confirm(question: Confirmation) -> Decision:
            nonlocal count
            count += 1
            report(count > 0)
            try:
                return await ask(question)
            finally:
                count -= 1
                report(count > 0)

        self.confirm = confirm

    def new_notices(self, *texts: str | None) -> list[Notice]:
        """Return a notice for each text that the session has not shown yet."""
        new = [each for each in texts if each is not None and each not in self.shown_notices]
        self.shown_notices.update(new)
        return [Notice(level="warning", text=each) for each in new]


class SessionRequests(Struct, kw_only=True, eq=False):
    """Settings and memory of the requests of a session."""

    registry: Registry
    estimates: RequestEstimates
    effort: Effort | None = None
    """Reasoning effort of the next turn; None: the default of each model."""
    cache_retention: CacheRetention = "short"
    thinking_on_swap: ThinkingOnSwap = "drop"
    tool_choice: ToolChoice = "auto"
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the final reply of every turn."""
    context: ContextConfig = field(default_factory=ContextConfig)
    tool_ids: ToolIdMap = field(default_factory=ToolIdMap)
    losses: DropLog = field(default_factory=DropLog)
    view: RequestView = field(default_factory=RequestView)
    encoded_history: EncodedHistory = field(default_factory=EncodedHistory)


class SessionSpending(Struct, kw_only=True, eq=False):
    """Requests, tokens and costs of a session, with their limits.

    `limits` are soft: the user can approve going beyond them. `budget` has limits that stop the
    turn.
    """

    limits: Limits
    prices: StoredPrices
    budget: Budget = field(default_factory=Budget)
    """Shared with the workers of the session, as `budgets`, those of the user."""
    budgets: Budgets = field(default_factory=Budgets)
    judge_budget: JudgeBudget = field(default_factory=JudgeBudget)
    """Which model judges turns after their end, and within which limits."""
    turn: TurnSpending = field(default_factory=TurnSpending)
    """That of the present turn, which its workers share."""
    reported_costs: ReportedCosts = field(default_factory=ReportedCosts)
    """Asks for the costs of replies that arrived without one."""
    max_tokens: int | None = None
    """Maximum of `tokens`, for a worker."""
    tokens: int = 0
    """Tokens of all requests since the session was opened."""
    limit_reached: str | None = None
    """Message about the limit that stopped the last turn; None if none did."""


class SessionEnvironment(Struct, kw_only=True, eq=False):
    """The parts that the turns of one session use.

    Sessions share the registry, and through `routes` the catalogue and the availability of models.
    """

    place: Place
    user: SessionUser
    requests: SessionRequests
    spending: SessionSpending
    routes: Routes
    gate: Gate
    tools: ToolSnapshot
    hooks: Hooks = field(default_factory=Hooks)
    """The commands that run at events."""
    find_checks: Callable[[], Mapping[str, CheckConfig]] = dict
    """Returns the commands that run after edits; blocks on the file system."""
    find_servers: "Callable[[], ToolServers | None]" = lambda: None
    """Returns the MCP servers of the workspace, whose resources prompts can mention."""
    renew_servers: Callable[[], Awaitable[Sequence[Notice]]] | None = None
    """Starts the servers that the workspace has by now; returns what needs an answer."""
    fallback: FallbackConfig = field(default_factory=lambda: FallbackConfig(policy="never"))
    tasks: TaskStarter | None = None
    """Starts workers; None: the session cannot delegate."""
    agents: OtherAgents | None = None
    """The other agents that the session can use as models; None: it cannot."""
    is_worker: bool = False

    async def close(self) -> None:
        """Close the connections to other agents, and the sandbox of a copy; idempotent."""
        if self.agents is not None:
            await self.agents.close()
        place = self.place
        is_copy = place.workspace.root != place.project  # no other session works in it
        if place.sandbox is not None and is_copy and not self.is_worker:
            await place.sandbox.close()

    def use_settings(self, config: Config) -> None:
        """Use the changed settings that need no new session, from the next request on."""
        self.spending.limits, self.spending.budgets.config = config.limits, config.budget
        self.requests.context, self.fallback = config.context, config.fallback
        self.requests.cache_retention = config.cache_retention
        self.requests.thinking_on_swap = config.thinking_on_swap
        self.user.attaches_mentions = config.ui.file_mentions == "attach"

    def has_resource(self, name: str) -> bool:
        """Whether `name` is a resource of a server, as it is mentioned."""
        servers = self.find_servers()
        return servers is not None and servers.find_resource(name) is not None

    def begin_turn(self) -> None:
        """Reset what counts for one turn; the turn of a worker is part of another one."""
        self.spending.limit_reached = None
        if not self.is_worker:
            self.spending.turn = TurnSpending()
            self.spending.budgets.allowed.clear()


def build_requests(
    config: Config,
    options: RunOptions,
    registry: Registry,
    estimates: RequestEstimates,
    tool_ids: ToolIdMap,
) -> SessionRequests:
    """Return the settings for requests, and the memory of a session."""
    return SessionRequests(
        registry=registry,
        estimates=estimates,
        effort=config.effort,
        cache_retention=config.cache_retention,
        thinking_on_swap=config.thinking_on_swap,
        output_schema=options.output_schema,
        context=config.context,
        tool_ids=tool_ids,
    )


def open_workspace(
    paths: Paths, root: Path, dirs: Sequence[Path], session_ids: Sequence[str]
) -> Workspace:
    """Return access to the files of a session; blocks on the file system.

    `dirs`: further directories. `session_ids`: the session, then those whose spilled output its
    history may refer to.
    """
    own, *earlier = (paths.spill_directory(each) for each in session_ids if Path(each).name == each)
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    readable = (*dirs, own, *filter(is_directory, earlier))
    return Workspace(root, readable, own_directories(paths))
