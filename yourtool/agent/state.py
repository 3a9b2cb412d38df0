"""What a session is at a moment: a fold over its facts, so that resuming is replaying."""

import bisect
from decimal import Decimal

from yourtool.agent.elision import elide_tool_outputs, next_elision
from yourtool.errors import ErrorClass
from yourtool.events import (
    AnyFact,
    LlmCallCompleted,
    LlmCallFailed,
    LlmCallStarted,
    RouteDecided,
    SessionCreated,
    SessionEffortSelected,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
    ShellRan,
    ToolCompleted,
    ToolFailed,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
)
from yourtool.messages import Audience, Message, Role, StopReason
from yourtool.routing.router import RejectionCode, Slot

_TOO_MUCH = frozenset(
    {
        RejectionCode.NO_VISION_SUPPORT,
        RejectionCode.NO_AUDIO_SUPPORT,
        RejectionCode.NO_DOCUMENT_SUPPORT,
        RejectionCode.EXCEEDS_CONTEXT_WINDOW,
    }
)


class State:
    """Changed by `apply` alone, but for what is pending, which no fact has until it holds."""

    def __init__(self, *, keeps_facts: bool = True) -> None:
        """`keeps_facts`: whether `facts` holds all, which takes most of a long session's memory."""
        self._keeps_facts = keeps_facts
        self.facts: list[AnyFact] = []
        """All facts, or only those since the last turn began."""
        self.parents: list[str] = []
        """Ids of the sessions that this one was forked from."""
        self.copied = 0
        """How many of the facts came with a fork or an import, and were paid for elsewhere."""
        self.messages: list[Message] = []
        """In the order of their ids, which for tool results is the order of the calls."""
        self._untaken: str | None = None
        """The id of the last prompt, if no model could take it for what it holds."""
        self._left_out: set[str] = set()
        self.workspace_path = ""
        self.model: str | None = None
        """The explicit choice of the session (`/model X`)."""
        self.refusal: SessionModelRefused | None = None  # of the last choice of a model
        self.in_words_to = ""
        """The id of the last message whose media `model` is sent placeholders for; empty: it is
        sent none, or takes them."""
        self.effort: SessionEffortSelected | None = None
        """The explicit choice of a reasoning effort (`--effort`, `/effort`), if there is one."""
        self.pending_model: str | None = None
        """A choice made during a turn, for the next one; empty: the choice is given back."""
        self.pending_in_words = False  # whether it is to be sent placeholders
        self.last_route: RouteDecided | None = None
        self.addressed: str | None = None
        """The model that the last turn was addressed to (`@alias`), until another is chosen."""
        self.last_error: LlmCallFailed | None = None
        """Why the last turn failed; None after a turn that did not."""
        self.failed = False  # the last turn, or no model could take it
        self.cost_usd = Decimal(0)
        self.unpriced = False
        """Some request of the session has no known price, so `cost_usd` is too low."""
        self.turn_count = 0
        self.context_tokens = 0
        """Size of the conversation at the end of the last request."""
        self.counted: dict[str, LlmCallCompleted] = {}
        """The last request of each model whose tokens its provider counted."""
        self.cuts: dict[str, str] = {}
        """By the model that found the conversation too long: up to which message outputs go."""
        self.rejected_through: dict[str, str] = {}
        """By model: up to which message its opaque parts are left out, since it rejected them."""
        self._on_trial: LlmCallStarted | None = None
        """The last request, if it left out more of them than the one before."""
        self.made_room = False
        """Whether the last failure was for want of room, and the next request is shorter for it."""
        self.open_turn: TurnStarted | None = None
        """The turn that has no terminal fact yet."""
        self.open_calls: dict[str, LlmCallCompleted] = {}
        """Calls without a result, by tool_use id, with the fact that brought them."""

    @property
    def conversation(self) -> list[Message]:
        """What requests are made of: all messages but those for the user alone, and but prompts
        that no model could take.

        Such a prompt can be tried again until the next one; it would stand in the way of every
        later turn else.
        """
        return [
            message
            for message in tuple(self.messages)  # a thread may ask while the session goes on
            if message.id not in self._left_out and message.metadata.audience is not Audience.USER
        ]

    def conversation_for(self, model_id: str) -> list[Message]:
        """What requests to a model are made of: the conversation, as far as it has room for it."""
        return elide_tool_outputs(self.conversation, self.cuts.get(model_id))

    @property
    def prompts(self) -> list[Message]:
        """What the user said, in order; commands that the user ran are none."""
        return [message for message in self.messages if message.is_prompt]

    def apply(self, fact: AnyFact) -> None:
        """Take one more fact into account; facts come in the order they were recorded."""
        if isinstance(fact, TurnStarted) and not self._keeps_facts and not self.open_calls:
            self.facts.clear()
        self.facts.append(fact)
        match fact:
            case SessionCreated(workspace_path=path):
                self.workspace_path = path
            case SessionForked() | SessionImported():
                if isinstance(fact, SessionForked):
                    self.parents.append(fact.parent_session_id)
                self.copied = len(self.facts)
                self.cost_usd, self.unpriced = Decimal(0), False
            case SessionModelSelected():
                self._select(fact)
            case SessionModelRefused():
                self.refusal = fact
            case SessionEffortSelected():
                self.effort = fact
            case TurnStarted(message=message):
                self.open_turn, self.last_error, self.failed = fact, None, False
                self.turn_count += 1
                self._begin(message)
            case RouteDecided():
                self.last_route = fact
                self.addressed = _addressed(fact)
                self._untaken = self._unanswered() if is_too_much(fact) else None
            case LlmCallStarted():
                self._on_trial = fact if fact.rejected_through else None
            case LlmCallCompleted():
                self._confirm_rejection(fact)
                self._book(fact)
            case LlmCallFailed(message=message):
                self.last_error, self.failed = fact, True
                self._spend(fact)
                self._add(message)
                self.made_room = self._make_room(fact)
            case ShellRan(message=message):
                self._add(message)
            case ToolCompleted(message=message) | ToolFailed(message=message):
                self.open_calls.pop(fact.tool_use_id, None)
                self._add(message)
            case TurnCompleted(stop_reason=reason):
                self.open_turn = None
                self.failed = self.failed or reason is StopReason.ERROR
            case TurnCancelled():
                self.open_turn = None
            case _:
                pass

    def _confirm_rejection(self, reply: LlmCallCompleted) -> None:
        """Note that a request succeeded after opaque parts were left out of it."""
        if (trial := self._on_trial) is not None and trial.rejected_through is not None:
            self.rejected_through[reply.model] = trial.rejected_through
        self._on_trial = None

    def _select(self, choice: SessionModelSelected) -> None:
        self.model, self.pending_model, self.pending_in_words = choice.model, None, False
        self.addressed = self.refusal = None
        last = self.messages[-1].id if self.messages else ""
        self.in_words_to = last if choice.media_in_words else ""

    def _make_room(self, failure: LlmCallFailed) -> bool:
        if failure.error_class != ErrorClass.CONTEXT_OVERFLOW:
            return False
        if (cut := next_elision(self.conversation, self.cuts.get(failure.model))) is None:
            return False
        self.cuts[failure.model] = cut
        return True

    def _begin(self, message: Message | None) -> None:
        """Take up a prompt; None: the last one is tried again."""
        if message is None:
            return
        if self._untaken is not None:
            self._left_out.add(self._untaken)
            self._untaken = None
        self._add(message)

    def _unanswered(self) -> str | None:
        """Return the id of the prompt that stands last, whatever the user ran since."""
        for message in reversed(self.messages):
            if message.is_prompt:
                return message.id
            if message.role is not Role.USER:
                break
        return None

    def _book(self, fact: LlmCallCompleted) -> None:
        self.last_error, self.failed = None, False
        self._spend(fact)
        extra = fact.usage_extra
        self.context_tokens = fact.prompt_tokens + fact.output_tokens
        if not (extra and extra.estimated):
            self.counted[fact.model] = fact
        self.open_calls |= {block.id: fact for block in fact.message.tool_uses}
        self._add(fact.message)

    def _spend(self, fact: LlmCallCompleted | LlmCallFailed) -> None:
        self.cost_usd += fact.cost_usd
        extra = fact.usage_extra
        self.unpriced = self.unpriced or bool(extra and extra.unpriced)

    def _add(self, message: Message | None) -> None:
        if message is None:
            return
        if not self.messages or self.messages[-1].id < message.id:
            self.messages.append(message)
        else:
            bisect.insort(self.messages, message, key=lambda each: each.id)


def _addressed(route: RouteDecided) -> str | None:
    overrides = (each for each in route.chain if each.policy == Slot.PER_MESSAGE_OVERRIDE)
    return next((each.candidate_model for each in overrides), None)


def is_too_much(route: RouteDecided) -> bool:
    """Whether no model could take a turn, one at least for what the conversation holds."""
    return route.chosen_model is None and any(
        each.validation_failure in _TOO_MUCH for each in route.chain
    )
