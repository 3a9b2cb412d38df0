"""The state of a session: a fold over its facts, so that resume is a replay."""

import bisect
from decimal import Decimal

from yourtool.agent.history.compaction import Compacted, build_compacted
from yourtool.agent.history.elision import elide_tool_outputs, next_elision
from yourtool.agent.history.file_history import FileHistory
from yourtool.agent.history.process_history import ProcessHistory
from yourtool.agent.history.stored_prompt import StoredPrompt
from yourtool.errors import ErrorClass
from yourtool.events.catalog import AnyFact
from yourtool.events.context import ContextCompacted, ContextElided
from yourtool.events.delegation import DelegateCompleted, DelegateFailed
from yourtool.events.files import FilesRestored
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed, LlmCallStarted
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import (
    SessionCreated,
    SessionEffortSelected,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
    SessionRenamed,
)
from yourtool.events.tools import ProcessesReported, ShellRan, ToolCompleted, ToolFailed
from yourtool.events.turns import (
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
    TurnSteered,
)
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import Audience, StopReason
from yourtool.routing.router import RejectionCode, Slot

_CONTENT_REJECTIONS = frozenset(
    {
        RejectionCode.NO_VISION_SUPPORT,
        RejectionCode.NO_AUDIO_SUPPORT,
        RejectionCode.NO_DOCUMENT_SUPPORT,
        RejectionCode.EXCEEDS_CONTEXT_WINDOW,
    }
)


class State:
    """The state of a session; only `apply` changes it, except for pending selections."""

    _compacted: Compacted | None = None
    """What requests have in place of the first messages of the conversation."""
    shortenings: int = 0
    """How often requests were changed to omit or replace something."""

    def __init__(self, *, keep_facts: bool = True) -> None:
        """`keep_facts`: store all facts, which need most of the memory of a long session."""
        self._keep_facts = keep_facts
        self.facts: list[AnyFact] = []
        """All facts, or only those since the last turn started."""
        self.parents: list[str] = []  # ids of the sessions that it was forked from
        self.copied_count = 0
        """Number of facts from a fork or an import, whose cost belongs to another session."""
        self.messages: list[Message] = []
        """Messages in the order of their ids, which for tool results is the order of the calls."""
        self._conversation: list[Message] = []
        self._rejected_prompt: str | None = None
        """Id of the last prompt if every model rejected its content."""
        self.files, self.processes, self.system_prompt = (
            FileHistory(),
            ProcessHistory(),
            StoredPrompt(),
        )
        # `title` is that of `/rename`, `policy` that of the last `policy.snapshot`.
        self.workspace_path = self.title = self.policy = ""
        self.model: str | None = None
        """Id of the selected model (`/model NAME`)."""
        self.model_refusal: SessionModelRefused | None = None  # of the last selection
        self.placeholders_through = ""
        """Id of the message up to which `model` gets placeholders for media, or empty."""
        self.effort: SessionEffortSelected | None = None
        """The selected reasoning effort (`--effort`, `/effort`)."""
        self.pending_model: str | None = None
        """Model selected during a turn for the next one; empty: the default model."""
        self.pending_placeholders = False  # for the pending model
        self.last_route: RouteDecided | None = None
        self.addressed_model: str | None = None
        """Model that the last turn was addressed to (`@alias`), until another is selected."""
        self.last_error: LlmCallFailed | None = None
        """The failed request that ended the last turn; None after a success."""
        self.last_turn_failed = False  # also if no model was usable
        self.cost_usd = Decimal(0)
        self.unpriced = False
        """Whether the price of a request is unknown, so that `cost_usd` is too low."""
        self.turn_count = 0
        self.context_tokens = 0
        """Tokens of the conversation after the last request."""
        self.counted_replies: dict[str, LlmCallCompleted] = {}
        """By model: its last reply with tokens counted by the provider."""
        self.elided_through: dict[str, str] = {}
        """By model: id of the message up to which tool outputs are elided."""
        self.opaque_omitted_through: dict[str, str] = {}
        """By model: id of the message up to which opaque blocks are omitted after a rejection."""
        self._trial_request: LlmCallStarted | None = None
        """The last request, if it omitted more opaque blocks than the one before."""
        self.shrunk_after_overflow = False
        """Whether the last request exceeded the context window and the next one is shorter."""
        self.open_turn: TurnStarted | None = None
        """The turn without a terminal fact."""
        self.open_calls: dict[str, LlmCallCompleted] = {}
        """Calls without a result, by tool_use id, with the fact that contains them."""

    @property
    def conversation(self) -> list[Message]:
        """The messages for requests, without messages for the user only and rejected prompts.

        A prompt that every model rejected can be retried until the next prompt; from then on it is
        omitted, since it would block every later turn. A summary is in place of what it replaces.
        """
        if self._compacted is not None:
            return self._compacted.shorten(self._conversation)
        return self._conversation.copy()  # because threads read it

    def conversation_for(self, model_id: str) -> list[Message]:
        """Return the messages for requests to a model, with old tool outputs elided if needed."""
        return elide_tool_outputs(self.conversation, self.elided_through.get(model_id))

    @property
    def sent_messages(self) -> list[Message]:
        """The messages for requests to the model of the last turn."""
        return self.conversation_for(self.last_model or "")

    @property
    def last_model(self) -> str | None:
        """Id of the model of the last turn."""
        return self.last_route.chosen_model if self.last_route else None

    @property
    def prompts(self) -> list[Message]:
        """The messages that started turns, in order."""
        return [message for message in self.messages if message.is_prompt]

    def apply(self, fact: AnyFact) -> None:
        """Update the state with a fact; facts must be applied in the order of their recording."""
        if isinstance(fact, TurnStarted) and not self._keep_facts and not self.open_calls:
            self.facts.clear()
        self.facts.append(fact)
        for part in (self.files, self.processes, self.system_prompt):
            part.apply(fact)
        match fact:
            case SessionCreated(workspace_path=path):
                self.workspace_path = path
            case SessionRenamed(title=title):
                self.title = title
            case SessionForked() | SessionImported():
                if isinstance(fact, SessionForked):
                    self.parents.append(fact.parent_session_id)
                self.copied_count = len(self.facts)
                self.cost_usd, self.unpriced = Decimal(0), False
            case SessionModelSelected():
                self._apply_selection(fact)
            case SessionModelRefused():
                self.model_refusal = fact
            case SessionEffortSelected():
                self.effort = fact
            case TurnStarted(message=message):
                self.open_turn, self.last_error, self.last_turn_failed = fact, None, False
                self.turn_count += 1
                self._add_prompt(message)
            case RouteDecided():
                self.last_route = fact
                self.addressed_model = _find_addressed_model(fact)
                self._rejected_prompt = (
                    self._unanswered_prompt() if is_rejected_for_content(fact) else None
                )
            case LlmCallStarted() | LlmCallCompleted() | LlmCallFailed():
                self._apply_call(fact)
            case (
                ShellRan(message=message)
                | TurnSteered(message=message)
                | FilesRestored(message=message)
                | ProcessesReported(message=message)
            ):
                self.add_message(message)
            case ToolCompleted(message=message) | ToolFailed(message=message):
                self.open_calls.pop(fact.tool_use_id, None)
                self.add_message(message)
            case TurnCompleted() | TurnCancelled():
                self._end_turn(fact)
            case DelegateCompleted() | DelegateFailed():
                self.cost_usd += fact.total_cost_usd
                self.unpriced = self.unpriced or fact.unpriced
            case PolicySnapshot(policy=policy):
                self.policy = policy
            case ContextElided() | ContextCompacted():
                self._apply_context(fact)
            case _:
                pass

    def _end_turn(self, fact: TurnCompleted | TurnCancelled) -> None:
        self.open_turn = None
        if isinstance(fact, TurnCompleted) and fact.stop_reason is StopReason.ERROR:
            self.last_turn_failed = True

    def _apply_context(self, fact: ContextElided | ContextCompacted) -> None:
        if isinstance(fact, ContextElided):
            self._elide(fact.model, fact.through)
            return
        self.shortenings += 1
        self._compacted = build_compacted(fact, self._conversation)
        self.context_tokens = fact.tokens_after
        self.counted_replies.clear()  # they counted what is replaced now

    def _apply_call(self, fact: LlmCallStarted | LlmCallEnd) -> None:
        """Apply a fact of a model call; a silent call has nothing but a cost."""
        match fact:
            case LlmCallStarted():
                if not fact.purpose:
                    self._trial_request = fact if fact.rejected_through else None
            case _ if fact.purpose:
                self._add_cost(fact)
            case LlmCallCompleted():
                self._confirm_rejection(fact)
                self._add_reply(fact)
            case LlmCallFailed(message=message):
                self.last_error, self.last_turn_failed = fact, True
                self._add_cost(fact)
                self.add_message(message)
                self.shrunk_after_overflow = self._shrink_after_overflow(fact)

    def _confirm_rejection(self, reply: LlmCallCompleted) -> None:
        """Omit opaque blocks permanently after a request without them succeeded."""
        if (request := self._trial_request) is not None and request.rejected_through is not None:
            self.opaque_omitted_through[reply.model] = request.rejected_through
        self._trial_request = None

    def _apply_selection(self, choice: SessionModelSelected) -> None:
        self.model, self.pending_model, self.pending_placeholders = choice.model, None, False
        self.addressed_model = self.model_refusal = None
        last = self.messages[-1].id if self.messages else ""
        self.placeholders_through = last if choice.media_in_words else ""

    def _shrink_after_overflow(self, failure: LlmCallFailed) -> bool:
        if failure.error_class != ErrorClass.CONTEXT_OVERFLOW:
            return False
        if (
            through := next_elision(self.conversation, self.elided_through.get(failure.model))
        ) is None:
            return False
        self._elide(failure.model, through)
        return True

    def _elide(self, model_id: str, through: str) -> None:
        self.shortenings += 1
        self.elided_through[model_id] = through
        self.counted_replies.pop(model_id, None)  # it counted what is elided now

    def _add_prompt(self, message: Message | None) -> None:
        """Add a prompt; None: the last prompt is retried."""
        if message is None:
            return
        if self._rejected_prompt is not None:
            self._conversation = [
                each for each in self._conversation if each.id != self._rejected_prompt
            ]
            self._rejected_prompt = None
        self.add_message(message)

    def _unanswered_prompt(self) -> str | None:
        """Return the id of the last prompt if only shell commands follow it."""
        for message in reversed(self.messages):
            if message.is_prompt:
                return message.id
            if message.role is not Role.USER:
                break
        return None

    def _add_reply(self, fact: LlmCallCompleted) -> None:
        self.last_error, self.last_turn_failed = None, False
        self._add_cost(fact)
        extra = fact.usage_extra
        self.context_tokens = fact.usage.prompt_tokens + fact.usage.output_tokens
        if not (extra and extra.estimated):
            self.counted_replies[fact.model] = fact
        self.open_calls |= {block.id: fact for block in fact.message.tool_uses}
        self.add_message(fact.message)

    def _add_cost(self, fact: LlmCallEnd) -> None:
        self.cost_usd += fact.usage.cost_usd if fact.usage is not None else 0
        extra = fact.usage_extra
        self.unpriced = self.unpriced or bool(extra and extra.unpriced)

    def add_message(self, message: Message | None) -> None:
        """Add the message of a fact to the history; None if the fact has no message."""
        if message is None:
            return
        _insert_by_id(self.messages, message)
        if message.metadata.audience is not Audience.USER:
            _insert_by_id(self._conversation, message)


def _insert_by_id(messages: list[Message], message: Message) -> None:
    if not messages or messages[-1].id < message.id:
        messages.append(message)
    else:
        bisect.insort(messages, message, key=lambda each: each.id)


def _find_addressed_model(route: RouteDecided) -> str | None:
    mentions = (each for each in route.chain if each.policy == Slot.PER_MESSAGE_OVERRIDE)
    return next((each.candidate_model for each in mentions), None)


def is_rejected_for_content(route: RouteDecided) -> bool:
    """Return whether no model was usable, at least one because of the conversation's content."""
    return route.chosen_model is None and any(
        each.validation_failure in _CONTENT_REJECTIONS for each in route.chain
    )
