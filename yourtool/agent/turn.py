"""What the loop and the dispatcher share during one turn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from yourtool.agent.environment import RequestSettings, SessionEnvironment
from yourtool.agent.recorder import Recorder
from yourtool.agent.state import State
from yourtool.events import ProviderRecovered, ProviderUnavailable
from yourtool.interrupt import Interrupt
from yourtool.messages import Message, RoutingDecisionRecord, ToolInputError
from yourtool.models import Model
from yourtool.providers.base import Adapter
from yourtool.tools.workspace import FileReads


@dataclass(kw_only=True)
class Turn:
    """One turn: its model is fixed from the first request to the last."""

    session_id: str
    state: State
    record: Recorder
    interrupt: Interrupt
    around: SessionEnvironment
    model: Model
    adapter: Adapter
    routing: RoutingDecisionRecord
    system: Sequence[Message]
    reads: FileReads
    wishes: RequestSettings
    root: str
    """Event id of `turn.started`."""

    parent: str = ""
    """The event that the next request is caused by."""
    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    rejected_through: str | None = None
    """Id of the last message whose opaque parts the requests leave out on trial: see `State`."""
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
