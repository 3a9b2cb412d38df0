"""A real session over a real store and real tools; only the model is scripted."""

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.validator.validate import errors, validate
from yourtool import extensions
from yourtool.agent.history.estimates import RequestEstimates
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.repair import repair_session
from yourtool.agent.history.state import State
from yourtool.agent.routes.routing_rules import DefaultModels, RoutingRules
from yourtool.agent.routes.session_routes import Routes
from yourtool.agent.session.project.project_trust import is_trusted
from yourtool.agent.session.session import Session
from yourtool.agent.session_environment import (
    Budget,
    Place,
    SessionEnvironment,
    SessionRequests,
    SessionSpending,
    SessionUser,
)
from yourtool.effects import Confirmation, Decision, ToolDefinition, Verdict
from yourtool.events.catalog import Event
from yourtool.events.deltas import StreamEvent
from yourtool.events.facts import Fact
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import SessionCreated
from yourtool.events.turns import RoutingSnapshot
from yourtool.foundation.amounts import Spending
from yourtool.foundation.masking import Mask
from yourtool.ids import new_session_id
from yourtool.messages.message import Message
from yourtool.models import AdapterCapabilities, Model, Price
from yourtool.permissions.gate import Gate
from yourtool.permissions.rules import RuleSet
from yourtool.providers.base import Adapter, Request
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.stored_prices import StoredPrices
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.encoded_history import EncodedHistory
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.routing.availability import Availability
from yourtool.settings.agent_config import Limits, RoutingConfig
from yourtool.settings.config import Mode
from yourtool.store.forks import workspace_hash
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.toolset import Tool, Toolbox, Toolset, ToolSnapshot
from yourtool.tools.workspace.workspace import Workspace

PRICE = Price(input_per_mtok_usd=Decimal(3), output_per_mtok_usd=Decimal(15))
MODEL = Model(
    id="anthropic:test",
    wire_name="test",
    aliases=("test",),
    price=PRICE,
    capabilities=AdapterCapabilities(
        supports_images=True,
        supports_thinking=True,
        max_context_tokens=200_000,
        max_output_tokens=4_096,
        accepted_image_media_types=("image/png",),
    ),
)
OTHER = Model(id="openai:other", wire_name="other", aliases=("other",), price=PRICE,
              capabilities=MODEL.capabilities)  # fmt: skip
BLIND = Model(id="openai:blind", wire_name="blind", aliases=("blind",), price=PRICE,
              capabilities=AdapterCapabilities(max_context_tokens=100_000))  # fmt: skip
SMALL = Model(id="openai:small", wire_name="small", aliases=("small",), price=PRICE,
              capabilities=AdapterCapabilities(max_context_tokens=1_500))  # fmt: skip
PLAIN = Model(id="ollama:plain", wire_name="plain", aliases=("plain",), price=PRICE,
              capabilities=AdapterCapabilities(supports_tools=False))  # fmt: skip

NARROW = Model(id="openai:narrow", wire_name="narrow", aliases=("narrow",), price=PRICE,
               capabilities=replace(MODEL.capabilities, supports_documents=True, max_images=2,
                                    max_file_bytes=2**20))  # fmt: skip


class Checked:
    """An adapter that lets through only what both providers would accept."""

    def __init__(self, inner: Adapter) -> None:
        self.inner = inner
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(request)
        sent, anew = MessagesDialect().to_wire(request).body, _encode_anew(request)
        assert sent == anew["anthropic"]
        problems = _find_problems(anew)
        assert not problems, problems
        async with aclosing(self.inner.stream(request)) as events:
            async for event in events:
                yield event

    def encode_ahead(self, request: Request) -> None:
        self.inner.encode_ahead(request)

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition]
    ) -> int:
        return self.inner.estimate_input_tokens(messages, tools)

    async def close(self) -> None:
        await self.inner.close()


class OneAdapter:
    """Stands for the registry: every provider is configured, and all are the same adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self.only = adapter

    def adapter(self, model: Model) -> Adapter:
        del model
        return self.only

    def prepare(self, model: Model) -> None:
        del model

    def configuration_problem(self, provider: str) -> str | None:
        return "no key for `nokey`" if provider == "nokey" else None

    def find_problem(self, model: Model) -> str | None:
        return self.configuration_problem(model.provider)

    def is_agent(self, model: Model) -> bool:
        del model
        return False

    def providers(self) -> tuple[Any, ...]:
        return ()

    def spec(self, provider: str) -> None:
        return None


class User:
    """Answers questions from a list, then with the last answer; keeps what was asked."""

    def __init__(self, *answers: Decision | Callable[[Confirmation], Decision]) -> None:
        self._answers = list(answers) or [Decision(verdict=Verdict.ALLOW)]
        self.asked: list[Confirmation] = []

    async def __call__(self, confirmation: Confirmation) -> Decision:
        self.asked.append(confirmation)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer if isinstance(answer, Decision) else answer(confirmation)


NO_RULES, LIMITS, NO_KEYS = RuleSet(), Limits(max_retries=0), Mask()
NO_SETTINGS: Mapping[str, Any] = {}
BUILT_IN = default_toolbox()
"""Of all sessions: what the dialects made of its schemas is remembered by their identity."""
DEFAULTS = DefaultModels(None, MODEL.id)
ALLOW, DENY = Decision(verdict=Verdict.ALLOW), Decision(verdict=Verdict.DENY)


class Bench:
    """Makes sessions over one database and one workspace."""

    def __init__(self, root: Path, store: Any = None) -> None:
        self.root = root
        self.workspace = root / "work"
        self.workspace.mkdir(exist_ok=True)
        self.database = Database(root / "data" / "sessions.db")
        self.store: Any = store or SqliteStore(self.database)
        self.availability = Availability()
        self.learning: RoutingConfig | None = None
        """The settings of learned routing; None: it is off."""
        self.catalogue = Catalogue([MODEL, OTHER, BLIND, SMALL, PLAIN, NARROW], "2026-01-01")

    def rules(self, defaults: DefaultModels) -> RoutingRules:
        """Return the rules in `routing.toml` of the bench, which can be missing."""

        async def spent_today() -> Spending:
            return await self.store.spending_since(datetime.now(UTC) - timedelta(hours=1))

        def resolve(name: str) -> str:
            return self.catalogue.resolve(name).id

        file = self.root / "routing.toml"
        return RoutingRules(file, self.workspace.resolve(), resolve, spent_today, dict, defaults)

    async def session(
        self,
        adapter: Adapter,
        *,
        confirm: Any = None,
        resume: str | None = None,
        mode: Mode = Mode.ASK,
        rules: RuleSet = NO_RULES,
        limits: Limits = LIMITS,
        tools: Iterable[Tool] | None = None,
        toolset: Toolset | None = None,
        max_requests: int | None = None,
        max_cost: Decimal | None = None,
        interactive: bool = True,
        settings: Mapping[str, Any] = NO_SETTINGS,
        defaults: DefaultModels = DEFAULTS,
        mask: Mask = NO_KEYS,
    ) -> Session:
        adapter = adapter if isinstance(adapter, Checked) else Checked(adapter)
        session_id = resume or new_session_id()
        if toolset is None:
            toolset = BUILT_IN if tools is None else Toolbox(tools)
        registry: Any = OneAdapter(adapter)
        state = State()
        record = Recorder(self.store, session_id, state)
        tool_ids = ToolIdMap()
        if resume is None:
            await record(
                SessionCreated(
                    workspace_path=str(self.workspace),
                    workspace_hash=workspace_hash(self.workspace),
                )
            )
        else:
            for fact in await self.store.read(resume):
                state.apply(fact)
            tool_ids = ToolIdMap(await self.store.provider_call_ids(resume))
            partial = await self.store.read_partial(resume)
            await repair_session(state, record, session_id, self.store.read, partial)
        spill = self.root / "spill"
        spill.mkdir(exist_ok=True)
        snapshot = ToolSnapshot(toolset)
        estimates = RequestEstimates(self.catalogue, snapshot, ())
        routes = Routes(registry, self.availability, estimates, self.rules(defaults))
        if self.learning is not None:
            workspace = str(self.workspace.resolve())
            routes.learned = extensions.open_learned_routes(self.store, workspace, self.learning)

        def build(part: Any, **given: Any) -> Any:
            """Return a part of the environment with those of the settings that it has."""
            return part(
                **given, **{k: settings[k] for k in settings if k in part.__struct_fields__}
            )

        env = build(
            SessionEnvironment,
            place=build(
                Place,
                workspace=Workspace(self.workspace, (spill,)),
                project=self.workspace,
                spill=spill,
                blobs=self.root / "blobs",
                mask=lambda: mask,
            ),
            user=build(SessionUser, confirm=confirm or User(), interactive=interactive),
            requests=build(
                SessionRequests, registry=registry, estimates=estimates, tool_ids=tool_ids
            ),
            spending=build(
                SessionSpending,
                limits=limits,
                budget=Budget(max_requests=max_requests, max_cost=max_cost),
                prices=StoredPrices(self.root / "data" / "prices", self.catalogue),
            ),
            routes=routes,
            tools=snapshot,
            gate=Gate(rules, mode, is_trusted=is_trusted(self.workspace)),
        )
        return Session(session_id, state, record, self.store.lease(session_id), env)

    async def close(self) -> None:
        await self.store.close()


async def play(events: AsyncGenerator[Event, None]) -> list[Event]:
    """Consume a verb of a session to its end."""
    async with aclosing(events):
        return [event async for event in events]


def names(events: Iterable[Event]) -> list[str]:
    """Return the catalog names of the facts among events, without notices and deltas.

    The settings that decide are omitted; they precede the first turn and call of every session.
    """
    return [
        event.__struct_config__.tag
        for event in events
        if isinstance(event, Fact) and not isinstance(event, PolicySnapshot | RoutingSnapshot)
    ]


def wire_problems(request: Request) -> list[str]:
    """Return what either provider would refuse about a request."""
    return _find_problems(_encode_anew(request))


def _encode_anew(request: Request) -> dict[str, bytes]:
    """Return the body for either provider, without what the last request encoded."""
    request = replace(request, encoded_history=EncodedHistory())
    speakers = {"anthropic": MessagesDialect(), "openai": ChatDialect()}
    return {name: speaker.to_wire(request).body for name, speaker in speakers.items()}


def _find_problems(bodies: Mapping[str, bytes]) -> list[str]:
    found = list[str]()
    for name, api in (("anthropic", "messages"), ("openai", "chat")):
        body = json.loads(bodies[name])
        found += [str(problem) for problem in errors(validate(name, api, body))]
    return found
