"""What the loop and the dispatcher share during one turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.agent.gate import Gate
from yourtool.agent.recorder import Recorder
from yourtool.agent.routes import Routes
from yourtool.agent.state import State
from yourtool.config import Limits, ThinkingOnSwap
from yourtool.effects import Confirm
from yourtool.events import ProviderRecovered, ProviderUnavailable
from yourtool.interrupt import Interrupt
from yourtool.messages import Message, RoutingDecisionRecord, ToolInputError
from yourtool.models import CacheRetention, Effort, Model
from yourtool.providers.base import Adapter, ToolChoice
from yourtool.providers.registry import Registry
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.tools.base import Toolbox, Workspace
from yourtool.tools.workspace import FileReads


class Wishes(Struct, frozen=True, kw_only=True):
    """How replies are asked for, whatever model gives them."""

    effort: Effort | None = None
    """None: every model thinks as it likes."""
    cache_retention: CacheRetention = "short"
    tool_choice: ToolChoice = "auto"
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the last reply's text."""


@dataclass(kw_only=True)
class Budget:
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
class Surroundings:
    """What a session is given by whoever opens it, and each of its turns by the session."""

    workspace: Workspace
    registry: Registry
    routes: Routes
    toolbox: Toolbox
    gate: Gate
    confirm: Confirm
    budget: Budget
    spill: Path
    blobs: Path
    pricing_version: str
    wishes: Wishes = field(default_factory=Wishes)
    """Those of the next turn."""
    thinking_on_swap: ThinkingOnSwap = "drop"
    interactive: bool = True
    tool_ids: ToolIdMap = field(default_factory=ToolIdMap)


@dataclass(kw_only=True)
class Turn:
    """One turn: its model is fixed from the first request to the last."""

    session_id: str
    state: State
    record: Recorder
    interrupt: Interrupt
    around: Surroundings
    model: Model
    adapter: Adapter
    routing: RoutingDecisionRecord
    system: Sequence[Message]
    reads: FileReads
    wishes: Wishes
    root: str
    """Event id of `turn.started`."""

    told: set[str] = field(default_factory=lambda: set[str]())
    """What is said once in a session, and has been."""
    parent: str = ""
    """The event that the next request is caused by."""
    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    allowance: int = 0
    """Requests until the user is asked again."""
    cost_allowance: Decimal = Decimal(0)
    repeats: dict[str, int] = field(default_factory=lambda: dict[str, int]())
    """How often the same call came in a row."""
    input_errors: dict[str, ToolInputError] = field(
        default_factory=lambda: dict[str, ToolInputError]()
    )
    """Calls of the last reply whose arguments were not usable."""

    def estimate(self) -> int:
        """Guess how many tokens the next request is."""
        return self.around.routes.estimate(self.state, self.model.id)

    def outcome(self, error_class: str | None) -> Sequence[ProviderUnavailable | ProviderRecovered]:
        """Take the end of a request into account; None: success. Return what routing says of it."""
        return self.around.routes.outcome(self.model, error_class)
