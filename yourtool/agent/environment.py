"""What surrounds a session, from whoever opens it: places, parts, limits and wishes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.agent.gate import Gate
from yourtool.agent.routes import Routes
from yourtool.config import Limits, Mode, ThinkingOnSwap
from yourtool.deltas import Notice
from yourtool.effects import Confirm
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
    in_words: bool = False
    """Whether `model` is sent placeholders for media of a stored session that it takes none of."""
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    add_dirs: tuple[Path, ...] = ()
    max_turns: int | None = None
    max_cost: Decimal | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema that every last reply is held to."""
    attachments: tuple[str, ...] = ()
    """Files and addresses for the first prompt."""
    interactive: bool = True


class RequestSettings(Struct, frozen=True, kw_only=True):
    """How replies are asked for, whatever model gives them."""

    effort: Effort | None = None
    """None: every model thinks as it likes."""
    cache_retention: CacheRetention = "short"
    tool_choice: ToolChoice = "auto"
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the last reply's text."""


@dataclass(kw_only=True)
class RunBudget:
    """How far a turn may go before the user is asked; hard limits stop it instead."""

    limits: Limits
    max_requests: int | None = None
    """Of the whole run (`--max-turns`)."""
    max_cost: Decimal | None = None
    """Of the whole run, in US dollars (`--max-cost`)."""
    requests: int = 0
    cost: Decimal = Decimal(0)
    reached: str | None = None
    """The hard limit that stopped the run, in words."""


@dataclass(kw_only=True)
class SessionEnvironment:
    """What a session is given by whoever opens it, and each of its turns by the session."""

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
    """Returns what finds keys in calls and replaces them in results; blocks on the file system."""
    settings: RequestSettings = field(default_factory=RequestSettings)
    """Those of the next turn."""
    thinking_on_swap: ThinkingOnSwap = "drop"
    interactive: bool = True
    tool_ids: ToolIdMap = field(default_factory=ToolIdMap)
    losses: DropLog = field(default_factory=DropLog)
    notices_shown: set[str] = field(default_factory=lambda: set[str]())
    """The remarks that the session has heard."""

    def new_notices(self, *remarks: str | None) -> list[Notice]:
        """Return what is to be said of remarks that the session has not heard yet."""
        new = [each for each in remarks if each is not None and each not in self.notices_shown]
        self.notices_shown.update(new)
        return [Notice(level="warning", text=each) for each in new]
