"""Result object and exit code of a run."""

import time
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from yourtool.errors import (
    AdapterError,
    ConfigError,
    ErrorClass,
    SessionNotFoundError,
    ToolFailure,
    UnknownModelError,
    UsageError,
    YourtoolError,
)
from yourtool.events.branches import EntryAdded
from yourtool.events.catalog import Event
from yourtool.events.context import ContextCompacted
from yourtool.events.delegation import DelegateCompleted, DelegateFailed
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed, LlmCallStarted
from yourtool.events.tools import ToolCompleted, ToolConfirmationRequested, ToolFailed
from yourtool.events.turns import RouteDecided, TurnCancelled, TurnCompleted, TurnStarted
from yourtool.foundation.masking import NO_KEYS, Mask
from yourtool.messages.blocks import (
    ContentBlock,
    MediaBlock,
    ToolUseBlock,
    canonical_json,
    iter_blocks,
)
from yourtool.messages.metadata import RoutingDecisionRecord, StopReason
from yourtool.process.memory import SHORTAGE, is_shortage


class ExitCode(IntEnum):
    """Exit codes; 75 is `EX_TEMPFAIL` of sysexits, 141 what shells report after SIGPIPE."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    DENIED = 3
    NO_MODEL = 4
    LIMIT = 5
    RETRYABLE = 75
    INTERRUPTED = 130
    NO_READER = 141


class NoModelError(YourtoolError):
    """No model is available: no key, or no model that supports the prompt."""


class TokenCounts(Struct, frozen=True, kw_only=True):
    """Tokens of all requests of the turn, in disjoint buckets."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class RunFailure(Struct, frozen=True, kw_only=True):
    """Why the exit code is not 0."""

    error_class: str = field(name="class")
    status: int | None = None
    """HTTP status, if there is one."""
    message: str
    retryable: bool = False


class Denial(Struct, frozen=True, kw_only=True):
    """A denied tool call: it was not approved, or a rule or the approval mode forbids it."""

    tool_name: str
    tool_use_id: str
    input_summary: str
    rule: str | None = None
    """The first of the `rules`."""
    rules: tuple[str, ...] = ()
    """Rules for `--allow` that together allow the call; empty if a rule or the mode forbids it, or
    if it needs an approval every time."""
    reason: str = ""
    """Why, as the model learns it."""


class ReplyMedia(Struct, frozen=True, kw_only=True):
    """An image, audio or a document that a call of the turn returned."""

    type: str
    media_type: str
    source: str
    """A URL, `sha256:<hex>` of a stored attachment, or a path relative to the workspace."""


class ReplyPayload(Struct, frozen=True, kw_only=True):
    """The reply as a message for other programs."""

    message_id: str | None = None
    text: str = ""
    media: tuple[ReplyMedia, ...] = ()
    reply_to_id: str | None = None
    """Id of the prompt; None for a retry, whose prompt an earlier run sent."""
    is_error: bool = False


class Result(Struct, frozen=True, kw_only=True, tag_field="type", tag="result"):
    """The object that `--output-format json` prints; fields are only ever added."""

    session_id: str | None = None
    turn_id: str | None = None
    result: str = ""
    reply: ReplyPayload = ReplyPayload()
    stop_reason: str | None = None
    model: str | None = None
    provider: str | None = None
    routing: RoutingDecisionRecord | None = None
    usage: TokenCounts = TokenCounts()
    cost_usd: Decimal = Decimal(0)
    """Cost of the requests with a known price."""
    unpriced_requests: int = 0
    """Number of requests with an unknown price, which `cost_usd` does not include."""
    reported_cost_usd: Decimal | None = None
    """Cost as reported by providers; None if none reported it."""
    pricing_version: str = ""
    num_requests: int = 0
    duration_ms: int = 0
    is_error: bool
    error: RunFailure | None
    permission_denials: tuple[Denial, ...] = ()
    data: Mapping[str, Any] | UnsetType = UNSET
    """The values of the result of a command, such as the findings of `/review`."""
    exit_code: ExitCode


class Outcome:
    """The result of one turn, updated with each of its events in order."""

    def __init__(self, mask: Mask = NO_KEYS) -> None:
        """`mask` removes keys from the arguments of denied calls."""
        self._mask = mask
        self._started_at = time.monotonic()
        self._turn_id: str | None = None
        self._text = ""
        self._prompt_id: str | None = None
        self._media = dict[ReplyMedia, None]()
        self._stop: StopReason | None = None
        self._model: str | None = None
        self._provider: str | None = None
        self._last: LlmCallCompleted | None = None
        self._failed: LlmCallFailed | None = None
        self._no_route = False
        self._error_notices: list[str] = []
        self._calls: dict[str, ToolUseBlock] = {}
        self._rules: dict[str, tuple[str, ...]] = {}
        self._denials: list[Denial] = []
        self._usage = TokenCounts()
        self._cost = Decimal(0)
        self._pricing_version = ""
        self._unpriced = 0
        self._reported: Decimal | None = None
        self._requests = 0
        self._data: Mapping[str, Any] | UnsetType = UNSET
        self._exception_outcome: tuple[ExitCode, RunFailure] | None = None

    def apply(self, event: Event) -> None:
        """Update the result with an event."""
        match event:
            case TurnStarted(turn_id=turn_id, message=prompt):
                self._turn_id = turn_id
                self._prompt_id = prompt.id if prompt is not None else None
            case RouteDecided():
                self._no_route = event.chosen_model is None
            case LlmCallStarted(model=model, provider=provider):
                self._requests += 1
                self._model, self._provider = model, provider
            case LlmCallCompleted():
                self._apply_completed(event)
            case LlmCallFailed(message=message):
                self._failed = event
                self._add_usage(event)
                self._text = message.text if message is not None else self._text
            case ContextCompacted(cost_usd=Decimal() as cost):
                self._cost += cost
            case ToolConfirmationRequested(tool_use_id=call, rules=rules):
                self._rules[call] = rules or ()
            case ToolFailed(tool_name="propose_plan", error_class=ToolFailure.CANCELLED):
                self._text = self._get_plan(event.tool_use_id) or self._text
            case ToolFailed(error_class=failure) if failure in _DENIAL_CLASSES:
                rules = self._rules.get(event.tool_use_id, ())
                self._denials.append(_build_denial(event, self._calls, rules, self._mask))
            case ToolCompleted(message=message):
                self._media |= dict.fromkeys(_list_media(message.content))
            case TurnCompleted(stop_reason=reason):
                self._stop = reason
            case TurnCancelled():
                self._stop = StopReason.CANCELLED
            case DelegateCompleted(total_cost_usd=cost) | DelegateFailed(total_cost_usd=cost):
                self._cost += cost
                self._unpriced += event.unpriced
            case EntryAdded(text=text, data=Mapping() as data):
                self._text, self._data = text, data
                self._stop = self._stop or StopReason.END_TURN
            case Notice(level="error", text=text):
                self._error_notices.append(text)
            case _:
                pass

    def fail(self, error: BaseException, log_file: Path | None = None) -> None:
        """Record the exception that ended the turn; `log_file` has the details of a bug."""
        self._exception_outcome = _failure_from_exception(error, log_file)

    def result(self, session_id: str, limit: str | None = None) -> Result:
        """Return the result; `limit` describes the hard limit that stopped the turn."""
        code, error = self._exit_code_and_failure(limit)
        metadata = self._last.message.metadata if self._last is not None else None
        return Result(
            session_id=session_id,
            turn_id=self._turn_id,
            result=self._text,
            reply=ReplyPayload(
                message_id=self._last.message.id if self._last is not None else None,
                text=self._text,
                media=tuple(self._media),
                reply_to_id=self._prompt_id,
                is_error=code is not ExitCode.ANSWERED,
            ),
            stop_reason=self._stop,
            model=self._model,
            provider=self._provider,
            routing=metadata.routing if metadata else None,
            usage=self._usage,
            cost_usd=self._cost,
            unpriced_requests=self._unpriced,
            reported_cost_usd=self._reported,
            pricing_version=self._pricing_version,
            num_requests=self._requests,
            duration_ms=round((time.monotonic() - self._started_at) * 1000),
            is_error=code is not ExitCode.ANSWERED,
            error=error,
            permission_denials=tuple(self._denials),
            data=self._data,
            exit_code=code,
        )

    def _get_plan(self, tool_use_id: str) -> str:
        """Return the plan of a call that no user could approve."""
        call = self._calls.get(tool_use_id)
        plan = call.input.get("plan") if call is not None else None
        return self._mask.text(plan) if isinstance(plan, str) else ""

    def _apply_completed(self, fact: LlmCallCompleted) -> None:
        self._last, self._failed, self._text = fact, None, fact.message.text
        self._calls |= {call.id: call for call in fact.message.tool_uses}
        self._add_usage(fact)

    def _add_usage(self, fact: LlmCallEnd) -> None:
        """Add the usage and cost of a request or an attempt."""
        if (usage := fact.usage) is None:
            return
        self._cost += usage.cost_usd
        self._pricing_version = usage.pricing_version or self._pricing_version
        if extra := fact.usage_extra:
            self._unpriced += extra.unpriced
            if extra.reported_cost_usd is not None:
                self._reported = (self._reported or Decimal(0)) + extra.reported_cost_usd
        self._usage = TokenCounts(
            **{
                name: getattr(self._usage, name) + getattr(usage, name)
                for name in TokenCounts.__struct_fields__
            }
        )

    def _exit_code_and_failure(self, limit: str | None) -> tuple[ExitCode, RunFailure | None]:
        if self._exception_outcome is not None:
            return self._exception_outcome
        if self._stop is StopReason.CANCELLED:
            return ExitCode.INTERRUPTED, RunFailure(error_class="cancelled", message="Interrupted.")
        if limit is not None:
            return ExitCode.LIMIT, RunFailure(error_class="limit", message=limit)
        if self._no_route:
            message = "\n".join(self._error_notices) or "No available model for this message."
            return ExitCode.NO_MODEL, RunFailure(error_class="routing_failed", message=message)
        if self._failed is not None:
            return _exit_code_for_request(self._failed), RunFailure(
                error_class=self._failed.error_class,
                status=self._failed.provider_status,
                message=self._failed.error_message_redacted,
                retryable=self._failed.retryable,
            )
        if self._stop is None or self._stop is StopReason.ERROR:
            message = "\n".join(self._error_notices) or "The turn ended without an answer."
            return ExitCode.FAILED, RunFailure(error_class="other", message=message)
        if self._denials and self._data is UNSET:
            tools = dict.fromkeys(f"`{denial.tool_name}`" for denial in self._denials)
            message = f"denied: {', '.join(tools)}"
            return ExitCode.DENIED, RunFailure(error_class="permission_denied", message=message)
        return ExitCode.ANSWERED, None


def _list_media(content: Iterable[ContentBlock]) -> Iterator[ReplyMedia]:
    for block in iter_blocks(content):
        if isinstance(block, MediaBlock) and block.source.kind != "base64":
            kind = str(type(block).__struct_config__.tag)
            yield ReplyMedia(type=kind, media_type=block.media_type, source=block.source.data)


def result_without_turn(error: BaseException, log_file: Path | None = None) -> Result:
    """Return the result of a run that failed before its turn started."""
    code, failure = _failure_from_exception(error, log_file)
    return Result(is_error=True, error=failure, exit_code=code, reply=ReplyPayload(is_error=True))


def _failure_from_exception(
    error: BaseException, log_file: Path | None
) -> tuple[ExitCode, RunFailure]:
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED, RunFailure(error_class="cancelled", message="Interrupted.")
    if is_shortage(error):
        return ExitCode.FAILED, RunFailure(error_class="out_of_memory", message=SHORTAGE)
    if not isinstance(error, YourtoolError):
        details = f"; see `{log_file}`" if log_file else ""
        message = f"internal error{details}"
        return ExitCode.FAILED, RunFailure(error_class="internal", message=message)
    code = exit_code_for(error)
    names = {ExitCode.USAGE: "usage", ExitCode.NO_MODEL: "routing_failed"}
    return code, RunFailure(
        error_class=error.error_class
        if isinstance(error, AdapterError)
        else names.get(code, "other"),
        status=error.status if isinstance(error, AdapterError) else None,
        message=str(error),
        retryable=code is ExitCode.RETRYABLE,
    )


def exit_code_for(error: YourtoolError) -> ExitCode:
    """Return the exit code of an error that ended a command."""
    match error:
        case NoModelError():
            return ExitCode.NO_MODEL
        case UsageError() | ConfigError() | UnknownModelError() | SessionNotFoundError():
            return ExitCode.USAGE
        case AdapterError(retryable=True):
            return ExitCode.RETRYABLE
        case _:
            return ExitCode.FAILED


_TEMPORARY_ERRORS = (ErrorClass.RATE_LIMIT, ErrorClass.SERVER_ERROR, ErrorClass.NETWORK)


def _exit_code_for_request(failed: LlmCallFailed) -> ExitCode:
    is_temporary = failed.retryable or failed.error_class in _TEMPORARY_ERRORS
    return ExitCode.RETRYABLE if is_temporary else ExitCode.FAILED


_DENIAL_CLASSES = (ToolFailure.USER_DENIED, ToolFailure.CONFIRMATION_TIMEOUT)
_MAX_SUMMARY_CHARACTERS = 200
"""Limit for the arguments of a denied call."""
_MAX_REASON_CHARACTERS = 500


def _build_denial(
    fact: ToolFailed, calls: Mapping[str, ToolUseBlock], rules: tuple[str, ...], mask: Mask
) -> Denial:
    call = calls.get(fact.tool_use_id)
    arguments = canonical_json(call.input).decode() if call else ""
    return Denial(
        tool_name=fact.tool_name,
        tool_use_id=fact.tool_use_id,
        input_summary=mask.slice(arguments, 0, _MAX_SUMMARY_CHARACTERS),
        rule=rules[0] if rules else None,
        rules=rules,
        reason=mask.slice(fact.error_message, 0, _MAX_REASON_CHARACTERS),
    )
