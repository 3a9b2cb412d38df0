"""Texts about a finished turn.

They cover its figures, routing reasons, failures and advice.
"""

from yourtool.errors import ErrorClass, ErrorCode
from yourtool.events.model_calls import LlmCallCompleted, LlmCallEnd, LlmCallFailed
from yourtool.events.turns import (
    ProviderRecovered,
    ProviderUnavailable,
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
)
from yourtool.foundation.amounts import format_duration, format_money
from yourtool.messages.metadata import StopReason
from yourtool.routing.availability import TRIGGER_TEXTS
from yourtool.tui.transcript.items import FooterItem

_SUCCESS = 200
"""The HTTP status that is not shown."""
_CHOSEN = "chosen for the session"
_EXPLICIT_REASONS = {
    "per_message_override": "`@model` in this message",
    "manual_sticky": _CHOSEN,
}

_HEADS: dict[str, str] = {
    ErrorClass.RATE_LIMIT: "Too many requests",
    ErrorClass.AUTH: "Not authorised",
    ErrorClass.SERVER_ERROR: "The provider failed",
    ErrorClass.NETWORK: "The connection failed",
    ErrorClass.CONTEXT_OVERFLOW: "The conversation is too long for this model",
    ErrorClass.INVALID_REQUEST: "The provider refused the request",
}

_CODE_HEADS: dict[str, str] = {
    ErrorCode.BILLING: "No credit or quota left",
    ErrorCode.STALLED: "The provider stopped responding",
    ErrorCode.OVERLOADED: "The provider has too much to do",
    ErrorCode.CONTENT_FILTER: "The provider refused to process this prompt",
}

_ADVICE: dict[str, str] = {
    ErrorClass.RATE_LIMIT: "Wait a moment, or switch models with `/model`.",
    ErrorClass.AUTH: "`/key` sets a new key; `yourtool doctor` shows where this one is from.",
    ErrorClass.SERVER_ERROR: "The fault is at the provider; `/model` switches models.",
    ErrorClass.NETWORK: "Check the connection and the address, or switch models with `/model`.",
    ErrorClass.CONTEXT_OVERFLOW: "Start a new session with `/new`, or switch to a larger model.",
    ErrorClass.INVALID_REQUEST: "An unchanged retry will not help; `/model` switches models.",
}

_CODE_ADVICE: dict[str, str] = {
    ErrorCode.BILLING: "Add credit at the provider, or switch models with `/model`.",
    ErrorCode.STALLED: "For a slow server, raise `limits.first_event_seconds` or"
    " `limits.content_seconds` in `config.toml`.",
    ErrorCode.CONTENT_FILTER: "Rephrase the prompt, or switch models with `/model`.",
}

_STOP_WARNINGS: dict[StopReason, str] = {
    StopReason.MAX_TOKENS: "The reply was cut off: it reached the output limit.",
    StopReason.REFUSAL: "The model refused to answer.",
    StopReason.CONTENT_FILTER: "The provider's content filter ended the reply.",
}

NO_MODEL_ADVICE = "`/models` shows which are available and why others are not."
"""Advice for a message without an available model."""


def format_rejections(event: RouteDecided) -> str:
    """Return the reasons why the considered models were rejected, one per line."""
    reasons = [
        f"{one.candidate_model}: {one.reason}"
        for one in event.chain
        if one.verdict == "rejected" and one.candidate_model
    ]
    return "\n".join(dict.fromkeys(reasons)) or "No model is configured."


def format_outage(event: ProviderUnavailable) -> str:
    """Return which model or provider is excluded from routing, and why."""
    reason = TRIGGER_TEXTS[event.trigger_reason]
    if event.scope == "provider_wide":
        return f"`{event.provider}` {reason}. Automatic choices skip its models for now."
    models = ", ".join(f"`{model}`" for model in event.models_affected)
    return f"{models} {reason}. Automatic choices skip it for now."


def format_recovery(event: ProviderRecovered) -> str:
    """Return which model or provider is available again."""
    if event.scope == "provider_wide":
        return f"All models of `{event.provider}` are available again"
    return f"{', '.join(f'`{model}`' for model in event.models_recovered)} is available again"


def format_headline(event: LlmCallFailed) -> str:
    """Return error class, provider and HTTP status of a failure in one line."""
    what = _HEADS.get(event.error_class, "The request failed")
    what = _CODE_HEADS.get(event.error_code or "", what)
    number = event.provider_status
    status = f", HTTP {number}" if number and number != _SUCCESS else ""
    return f"{what} · {event.error_class} · {event.provider}{status}"


def get_advice(event: LlmCallFailed, retry_key: str) -> str:
    """Return what the user can do about a failure."""
    next_step = _ADVICE.get(event.error_class, "`/model` switches models.")
    next_step = _CODE_ADVICE.get(event.error_code or "", next_step)
    return f"{next_step} {retry_key} retries." if retry_key else next_step


class TurnSummary:
    """The figures of one turn."""

    def __init__(self, before: "TurnSummary | None" = None) -> None:
        self.route: RouteDecided | None = None
        self.model = ""
        self._model_before = (before.model or before._model_before) if before else ""
        self._unpriced = False
        self._estimated = False
        self._last: LlmCallCompleted | None = None

    def add_request(self, event: LlmCallCompleted) -> None:
        """Add a completed request."""
        self._last = event
        self._count(event)

    def add_failure(self, event: LlmCallFailed) -> None:
        """Add the usage of a request that failed or was stopped."""
        if event.usage is not None:
            self._count(event)

    def _count(self, event: LlmCallEnd) -> None:
        self.model = event.model
        if extra := event.usage_extra:
            self._unpriced |= extra.unpriced
            self._estimated |= extra.estimated

    def footer(self, event: TurnCompleted | TurnCancelled) -> FooterItem | None:
        """Return the line under the turn; None if no model was called."""
        if isinstance(event, TurnCancelled):
            reason = {"user_cancel": "stopped by you", "timeout": "stopped: time limit reached"}
            stop = reason.get(event.reason, "stopped: the program was closed")
            used = self._usage_parts(event) if event.total_input_tokens else []
            return FooterItem([*self._describe_choice(), stop, *used])
        if not self.model:
            return None
        parts = [*self._describe_choice(), *self._usage_parts(event)]
        if event.wall_time_seconds >= 0.05:
            parts.append(format_duration(event.wall_time_seconds))
        warning = _STOP_WARNINGS.get(event.stop_reason, "") or self._reply_warning()
        return FooterItem(parts, warning) if parts or warning else None

    def _reply_warning(self) -> str:
        """Return a warning about a last reply that ended with an error or is empty."""
        if self._last is None:
            return ""
        message = self._last.message
        if self._last.stop_reason is StopReason.ERROR:
            detail = f" ({message.metadata.stop_detail})" if message.metadata.stop_detail else ""
            return f"The provider ended the reply with an error{detail}. `/retry` retries."
        if not message.text.strip() and not message.tool_uses:
            return "The reply is empty. `/retry` retries."
        return ""

    def _usage_parts(self, event: TurnCompleted | TurnCancelled) -> list[str]:
        """Return the cost; the tokens if the price is not known."""
        about = "~" if self._estimated else ""
        cost = f"{about}{format_money(event.total_cost_usd)}" if event.total_cost_usd else ""
        if not self._unpriced:
            return [cost] if cost else []
        tokens = f"{about}{event.total_input_tokens:,} in, {event.total_output_tokens:,} out"
        return [tokens, *([f"{cost} + unpriced"] if cost else [])]

    def _describe_choice(self) -> list[str]:
        """Return the model and why it answered, if that is not what the user expects."""
        if self.model in ("", self._model_before):
            return []
        chain = self.route.chain if self.route else ()
        winner = next((one for one in chain if one.verdict == "chose"), None)
        reason = ""
        if winner is not None:
            rule = f"rule {winner.rule_name}" if winner.rule_name else ""
            changed = f"changed: {winner.reason}" if self._model_before else ""
            reason = _EXPLICIT_REASONS.get(winner.policy) or rule or changed
        is_expected = not self._model_before and reason in ("", _CHOSEN)
        return [] if is_expected else [self.model, *([reason] if reason else [])]
