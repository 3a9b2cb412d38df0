"""State of one turn."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Protocol, TypeVar

from msgspec import Struct, field

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.state import State
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn.loops import RepeatedCalls
from yourtool.effects import Decision, SandboxOffer, ToolDefinition, TrustOffer
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.turns import (
    ProviderRecovered,
    ProviderUnavailable,
    TurnCancelled,
    TurnCompleted,
)
from yourtool.interrupt import Interrupt
from yourtool.messages.message import Message
from yourtool.messages.metadata import RoutingDecisionRecord, StopReason, ToolInputError
from yourtool.models import Effort, Model
from yourtool.providers.base import Adapter
from yourtool.tools.toolset import Toolbox
from yourtool.tools.workspace.file_reads import FileReads

F = TypeVar("F", bound=AnyFact)


class TurnMeans(Struct, frozen=True):
    """The model of a turn and the tools of its calls."""

    adapter: Adapter
    toolbox: Toolbox
    routing: RoutingDecisionRecord
    effort: Effort | None


class TurnPrompt(Struct, frozen=True):
    """The parts of the system prompt."""

    system: Sequence[Message]
    """The fixed part of the prompt."""
    build_situation: Callable[[], Message]
    """Returns the part about the moment, with the approval mode, which the user can change."""


class ProjectOffers(Struct, frozen=True):
    """Offers of the files of a project; the functions block on the file system."""

    find_trust: Callable[[], TrustOffer | None]
    """Returns the folder that the user could trust."""
    find_sandbox: Callable[[], SandboxOffer | None]
    """Returns the folder whose commands the user could allow."""
    find_instructions: Callable[[Sequence[str]], tuple[list[str], list[str]]]
    """Returns notes with instructions for the directories of paths, and notices."""


class TurnCounts(Struct):
    """Counts of what a turn has used so far."""

    started: float = field(default_factory=time.monotonic)
    """Monotonic seconds."""
    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    request_allowance: int = 0
    """Number of requests after which the user is asked again; 0: the configured limit."""
    continued: int = 0
    """Number of times that hooks continued it."""
    repeated: RepeatedCalls = field(default_factory=RepeatedCalls)

    def build_cancelled(self, *, is_leaving: bool = False) -> TurnCancelled:
        """Return the fact for a turn that was stopped."""
        return TurnCancelled(
            reason="client_disconnect" if is_leaving else "user_cancel",
            partial_llm_calls=self.requests,
            partial_tool_calls=self.tool_calls,
            total_input_tokens=self.input_tokens,
            total_output_tokens=self.output_tokens,
            total_cost_usd=self.cost,
        )

    def build_completed(self, stop_reason: StopReason = StopReason.ERROR) -> TurnCompleted:
        """Return the fact for a turn that was not stopped."""
        return TurnCompleted(
            stop_reason=stop_reason,
            llm_call_count=self.requests,
            tool_call_count=self.tool_calls,
            total_input_tokens=self.input_tokens,
            total_output_tokens=self.output_tokens,
            total_cost_usd=self.cost,
            wall_time_seconds=round(time.monotonic() - self.started, 3),
        )


class OpenQuestion(Protocol):
    """A question that the answer to another one can settle."""

    async def judge_again(self) -> None:
        """Withdraw the question if its call needs no approval any more."""
        ...

    def answer(self, decision: Decision) -> None:
        """Withdraw the question, with an answer to another one that holds for it, too."""
        ...


class ReplyState(Struct):
    """Outcome of the calls of the last reply."""

    stop_reason: StopReason = StopReason.ERROR
    """Why it ended; `error` after a failed request and before the first one."""
    input_errors: Mapping[str, ToolInputError] = {}
    """Errors in the arguments of its calls, by call id."""
    answered_plan: bool = False
    """Whether the user answered a plan; the later calls are not run."""
    denies_rest: bool = False
    """Whether the user denied all later calls that need an approval."""
    open_questions: list[OpenQuestion] = field(default_factory=list[OpenQuestion])
    """The questions about its calls that wait for an answer."""
    judging: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held for the judgement of a call, so that calls are judged and asked about in order."""


class Recovery(Struct):
    """Attempts since a request succeeded."""

    trial_omission: str | None = None
    """Id of the message up to which requests omit opaque blocks on trial, after a rejection."""
    compacted: int = 0
    """The `Level` of the last summary; 0: there was none."""
    told_of_call: bool = False
    """True if the model got a note in this turn that it wrote a call as text."""
    broken: int = 0
    """Number of replies that broke off."""
    rejections: int = 0
    """Number of requests that were too long since the last summary."""


class Turn(Struct, kw_only=True):
    """A running turn; its model is fixed for all of its requests, and so are tools it can call."""

    session_id: str
    state: State
    channel: Channel
    interrupt: Interrupt
    env: SessionEnvironment
    model: Model
    means: TurnMeans
    prompt: TurnPrompt
    project: ProjectOffers
    reads: FileReads
    root: str
    """Event id of `turn.started`."""
    parent: str
    """Event id that is the parent of the next request."""
    counts: TurnCounts = field(default_factory=TurnCounts)
    reply: ReplyState = field(default_factory=ReplyState)
    recovery: Recovery = field(default_factory=Recovery)

    @property
    def omit_opaque_through(self) -> str | None:
        """Id of the message up to which the next request omits opaque blocks."""
        omitted = self.state.branch.opaque_omitted_through
        return self.recovery.trial_omission or omitted.get(self.model.id)

    async def emit(self, *events: Event) -> None:
        """Show events; facts are stored before, as children of the last request."""
        await self.channel.emit(*events, parent=self.parent)

    async def record(self, fact: F, *, parent: str | None = None) -> F:
        """Store a fact, then show it, and return it as stored."""
        return await self.channel.record(fact, parent=parent)

    def get_tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools that the next request has."""
        found, search_at = self.state.branch.found_tools, self.env.requests.context.search_tools_at
        return self.means.toolbox.offered_to(self.model, found, search_at)

    def estimate(self) -> int:
        """Return the estimated tokens of the next request."""
        return self.env.requests.estimates.total(self.state, self.model.id)

    def record_outcome(
        self, error_class: str | None
    ) -> Sequence[ProviderUnavailable | ProviderRecovered]:
        """Record the outcome of a request for routing; return the changes of availability.

        `error_class`: None after a success.
        """
        return self.env.routes.record_outcome(self.model, error_class)
