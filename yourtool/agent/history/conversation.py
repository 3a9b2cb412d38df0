"""Conversation of one branch."""

import bisect
from collections.abc import Iterable

from yourtool.agent.history.compaction import Compacted, build_compacted
from yourtool.agent.history.elision import elide_tool_outputs, next_elision
from yourtool.agent.history.entries import build_copies, build_note, build_summary
from yourtool.agent.history.overrides import Overrides
from yourtool.errors import ErrorClass
from yourtool.events.branches import BranchMerged, BranchSelected, BranchSummarised, EntryAdded
from yourtool.events.catalog import AnyFact
from yourtool.events.context import ContextCompacted, ContextElided, ContextHandedOver
from yourtool.events.files import FilesRestored
from yourtool.events.model_calls import (
    LlmCallCompleted,
    LlmCallFailed,
    LlmCallStarted,
    is_silent,
)
from yourtool.events.tools import ProcessesReported, ShellRan, ToolCompleted, ToolFailed
from yourtool.events.tree import get_entry_id
from yourtool.events.turns import RouteDecided, TurnCompleted, TurnStarted, TurnSteered
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import Audience, StopReason
from yourtool.routing.router import RejectionCode
from yourtool.tools.tool_search import FIND_TOOLS, FOUND

_CONTENT_REJECTIONS = frozenset(
    {
        RejectionCode.NO_VISION_SUPPORT,
        RejectionCode.NO_AUDIO_SUPPORT,
        RejectionCode.NO_DOCUMENT_SUPPORT,
        RejectionCode.EXCEEDS_CONTEXT_WINDOW,
    }
)
OF_CONVERSATION = (
    TurnStarted,
    TurnSteered,
    TurnCompleted,
    RouteDecided,
    LlmCallStarted,
    LlmCallCompleted,
    LlmCallFailed,
    ToolCompleted,
    ToolFailed,
    ShellRan,
    FilesRestored,
    ProcessesReported,
    ContextElided,
    ContextCompacted,
    ContextHandedOver,
    BranchSelected,
    BranchSummarised,
    BranchMerged,
    EntryAdded,
)
"""The facts from which the conversations of a session can be built again."""


class Conversation:
    """The messages of a branch, and what its requests have of them; only `apply` changes it."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        self.overrides = overrides or Overrides()
        """What the user chose for single messages, on all branches."""
        self.messages: list[Message] = []
        """Messages in the order of their ids, which for tool results is the order of the calls."""
        self.leaf = ""
        """Id of the last entry, which the next message follows; empty without one."""
        self._sent: list[Message] = []
        self.compacted: Compacted | None = None
        """What requests have in place of the first messages."""
        self.entries: dict[str, EntryAdded] = {}
        """The last entry of each kind."""
        self._fleeting: set[str] = set()
        """Ids of messages that the next request has, and no other."""
        self._rejected_prompt: str | None = None
        """Id of the last prompt if every model rejected its content."""
        self.shortenings = 0
        """How often requests were changed to omit or replace something."""
        self.last_error: LlmCallFailed | None = None
        """The failed request that ended the last turn; None after a success."""
        self.last_turn_failed = False  # also if no model was usable
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
        self.found_tools: tuple[str, ...] = ()
        """The names that calls of `find_tools` found, in the order in which requests have them."""
        self.hand_over: ContextHandedOver | None = None
        """What the model did not get to which the conversation went last."""
        self.shrunk_after_overflow = False
        """Whether the last request exceeded the context window and the next one is shorter."""

    @property
    def sent(self) -> list[Message]:
        """The messages for requests, without messages for the user only and rejected prompts.

        A prompt that every model rejected can be retried until the next prompt; from then on it is
        omitted, since it would block every later turn. A summary is in place of what it replaces.
        """
        return self.overrides.use(self.selected)

    @property
    def selected(self) -> list[Message]:
        """As `sent`, before the user's overrides: with what they omit or truncate."""
        if self.compacted is not None:
            return self.compacted.shorten(self._sent)
        return self._sent.copy()  # because threads read it

    def sent_to(self, model_id: str) -> list[Message]:
        """Return the messages for requests to a model, with old tool outputs elided if needed."""
        through = self.elided_through.get(model_id)
        return elide_tool_outputs(self.sent, through, self.overrides.pinned)

    def use_overrides(self) -> None:
        """Update what depends on the overrides after one was changed."""
        self.shortenings += 1
        self.counted_replies.clear()  # they counted what is different now
        if self.compacted is not None:
            self.compacted = self.compacted.with_overrides(self.overrides)

    def apply(self, fact: AnyFact) -> None:
        """Update the conversation with a fact of its branch; silent calls have no part in it."""
        if is_silent(fact):
            return
        self.leaf = max(self.leaf, get_entry_id(fact))
        match fact:
            case TurnStarted(message=message):
                self.last_error, self.last_turn_failed = None, False
                self._add_prompt(message)
            case RouteDecided():
                is_rejected = is_rejected_for_content(fact)
                self._rejected_prompt = self._unanswered_prompt() if is_rejected else None
            case LlmCallStarted():
                self._trial_request = fact if fact.rejected_through else None
            case LlmCallCompleted():
                self._drop_fleeting()
                self._confirm_rejection(fact)
                self._add_reply(fact)
            case ToolCompleted(message=message):
                self.add_message(message)
                self._add_found_tools(fact)
            case LlmCallFailed(message=message):
                self.last_error, self.last_turn_failed = fact, True
                self.add_message(message)
                self.shrunk_after_overflow = self._shrink_after_overflow(fact)
            case (
                ShellRan(message=message)
                | TurnSteered(message=message)
                | FilesRestored(message=message)
                | ProcessesReported(message=message)
                | ToolFailed(message=message)
            ):
                self.add_message(message)
            case TurnCompleted(stop_reason=StopReason.ERROR):
                self.last_turn_failed = True
            case ContextHandedOver():
                self.hand_over = fact
            case ContextElided(model=model, through=through):
                self._elide(model, through)
            case ContextCompacted():
                self._compact(fact)
            case BranchSummarised():
                _insert_by_id(self._sent, build_summary(fact))
            case EntryAdded():
                self._add_entry(fact)
            case _:
                pass

    def merge(self, fact: BranchMerged, stored: Iterable[Message]) -> None:
        """Add copies of messages of other branches, which are among those in `stored`."""
        self.leaf = max(self.leaf, get_entry_id(fact))
        for message in build_copies(fact, stored):
            _insert_by_id(self._sent, message)

    def _add_found_tools(self, fact: ToolCompleted) -> None:
        if fact.tool_name == FIND_TOOLS:
            found = (fact.message.metadata.details or {}).get(FOUND, ())
            self.found_tools = tuple(dict.fromkeys((*self.found_tools, *found)))

    def _add_entry(self, fact: EntryAdded) -> None:
        self.entries[fact.kind] = fact
        if fact.reach != "session":
            _insert_by_id(self._sent, build_note(fact))
        if fact.reach == "next_request":
            self._fleeting.add(fact.id)

    def _drop_fleeting(self) -> None:
        """Omit what only the request had that is answered now."""
        if self._fleeting:
            self._sent = [each for each in self._sent if each.id not in self._fleeting]
            self._fleeting = set()
            self.shortenings += 1

    def _compact(self, fact: ContextCompacted) -> None:
        self.shortenings += 1
        self.compacted = build_compacted(fact, self._sent, self.compacted, self.overrides)
        self.context_tokens = fact.tokens_after
        self.counted_replies.clear()  # they counted what is replaced now

    def _confirm_rejection(self, reply: LlmCallCompleted) -> None:
        """Omit opaque blocks permanently after a request without them succeeded."""
        if (request := self._trial_request) is not None and request.rejected_through is not None:
            self.opaque_omitted_through[reply.model] = request.rejected_through
        self._trial_request = None

    def _shrink_after_overflow(self, failure: LlmCallFailed) -> bool:
        if failure.error_class != ErrorClass.CONTEXT_OVERFLOW:
            return False
        before = self.elided_through.get(failure.model)
        if (through := next_elision(self.sent, before, self.overrides.pinned)) is None:
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
            self._sent = [each for each in self._sent if each.id != self._rejected_prompt]
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
        extra = fact.usage_extra
        self.context_tokens = fact.usage.prompt_tokens + fact.usage.output_tokens
        if not (extra and extra.estimated):
            self.counted_replies[fact.model] = fact
        self.add_message(fact.message)

    def add_message(self, message: Message | None) -> None:
        """Add the message of a fact to the history; None if the fact has no message."""
        if message is None:
            return
        _insert_by_id(self.messages, message)
        if message.metadata.audience is not Audience.USER:
            _insert_by_id(self._sent, message)


def _insert_by_id(messages: list[Message], message: Message) -> None:
    if not messages or messages[-1].id < message.id:
        messages.append(message)
    else:
        bisect.insort(messages, message, key=lambda each: each.id)


def is_rejected_for_content(route: RouteDecided) -> bool:
    """Return whether no model was usable, at least one because of the conversation's content."""
    return route.chosen_model is None and any(
        each.validation_failure in _CONTENT_REJECTIONS for each in route.chain
    )
