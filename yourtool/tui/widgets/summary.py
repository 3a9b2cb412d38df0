"""What is said about a turn when it is over: figures, reasons, and what to do about a failure."""

from collections.abc import Sequence
from http import HTTPStatus

from yourtool.amounts import format_duration, format_money
from yourtool.errors import ErrorClass, ErrorCode
from yourtool.events import (
    LlmCallCompleted,
    LlmCallFailed,
    ProviderRecovered,
    ProviderUnavailable,
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
)
from yourtool.messages import StopReason
from yourtool.routing.availability import TRIGGER_TEXTS
from yourtool.tui.widgets.items import Footer

_EXPLICIT = {"per_message_override": "asked for in the message", "manual_sticky": "your choice"}

_HEADS: dict[str, str] = {
    ErrorClass.RATE_LIMIT: "Too many requests",
    ErrorClass.AUTH: "Not authorised",
    ErrorClass.SERVER_ERROR: "The provider failed",
    ErrorClass.NETWORK: "The connection failed",
    ErrorClass.CONTEXT_OVERFLOW: "The conversation is too long for this model",
    ErrorClass.INVALID_REQUEST: "The provider refused the request",
}

_CODE_HEADS: dict[str, str] = {
    ErrorCode.BILLING: "No credit or quota is left",
    ErrorCode.STALLED: "The provider fell silent",
    ErrorCode.CONTENT_FILTER: "The provider will not process this prompt",
}

_ADVICE: dict[str, str] = {
    ErrorClass.RATE_LIMIT: "Wait a little, or take another model with `/model`.",
    ErrorClass.AUTH: "`/key` takes a new key; `yourtool doctor` shows where this one is from.",
    ErrorClass.SERVER_ERROR: "This is the provider's fault; `/model` takes another one.",
    ErrorClass.NETWORK: "Check the connection and the address; `/model` takes another model.",
    ErrorClass.CONTEXT_OVERFLOW: "Start afresh with `/new`, or take a larger model with `/model`.",
    ErrorClass.INVALID_REQUEST: "Trying again unchanged will not help; `/model` takes another one.",
}

_CODE_ADVICE: dict[str, str] = {
    ErrorCode.BILLING: "Add credit at the provider, or take another one with `/model`.",
    ErrorCode.STALLED: "A slow server may need more than `limits.first_event_seconds` or"
    " `limits.content_seconds` in `config.toml` allow.",
    ErrorCode.CONTENT_FILTER: "Put it in other words, or take another model with `/model`.",
}

_STOPS: dict[StopReason, str] = {
    StopReason.MAX_TOKENS: "The reply was cut off: it reached the model's limit of output.",
    StopReason.REFUSAL: "The model refused to answer.",
    StopReason.CONTENT_FILTER: "The provider's content filter ended the reply.",
}

NO_MODEL = "`/model` lists what there is, and why some of it cannot serve."
"""What to do about a turn that no model can take."""


def obstacles(event: RouteDecided) -> str:
    """Return why each model that was considered cannot take a turn, a line each."""
    reasons = [
        f"{one.candidate_model}: {one.reason}"
        for one in event.chain
        if one.verdict == "rejected" and one.candidate_model
    ]
    return "\n".join(dict.fromkeys(reasons)) or "No model is configured."


def outage(event: ProviderUnavailable) -> str:
    """Return what is left out of routing now, one model or a provider with all of them, and why."""
    named = _named(event, event.models_affected)
    return (
        f"{named} left out of automatic choices for now: it {TRIGGER_TEXTS[event.trigger_reason]}"
    )


def recovery(event: ProviderRecovered) -> str:
    """Return what is in routing again."""
    return f"{_named(event, event.models_recovered)} back in use"


def _named(event: ProviderUnavailable | ProviderRecovered, models: Sequence[str]) -> str:
    if event.scope == "provider_wide":
        return f"All models of `{event.provider}` are"
    return f"{', '.join(f'`{model}`' for model in models)} is"


def headline(event: LlmCallFailed) -> str:
    """Return class, provider and status of a failure in one line."""
    what = _HEADS.get(event.error_class, "The request failed")
    what = _CODE_HEADS.get(event.error_code or "", what)
    number = event.provider_status
    status = f", HTTP {number}" if number and number != HTTPStatus.OK else ""
    return f"{what} · {event.error_class} · {event.provider}{status}"


def advice(event: LlmCallFailed, retry_key: str) -> str:
    """Return what the user can do about a failure."""
    way_out = _ADVICE.get(event.error_class, "`/model` takes another model.")
    way_out = _CODE_ADVICE.get(event.error_code or "", way_out)
    return f"{way_out} {retry_key} tries again." if retry_key else way_out


class TurnSummary:
    """The figures of one turn."""

    def __init__(self, before: "TurnSummary | None" = None) -> None:
        self.route: RouteDecided | None = None
        self.model = ""
        self._model_before = (before.model or before._model_before) if before else ""
        self._unpriced = False
        self._estimated = False
        self._last: LlmCallCompleted | None = None

    def add(self, event: LlmCallCompleted) -> None:
        """Count one request."""
        self._last = event
        self._count(event)

    def add_failure(self, event: LlmCallFailed) -> None:
        """Count what a request used that failed or was stopped."""
        if event.pricing_version is not None:
            self._count(event)

    def _count(self, event: LlmCallCompleted | LlmCallFailed) -> None:
        self.model = event.model
        if extra := event.usage_extra:
            self._unpriced |= extra.unpriced
            self._estimated |= extra.estimated

    def footer(self, event: TurnCompleted | TurnCancelled) -> Footer | None:
        """Return the line under the turn; None where nothing was asked of a model."""
        if isinstance(event, TurnCancelled):
            reason = {"user_cancel": "stopped by you", "timeout": "stopped: time is up"}
            words = reason.get(event.reason, "stopped: the program was closed")
            used = self._used(event) if event.total_input_tokens else []
            return Footer([*([self.model] if self.model else []), words, *used])
        if not self.model:
            return None
        parts = [self.model]
        if reason := self._reason():
            parts.append(reason)
        parts += self._used(event)
        if event.wall_time_seconds >= 0.05:
            parts.append(format_duration(event.wall_time_seconds))
        return Footer(parts, _STOPS.get(event.stop_reason, "") or self._oddity())

    def _oddity(self) -> str:
        """Say what is wrong with a last reply that came whole and is none."""
        if self._last is None:
            return ""
        message = self._last.message
        if self._last.stop_reason is StopReason.ERROR:
            told = f" ({message.metadata.stop_detail})" if message.metadata.stop_detail else ""
            return f"The provider ended the reply with an error{told}. `/retry` asks again."
        if not message.text.strip() and not message.tool_uses:
            return "The model said nothing. `/retry` asks again."
        return ""

    def _used(self, event: TurnCompleted | TurnCancelled) -> list[str]:
        tokens = f"{event.total_input_tokens:,} in, {event.total_output_tokens:,} out"
        return [f"~{tokens}" if self._estimated else tokens, self._cost(event)]

    def _cost(self, event: TurnCompleted | TurnCancelled) -> str:
        if self._unpriced:
            known = f"{format_money(event.total_cost_usd)} + " if event.total_cost_usd else ""
            return f"{known}unpriced"
        return format_money(event.total_cost_usd)

    def _reason(self) -> str:
        """Say why the turn went to its model, where the route was chosen or is not as before."""
        chain = self.route.chain if self.route else ()
        winner = next((one for one in chain if one.verdict == "chose"), None)
        if winner is not None and winner.policy in _EXPLICIT:
            return _EXPLICIT[winner.policy]
        if winner is not None and self._model_before and self._model_before != self.model:
            return f"changed: {winner.reason}"
        return ""
