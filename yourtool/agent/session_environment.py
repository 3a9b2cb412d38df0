"""The environment of a session: the objects, settings and limits of its turns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yourtool.agent.estimates import RequestEstimates
from yourtool.agent.routes import Routes
from yourtool.config import Limits, ThinkingOnSwap
from yourtool.effects import Confirm, Steering, no_steering
from yourtool.events.deltas import Notice
from yourtool.masking import Mask
from yourtool.models import CacheRetention, Effort
from yourtool.permissions.gate import Gate
from yourtool.providers.base import ToolChoice
from yourtool.providers.dropped_blocks import DropLog
from yourtool.providers.encoded_history import EncodedHistory
from yourtool.providers.registry import Registry
from yourtool.providers.requests.request_view import RequestView
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.tools.toolset import ToolSnapshot
from yourtool.tools.workspace import Workspace
from yourtool.tools.workspace_watch import WorkspaceWatch

if TYPE_CHECKING:
    from yourtool.tools.sandbox.sandbox import Sandbox


@dataclass(kw_only=True)
class SessionEnvironment:
    """What the turns of one session use.

    Sessions share the registry, and through `routes` the catalogue and the availability of models.
    `limits` are soft: the user can approve going beyond them. `max_requests` and `max_cost` stop
    the turn.
    """

    workspace: Workspace
    project: Path
    """The workspace directory; if it is a scratch copy, the directory that was copied."""
    registry: Registry
    routes: Routes
    estimates: RequestEstimates
    tools: ToolSnapshot
    gate: Gate
    sandbox: "Sandbox | None" = None
    """Encloses the commands of the model; None: they run without a sandbox."""
    confirm: Confirm
    steering: Steering = no_steering
    spill: Path
    blobs: Path
    mask: Callable[[], Mask]
    """Returns the mask that replaces keys in calls and results; blocks on the file system."""
    pricing_version: str
    interactive: bool = True
    attaches_mentions: bool = True
    """Whether the content of the files that a prompt mentions is sent."""

    effort: Effort | None = None
    """Reasoning effort of the next turn; None: the default of each model."""
    cache_retention: CacheRetention = "short"
    thinking_on_swap: ThinkingOnSwap = "drop"
    tool_choice: ToolChoice = "auto"
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the final reply of every turn."""

    limits: Limits
    max_requests: int | None = None
    """Maximum of `requests` (`--max-turns`)."""
    max_cost: Decimal | None = None
    """Maximum of `cost` (`--max-cost`)."""
    requests: int = 0
    """Requests since the session was opened."""
    cost: Decimal = Decimal(0)
    """Cost since the session was opened, in US dollars."""
    limit_reached: str | None = None
    """Message about the limit that stopped the last turn; None if none did."""

    watch: WorkspaceWatch = field(init=False)
    """Finds the files that commands change."""
    tool_ids: ToolIdMap = field(default_factory=ToolIdMap)
    losses: DropLog = field(default_factory=DropLog)
    request_view: RequestView = field(default_factory=RequestView)
    encoded_history: EncodedHistory = field(default_factory=EncodedHistory)
    shown_notices: set[str] = field(default_factory=lambda: set[str]())
    """Notices that the session has shown already."""

    def __post_init__(self) -> None:
        self.watch = WorkspaceWatch(self.workspace)

    def new_notices(self, *texts: str | None) -> list[Notice]:
        """Return a notice for each text that the session has not shown yet."""
        new = [each for each in texts if each is not None and each not in self.shown_notices]
        self.shown_notices.update(new)
        return [Notice(level="warning", text=each) for each in new]
