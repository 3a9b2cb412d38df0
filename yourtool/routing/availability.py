"""Outage state of models and providers.

A model that the user requests is tried anyway (`router.decide`), and a success ends the outage.

A failed request counts once, however many attempts it took. Cancelled, invalid and too large
requests do not indicate an outage and are not counted.
"""

import time
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct, field

from yourtool.errors import ErrorClass
from yourtool.events.turns import ProviderRecovered, ProviderUnavailable
from yourtool.foundation.amounts import format_duration
from yourtool.models import ModelId

MAX_FAILURES = 5
"""Consecutive failures that make a model unavailable."""
FAILURE_WINDOW = 120.0
MAX_MODELS_DOWN = 3
"""Unavailable models that make their provider unavailable."""
MAX_NETWORK_ERRORS = 2
"""Network errors that make a provider unavailable."""
NETWORK_WINDOW = 30.0
OUTAGE_EXPIRY = 300.0
"""Seconds without an attempt after which an outage expires."""

IGNORED_ERRORS = frozenset(
    {ErrorClass.CANCELLED, ErrorClass.INVALID_REQUEST, ErrorClass.CONTEXT_OVERFLOW}
)

Trigger = Literal["5_consecutive_failures", "auth_error", "dns_error", "multi_model_failures"]

TRIGGER_TEXTS: Mapping[Trigger, str] = {
    "5_consecutive_failures": f"failed {MAX_FAILURES} times in a row",
    "auth_error": "refused the key",
    "dns_error": f"could not be reached, or broke off, {MAX_NETWORK_ERRORS} times"
    f" within {format_duration(NETWORK_WINDOW)}",
    "multi_model_failures": f"failed with {MAX_MODELS_DOWN} of its models",
}
"""Reasons of an outage, as the predicate of a sentence about the model or provider."""
_UNAVAILABLE_FOR = "marked unavailable for automatic choices for"


class _State(Struct):
    failures: list[float] = field(default_factory=list[float])
    """Times of consecutive failures; of a provider, of its network errors."""
    down_since: float | None = None
    trigger: Trigger = "5_consecutive_failures"
    last_attempt: float = 0.0

    def fail(self, at: float, *, within: float) -> int:
        self.last_attempt = at
        self.failures = [*(when for when in self.failures if at - when <= within), at]
        return len(self.failures)


class Availability:
    """Recent failures of all models; one per process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._models: dict[str, _State] = {}
        self._providers: dict[str, _State] = {}

    def record_failure(
        self, model_id: str, error_class: ErrorClass
    ) -> tuple[ProviderUnavailable, ...]:
        """Count a failed request; return the outages that it causes."""
        if error_class in IGNORED_ERRORS:
            return ()
        at, provider = self._clock(), ModelId.parse(model_id).provider
        self._expire(at)
        state = self._models.setdefault(model_id, _State())
        whole = self._providers.setdefault(provider, _State())
        whole.last_attempt = at
        strikes = state.fail(at, within=FAILURE_WINDOW)
        broken = error_class is ErrorClass.NETWORK
        network_errors = whole.fail(at, within=NETWORK_WINDOW) if broken else 0
        outages: list[ProviderUnavailable] = []
        if strikes >= MAX_FAILURES and state.down_since is None:
            state.down_since = at
            outages.append(_outage(provider, (model_id,), state.trigger))
        trigger: Trigger | None = None
        if error_class is ErrorClass.AUTH:
            trigger = "auth_error"
        elif network_errors >= MAX_NETWORK_ERRORS:
            trigger = "dns_error"
        elif len(self._models_down(provider, since=at - FAILURE_WINDOW)) >= MAX_MODELS_DOWN:
            trigger = "multi_model_failures"
        if trigger is not None and whole.down_since is None:
            whole.down_since, whole.trigger = at, trigger
            outages.append(_outage(provider, self._tracked_models(provider), trigger, whole=True))
        return tuple(outages)

    def record_success(self, model_id: str) -> tuple[ProviderRecovered, ...]:
        """End the outages of a model and its provider; return the recoveries."""
        at, provider = self._clock(), ModelId.parse(model_id).provider
        recoveries: list[ProviderRecovered] = []
        state = self._models.pop(model_id, None)
        if state and state.down_since is not None:
            recoveries.append(_recovered(provider, (model_id,), at - state.down_since))
        whole = self._providers.pop(provider, None)
        if whole and whole.down_since is not None:
            models = tuple(sorted({model_id, *self._tracked_models(provider)}))
            recoveries.append(_recovered(provider, models, at - whole.down_since, whole=True))
        return tuple(recoveries)

    def reset(self, provider: str) -> None:
        """Clear the state of a provider, after a change of its key or address."""
        self._providers.pop(provider, None)
        for model_id in self._tracked_models(provider):
            del self._models[model_id]

    def expire(self) -> tuple[ProviderRecovered, ...]:
        """End outages without an attempt for five minutes; return the recoveries."""
        return self._expire(self._clock())

    def outage_reason(self, model_id: str) -> str | None:
        """Return why automatic choices skip a model; None: it is available."""
        at, provider = self._clock(), ModelId.parse(model_id).provider
        whole, state = self._providers.get(provider), self._models.get(model_id)
        if whole and whole.down_since is not None and at - whole.last_attempt < OUTAGE_EXPIRY:
            wait = format_duration(round(OUTAGE_EXPIRY - (at - whole.last_attempt)))
            return f"`{provider}` {TRIGGER_TEXTS[whole.trigger]} ({_UNAVAILABLE_FOR} {wait})"
        if state and state.down_since is not None and at - state.last_attempt < OUTAGE_EXPIRY:
            wait = format_duration(round(OUTAGE_EXPIRY - (at - state.last_attempt)))
            return f"`{model_id}` {TRIGGER_TEXTS[state.trigger]} ({_UNAVAILABLE_FOR} {wait})"
        return None

    def _tracked_models(self, provider: str) -> tuple[str, ...]:
        return tuple(sorted(name for name in self._models if name.startswith(f"{provider}:")))

    def _models_down(self, provider: str, *, since: float) -> list[str]:
        return [
            name
            for name in self._tracked_models(provider)
            if (when := self._models[name].down_since) is not None and when >= since
        ]

    def _expire(self, at: float) -> tuple[ProviderRecovered, ...]:
        recoveries: list[ProviderRecovered] = []
        for provider, state in list(self._providers.items()):
            if at - state.last_attempt >= OUTAGE_EXPIRY:
                del self._providers[provider]
                if state.down_since is not None:
                    models = self._tracked_models(provider)
                    recoveries.append(
                        _recovered(provider, models, at - state.down_since, whole=True)
                    )
        for model_id, state in list(self._models.items()):
            if at - state.last_attempt >= OUTAGE_EXPIRY:
                del self._models[model_id]
                if state.down_since is not None:
                    provider = ModelId.parse(model_id).provider
                    recoveries.append(_recovered(provider, (model_id,), at - state.down_since))
        return tuple(recoveries)


def _outage(
    provider: str, models: tuple[str, ...], trigger: Trigger, *, whole: bool = False
) -> ProviderUnavailable:
    return ProviderUnavailable(
        provider=provider,
        scope="provider_wide" if whole else "model_specific",
        models_affected=models,
        trigger_reason=trigger,
    )


def _recovered(
    provider: str, models: tuple[str, ...], downtime: float, *, whole: bool = False
) -> ProviderRecovered:
    return ProviderRecovered(
        provider=provider,
        scope="provider_wide" if whole else "model_specific",
        models_recovered=models,
        downtime_seconds=downtime,
    )
