"""The environment of a session: options, request settings, budget and shared objects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.agent.gate import Gate
from yourtool.agent.routes import Routes
from yourtool.config import Limits, Mode, ThinkingOnSwap
from yourtool.effects import Confirm
from yourtool.events.deltas import Notice
from yourtool.masking import Mask
from yourtool.models import CacheRetention, Effort
from yourtool.providers.base import ToolChoice
from yourtool.providers.dropped_blocks import DropLog
from yourtool.providers.registry import Registry
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.tools.base import Toolbox, Workspace


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of the command line for one run."""

    workspace: Path
    model: str | None = None
    use_placeholders: bool = False
    """Whether `model` gets placeholders for stored media that it does not support."""
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    add_dirs: tuple[Path, ...] = ()
    max_turns: int | None = None
    max_cost: Decimal | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the final reply of every turn."""
    attachments: tuple[str, ...] = ()
    """Files and URLs for the first prompt."""
    interactive: bool = True


class RequestSettings(Struct, frozen=True, kw_only=True):
    """Settings of model requests, independent of the model."""

    effort: Effort | None = None
    """None: the default of each model."""
    cache_retention: CacheRetention = "short"
    tool_choice: ToolChoice = "auto"
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the final reply's text."""


@dataclass(kw_only=True)
class RunBudget:
    """Limits of the run and its consumption so far.

    `limits` are soft: the user can approve going beyond them. The others stop the turn.
    """

    limits: Limits
    max_requests: int | None = None
    """Limit for the run (`--max-turns`)."""
    max_cost: Decimal | None = None
    """Limit for the run, in US dollars (`--max-cost`)."""
    requests: int = 0
    cost: Decimal = Decimal(0)
    reached: str | None = None
    """Message about the hard limit that stopped the run; None if none did."""


@dataclass(kw_only=True)
class SessionEnvironment:
    """The objects and settings that a session and its turns use."""

    workspace: Workspace
    registry: Registry
    routes: Routes
    toolbox: Toolbox
    gate: Gate
    confirm: Confirm
    budget: RunBudget
    spill: Path
    blobs: Path
    pricing_version: str
    mask: Callable[[], Mask]
    """Returns the mask that replaces keys in calls and results; blocks on the file system."""
    settings: RequestSettings = field(default_factory=RequestSettings)
    """Settings of the next turn."""
    thinking_on_swap: ThinkingOnSwap = "drop"
    interactive: bool = True
    tool_ids: ToolIdMap = field(default_factory=ToolIdMap)
    losses: DropLog = field(default_factory=DropLog)
    shown_notices: set[str] = field(default_factory=lambda: set[str]())
    """Notices that the session has shown already."""

    def new_notices(self, *texts: str | None) -> list[Notice]:
        """Return a notice for each text that the session has not shown yet."""
        new = [each for each in texts if each is not None and each not in self.shown_notices]
        self.shown_notices.update(new)
        return [Notice(level="warning", text=each) for each in new]
