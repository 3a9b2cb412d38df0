"""What the loop and the dispatcher share during one turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.agent.gate import Gate
from yourtool.agent.recorder import Recorder
from yourtool.agent.state import State
from yourtool.config import Limits, ThinkingOnSwap
from yourtool.effects import Confirm
from yourtool.events import ProviderRecovered, ProviderUnavailable
from yourtool.interrupt import Interrupt
from yourtool.messages import Message, RoutingDecisionRecord, ToolInputError
from yourtool.models import CacheRetention, Effort, Model
from yourtool.providers.base import Adapter, ToolChoice
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
class Turn:
    """One turn: its model is fixed from the first request to the last."""

    session_id: str
    state: State
    record: Recorder
    interrupt: Interrupt
    model: Model
    adapter: Adapter
    routing: RoutingDecisionRecord
    pricing_version: str
    system: Sequence[Message]
    toolbox: Toolbox
    tool_ids: ToolIdMap
    gate: Gate
    confirm: Confirm
    workspace: Workspace
    reads: FileReads
    spill: Path
    blobs: Path
    budget: Budget
    wishes: Wishes
    interactive: bool
    on_outcome: Callable[[str | None], Sequence[ProviderUnavailable | ProviderRecovered]]
    """Told the error class of each finished request (None: success); returns what routing has
    to say about it."""
    estimate: Callable[[], int]
    """Returns how many tokens the next request probably is."""
    root: str
    """Event id of `turn.started`."""

    thinking_on_swap: ThinkingOnSwap = "drop"
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
