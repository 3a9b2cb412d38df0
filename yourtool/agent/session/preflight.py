"""Preflight of a swap.

It estimates the lost content, the missing capabilities and the cost of another model. Everything is
estimated from the stored session; nothing is sent and nothing is stored.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from math import inf
from typing import NamedTuple

from yourtool.agent.history.estimates import RequestEstimates
from yourtool.agent.history.state import State
from yourtool.agent.routes.session_routes import Routes
from yourtool.errors import SwapRefusedError
from yourtool.events.context import LeftOut
from yourtool.events.deltas import TokenUsage
from yourtool.foundation.amounts import format_money, format_tokens
from yourtool.models import CacheRetention, Effort, Model
from yourtool.providers.base import FileRoots
from yourtool.providers.catalogue.agents import describe_hand_over
from yourtool.providers.dropped_blocks import DropList
from yourtool.providers.prices import cost
from yourtool.providers.registry import Registry
from yourtool.providers.requests.attachment_limits import fit_attachments
from yourtool.providers.requests.placeholders import find_unsupported_media
from yourtool.providers.requests.reasoning_effort import describe_effort_change
from yourtool.providers.requests.request_view import build_request_view
from yourtool.routing.router import RejectionCode
from yourtool.settings.config import ThinkingOnSwap

EXTRA_COST = Decimal("0.05")
"""US dollars that the next request may cost more without a question."""
_CACHE_LIFE = {
    "none": timedelta(0),
    "short": timedelta(minutes=5),
    "long": timedelta(hours=1),
}
"""How long providers keep a prefix at least after it was read
(https://docs.claude.com/en/docs/build-with-claude/prompt-caching)."""
_MEDIA = {"image": "image", "audio": "audio file", "document": "document"}
"""Names of the blocks of media."""
_REASONING = ("thinking", "redacted thinking")


class PreflightSettings(NamedTuple):
    """What requests depend on besides the facts of the session."""

    places: FileRoots
    effort: Effort | None = None
    thinking_on_swap: ThinkingOnSwap = "drop"
    retention: CacheRetention = "short"
    make_room_at: int = 0
    """Percent of the context window from which on a conversation is shortened; 0: never."""


class Consequence(NamedTuple):
    """One thing that a swap changes."""

    subject: str
    text: str
    is_stake: bool = False
    """Whether something is lost, refused or costs more than without the swap."""


class ExpectedRequest(NamedTuple):
    """The next request of the session, if a model gets it."""

    model: Model
    tokens: int
    """Estimated, of the prompt."""
    cached: int
    """Those of them that are probably in the provider's cache."""
    left_out: tuple[LeftOut, ...]
    """The blocks of the conversation that it does not have."""

    @property
    def cost(self) -> Decimal | None:
        """The cost of the prompt in US dollars; None: the price is not known."""
        usage = TokenUsage(
            input_tokens=self.tokens - self.cached,
            output_tokens=0,
            cached_input_tokens=self.cached,
        )
        return cost(usage, self.model.price)


class Preflight(NamedTuple):
    """What a swap would change."""

    active: Model
    target: Model
    consequences: tuple[Consequence, ...]
    left_out: tuple[LeftOut, ...]
    """The blocks that the active model gets and the other one does not."""
    refusal: SwapRefusedError | None
    """Why the other model cannot continue the session as it is."""
    needs_room: bool
    """Whether old messages would have to be summarised."""

    @property
    def is_at_stake(self) -> bool:
        """Whether the user is asked before the swap."""
        return self.refusal is not None or any(each.is_stake for each in self.consequences)

    def can_make_room(self, *, is_busy: bool) -> bool:
        """Return whether a summary of old messages helps; a running turn prevents one."""
        refused = self.refusal
        too_long = refused is None or refused.code == RejectionCode.EXCEEDS_CONTEXT_WINDOW
        return self.needs_room and too_long and not is_busy

    def has_remedy(self, *, is_busy: bool) -> bool:
        """Return whether a refused swap is possible in another way."""
        return self.can_make_room(is_busy=is_busy) or bool(self.refusal and self.refusal.media)


class Preflights:
    """Examines swaps of one session."""

    def __init__(
        self, state: State, registry: Registry, routes: Routes, estimates: RequestEstimates
    ) -> None:
        self._state = state
        self._registry = registry
        self._routes = routes
        self._estimates = estimates

    def examine(self, name: str, settings: PreflightSettings, at: datetime) -> Preflight:
        """Return what a swap to a model would change; can process the entire history.

        Raises:
            UnknownModelError: no model, or more than one, has this name.
        """
        state, refusal = self._state, None
        active = self._routes.expected_model(state)
        target = self._routes.catalogue.resolve(name)
        try:
            self._routes.swap_target(name, state)
        except SwapRefusedError as error:
            refusal = error
        stay, swap = (self._predict(each, settings, at) for each in (active, target))
        can_call, is_used = (each.capabilities.supports_tools for each in (target, active))
        loses_tools = is_used and not can_call and self._estimates.has_tools
        is_other = bool(state.conversation) and target.id != active.id
        consequences = _compare(stay, swap, settings, loses_tools=loses_tools) if is_other else ()
        if target.id != active.id and self._registry.is_agent(target):
            lines = describe_hand_over(has_conversation=is_other)
            consequences = (*consequences, *(Consequence("agent", line) for line in lines))
        code = None if refusal is None else refusal.code
        return Preflight(
            active=active,
            target=target,
            consequences=tuple(consequences),
            left_out=_list_lost(stay, swap),
            refusal=refusal,
            needs_room=code == RejectionCode.EXCEEDS_CONTEXT_WINDOW or _is_long(swap, settings),
        )

    def _predict(self, model: Model, settings: PreflightSettings, at: datetime) -> ExpectedRequest:
        tokens = self._estimates.total(self._state, model.id)
        return ExpectedRequest(
            model,
            tokens,
            min(tokens, self._count_cached(model, settings.retention, at)),
            tuple(self._find_left_out(model, settings)),
        )

    def _find_left_out(self, model: Model, settings: PreflightSettings) -> list[LeftOut]:
        row, dropped = self._registry.spec(model.provider), DropList()
        view = build_request_view(
            self._state.conversation_for(model.id),
            model,
            settings.thinking_on_swap,
            row.api if row else None,
            self._state.branch.opaque_omitted_through.get(model.id),
            dropped,
        )
        fit_attachments(view, model, settings.places, dropped)
        return [*find_unsupported_media(view, model), *dropped.found]

    def _count_cached(self, model: Model, retention: CacheRetention, at: datetime) -> int:
        """Return the tokens that the provider has in its cache, as far as its replies show."""
        last = self._state.branch.counted_replies.get(model.id)
        if last is None or at - last.timestamp > _CACHE_LIFE[retention]:
            return 0
        usage = last.usage
        is_cached = bool(usage.cached_input_tokens or usage.cache_creation_input_tokens)
        return usage.prompt_tokens if is_cached else 0


def _compare(
    stay: ExpectedRequest, swap: ExpectedRequest, settings: PreflightSettings, *, loses_tools: bool
) -> Iterator[Consequence]:
    """Yield what differs between the next request to the active model and to the other one."""
    lost = _list_lost(stay, swap)
    yield _compare_context(stay, swap, settings)
    yield from _describe_lost_media(lost)
    if loses_tools:
        text = "it cannot call them: it reads, changes and runs nothing"
        yield Consequence("tools", text, is_stake=True)
    if (effort := describe_effort_change(swap.model, settings.effort)) is not None:
        is_new = describe_effort_change(stay.model, settings.effort) is None
        yield Consequence("effort", effort, is_stake=is_new)
    if reasoning := sum(each.kind in _REASONING for each in lost):
        blocks = _count(reasoning, "block")
        yield Consequence("reasoning", f"{blocks} that only `{stay.model.id}` can read, not sent")
    if (uncached := stay.cached - swap.cached) > 0:
        yield Consequence("cache", f"{format_tokens(uncached)} tokens are read again without it")
    yield _compare_prices(stay, swap)


def _compare_context(
    stay: ExpectedRequest, swap: ExpectedRequest, settings: PreflightSettings
) -> Consequence:
    text = f"{_format_fit(swap)}; now {_format_fit(stay)}"
    if swap.tokens > (swap.model.window or inf):
        return Consequence("context", f"{text}: too long", is_stake=True)
    if _is_long(swap, settings):
        is_new = not _is_long(stay, settings)
        return Consequence("context", f"{text}: the next prompt makes room first", is_new)
    return Consequence("context", text)


def _describe_lost_media(lost: Sequence[LeftOut]) -> Iterator[Consequence]:
    for (kind, reason), count in Counter((each.kind, each.reason) for each in lost).items():
        if kind in _MEDIA:
            text = f"{_count(count, _MEDIA[kind])} not sent: {reason}"
            yield Consequence(f"{_MEDIA[kind]}s", text, is_stake=True)


def _compare_prices(stay: ExpectedRequest, swap: ExpectedRequest) -> Consequence:
    extra = None if stay.cost is None or swap.cost is None else swap.cost - stay.cost
    text = f"{_format_cost(swap)} for the next prompt; now {_format_cost(stay)}"
    return Consequence("price", text, is_stake=extra is not None and extra >= EXTRA_COST)


def _list_lost(stay: ExpectedRequest, swap: ExpectedRequest) -> tuple[LeftOut, ...]:
    """Return the blocks that only the request to the active model has."""
    missing = Counter((each.message_id, each.kind) for each in stay.left_out)
    lost = list[LeftOut]()
    for each in swap.left_out:
        if missing[each.message_id, each.kind]:
            missing[each.message_id, each.kind] -= 1
        else:
            lost.append(each)
    return tuple(lost)


def _is_long(request: ExpectedRequest, settings: PreflightSettings) -> bool:
    share = settings.make_room_at
    return bool(share) and request.tokens * 100 >= (request.model.window or inf) * share


def _format_fit(request: ExpectedRequest) -> str:
    window = request.model.window
    size = "unknown" if window is None else format_tokens(window)
    return f"{format_tokens(request.tokens)} of {size} tokens"


def _format_cost(request: ExpectedRequest) -> str:
    return "not known" if request.cost is None else format_money(request.cost)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
