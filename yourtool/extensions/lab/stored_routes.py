"""Stored routing decisions under other conditions.

Each turn is decided on its own, with what was spent before it: the replies of another model do not
exist. Decisions in copies, which a fork or an import made, belong to the session that made them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from yourtool.agent.routes.route_records import COST, SKILLS, restore_turn
from yourtool.events.catalog import AnyFact
from yourtool.events.sessions import (
    SessionCreated,
    SessionExtended,
    SessionForked,
    SessionImported,
)
from yourtool.events.turns import (
    PolicyEvaluation,
    RouteDecided,
    RoutingPolicyChanged,
    RoutingSnapshot,
    TurnStarted,
)
from yourtool.extensions.lab.remade_routes import LoadedRules, RouteMaker, StoredSettings
from yourtool.extensions.lab.route_costs import COPIES, PriceChange, RequestPrices
from yourtool.messages.blocks import canonical_json
from yourtool.models import Model, Price
from yourtool.routing.policy import Policy
from yourtool.routing.predicates import ConditionError
from yourtool.routing.situation import ModelStatus
from yourtool.store.base import SessionStore

_KINDS = (
    SessionCreated,
    *COPIES,
    TurnStarted,
    RoutingPolicyChanged,
    RoutingSnapshot,
    RouteDecided,
)
_UNRECORDED = "an older version stored them without what they were based on"
_NO_RULES = "their rules are not stored"
_NOTHING = canonical_json({})
"""The document of no rules."""
_NO_SKILLS = "the rules test skills, and it is not stored which of them matched"


class ReplaySettings(Struct, frozen=True, kw_only=True):
    """What replaces the stored rules, prices and windows."""

    find_status: Callable[[str], ModelStatus]
    """Returns what is known today about a model, for those of which the session knew nothing."""
    find_price: Callable[[str], Price | None]
    build_policy: Callable[[str], Policy] | None = None
    """By the path of a workspace; None: the stored rules."""
    find_model: Callable[[str], Model] | None = None
    """By id, with other windows and capabilities; None: the stored ones."""
    has_other_prices: bool = False
    """Whether requests to the same model have another price too."""


class RouteStep(Struct, frozen=True, kw_only=True):
    """The step of a chain that decided; the last one if the chain chose no model."""

    model: str | None
    slot: str
    rule_name: str | None
    reason: str


class ChangedRoute(Struct, frozen=True, kw_only=True):
    """A turn with another model, or with the same one by another step or rule."""

    session_id: str
    turn_id: str | None
    at: datetime
    old: RouteStep
    new: RouteStep
    old_cost_usd: Decimal
    """Of the requests of the turn, without `unpriced_requests`."""
    new_cost_usd: Decimal
    """The price of the same tokens; only for requests that the turn sent."""
    requests: int
    unpriced_requests: int
    """Requests whose old or new price is unknown."""


class SkippedRoutes(Struct, frozen=True, kw_only=True):
    """Decisions of a session that cannot be made again."""

    session_id: str
    decisions: int
    reason: str


class RouteReplay(Struct, frozen=True, kw_only=True):
    """What would have changed, and what it would have cost."""

    decisions: int
    """Decisions that were made again."""
    identical: int
    """Those whose chain is the same, with every step and reason."""
    changes: tuple[ChangedRoute, ...]
    old_cost_usd: Decimal
    """Of the changed turns, as in `ChangedRoute`; with other prices, of all turns."""
    new_cost_usd: Decimal
    unpriced_requests: int
    skipped: tuple[SkippedRoutes, ...]


async def replay_routes(
    store: SessionStore, settings: ReplaySettings, since: datetime | None = None
) -> RouteReplay:
    """Decide again about every stored turn since a time, without a model.

    Raises:
        StoreError: the store cannot be read.
    """
    prices = RequestPrices(settings.find_price, is_other=settings.has_other_prices)
    if settings.build_policy is not None or settings.has_other_prices:
        await prices.load(store)
    reader = _Reader(settings, prices, since)
    await store.read_kinds(_KINDS, reader.read)
    made = [turn for turn in reader.turns if not turn.problem]
    changed = [turn for turn in made if turn.is_changed]
    if changed:
        await prices.load(store)
    priced = [(turn, turn.price(prices)) for turn in changed]
    costs = [price for _, price in priced]
    if settings.has_other_prices:
        costs += [turn.price(prices) for turn in made if not turn.is_changed]
    return RouteReplay(
        decisions=len(made),
        identical=sum(turn.is_identical for turn in made),
        changes=tuple(_build_change(turn, price) for turn, price in priced),
        old_cost_usd=sum((each.old for each in costs), Decimal(0)),
        new_cost_usd=sum((each.new for each in costs), Decimal(0)),
        unpriced_requests=sum(each.unpriced_requests for each in costs),
        skipped=tuple(_count_skipped(reader.turns)),
    )


class _Turn(Struct, frozen=True, kw_only=True):
    """A stored decision and the one that replaces it."""

    session_id: str
    turn_id: str | None
    at: datetime
    old: RouteStep
    new: RouteStep
    """The same as `old` if it cannot be made again."""
    problem: str = ""
    """Why it cannot."""
    is_identical: bool = False

    @property
    def is_changed(self) -> bool:
        return (self.old.model, self.old.slot, self.old.rule_name) != (
            self.new.model,
            self.new.slot,
            self.new.rule_name,
        )

    def price(self, prices: RequestPrices) -> PriceChange:
        return prices.compare(self.turn_id, self.old.model, self.new.model)


class _Reader:
    """Decides again while it reads; the facts of a session follow each other."""

    def __init__(
        self, settings: ReplaySettings, prices: RequestPrices, since: datetime | None
    ) -> None:
        self.turns: list[_Turn] = []
        self._settings, self._prices, self._since = settings, prices, since
        self._first, self._prompt = 0, ""
        self._documents: dict[str, bytes] = {}  # of the session, by version
        self._loaded: dict[str, StoredSettings] = {}  # of the session, by digest
        self._built: dict[str, LoadedRules] = {}  # by workspace
        self._restore_rules = cache(_restore_rules)
        self._maker = RouteMaker(settings.find_status, settings.find_model)

    def read(self, fact: AnyFact) -> None:
        match fact:
            case SessionCreated():
                self._first, self._prompt = len(self.turns), ""
                self._documents.clear()
                self._loaded.clear()
            case SessionForked() | SessionImported() | SessionExtended():
                del self.turns[self._first :]
            case TurnStarted(message=message):
                self._prompt = message.text if message is not None else ""
            case RoutingPolicyChanged(version=version, policy=document):
                self._documents[version] = (
                    _NOTHING if document is UNSET else canonical_json(document)
                )
            case RoutingSnapshot(settings=settings):
                self._loaded[settings] = self._maker.load(fact)
            case RouteDecided():
                if self._since is None or fact.timestamp >= self._since:
                    self.turns.append(self._decide(fact))
            case _:
                pass

    def _decide(self, fact: RouteDecided) -> _Turn:
        old = _find_step(fact.chain, fact.winner_index)
        turn = _Turn(
            session_id=fact.session_id, turn_id=fact.turn_id, at=fact.timestamp, old=old, new=old
        )
        inputs = fact.inputs
        stored = None if inputs is UNSET else self._loaded.get(inputs.settings)
        if inputs is UNSET or stored is None:
            return replace(turn, problem=_UNRECORDED)
        if (rules := self._find_rules(stored.snapshot)) is None:
            return replace(turn, problem=_NO_RULES)
        if inputs.skills is None and SKILLS in rules.predicates:
            return replace(turn, problem=_NO_SKILLS)
        tested = restore_turn(inputs, stored.snapshot, self._prompt)
        is_spent_known = inputs.spent_today is not None and not self._settings.has_other_prices
        if COST in rules.predicates and not is_spent_known:
            tested = replace(tested, spent_today=self._prices.find_spending(fact.timestamp))
        decided = self._maker.decide(rules, stored, inputs, tested)
        new = _find_step(decided.chain, decided.winner_index)
        return replace(turn, new=new, is_identical=decided.chain == _without_advice(fact.chain))

    def _find_rules(self, snapshot: RoutingSnapshot) -> LoadedRules | None:
        """Return the rules of a decision; None: they cannot be read."""
        if (build := self._settings.build_policy) is not None:
            if (found := self._built.get(snapshot.workspace)) is None:
                found = LoadedRules(build(snapshot.workspace))
                self._built[snapshot.workspace] = found
            return found
        if snapshot.policy and snapshot.policy not in self._documents:
            return None
        return self._restore_rules(self._documents.get(snapshot.policy, _NOTHING))


def _restore_rules(document: bytes) -> LoadedRules | None:
    try:
        return LoadedRules(Policy.from_document(msgspec.json.decode(document)))
    except (ConditionError, LookupError, TypeError):
        return None


def _find_step(chain: Sequence[PolicyEvaluation], winner: int) -> RouteStep:
    """Return the step that decided; what another program exported can be inconsistent."""
    if not chain:
        return RouteStep(model=None, slot="", rule_name=None, reason="")
    has_winner = 0 <= winner < len(chain)
    step = chain[winner] if has_winner else chain[-1]
    return RouteStep(
        model=step.candidate_model if has_winner else None,
        slot=step.policy,
        rule_name=step.rule_name,
        reason=step.reason,
    )


def _build_change(turn: _Turn, priced: PriceChange) -> ChangedRoute:
    return ChangedRoute(
        session_id=turn.session_id,
        turn_id=turn.turn_id,
        at=turn.at,
        old=turn.old,
        new=turn.new,
        old_cost_usd=priced.old,
        new_cost_usd=priced.new,
        requests=priced.requests,
        unpriced_requests=priced.unpriced_requests,
    )


def _count_skipped(turns: Iterable[_Turn]) -> Iterator[SkippedRoutes]:
    counts = Counter((each.session_id, each.problem) for each in turns if each.problem)
    for (session_id, reason), count in counts.items():
        yield SkippedRoutes(session_id=session_id, decisions=count, reason=reason)


def _without_advice(chain: Sequence[PolicyEvaluation]) -> tuple[PolicyEvaluation, ...]:
    """Return the steps up to the one that decided; a recommendation can follow it."""
    return tuple(step for step in chain if step.verdict != "deferred")
