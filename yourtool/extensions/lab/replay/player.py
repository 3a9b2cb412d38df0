"""Player of a recorded session."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.estimates import RequestEstimates
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.agent.routes.routing_rules import examine_rules
from yourtool.agent.routes.session_routes import Routes
from yourtool.agent.session_environment import (
    Place,
    SessionEnvironment,
    SessionRequests,
    SessionSpending,
    SessionUser,
)
from yourtool.agent.turn import loop
from yourtool.agent.turn.turn import ProjectOffers, Turn, TurnCounts, TurnMeans, TurnPrompt
from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.events.branches import BranchMerged
from yourtool.events.catalog import AnyFact, message_of
from yourtool.events.model_calls import LlmCallFailed, is_silent
from yourtool.events.sessions import SessionCreated
from yourtool.events.turns import TurnStarted
from yourtool.extensions.lab.replay.mocks import (
    ReplayedHooks,
    ReplayedModel,
    ReplayedTools,
    UncountedCalls,
)
from yourtool.extensions.lab.replay.recording import GivenFact, RecordedTurn, read_recording
from yourtool.foundation.masking import Mask
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, PromptMessage, Role, now
from yourtool.messages.metadata import RoutingDecisionRecord, RoutingMode
from yourtool.models import AdapterCapabilities, Model
from yourtool.paths import Paths
from yourtool.permissions.gate import Gate
from yourtool.permissions.rules import RuleSet
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.stored_prices import StoredPrices
from yourtool.providers.registry import Registry
from yourtool.routing.availability import Availability
from yourtool.settings.agent_config import ContextConfig, Limits
from yourtool.settings.config import Config, Mode
from yourtool.settings.credentials import Credentials
from yourtool.store.forks import facts_until, map_references
from yourtool.store.markdown import to_markdown
from yourtool.tools.toolset import ToolSnapshot
from yourtool.tools.workspace.file_reads import FileReads
from yourtool.tools.workspace.workspace import Workspace

_PRICES = "replay"
_CAPABILITIES = AdapterCapabilities(
    supports_thinking=True,
    supports_images=True,
    supports_audio=True,
    supports_documents=True,
    max_context_tokens=10**9,
    accepted_image_media_types=("image/png", "image/jpeg", "image/gif", "image/webp"),
    max_images=10**6,
    many_images=10**6,
    max_file_bytes=10**9,
    max_request_bytes=10**9,
)
_LIMITS = Limits(
    max_requests_per_turn=10**9, max_cost_per_turn_usd=Decimal(10**9), tool_concurrency=64
)
_NO_ROUTE = "the model of the recording"


class Replay(Struct, frozen=True):
    """What a replay did, to be compared with the recording."""

    recorded: bytes
    """The transcript of the recording."""
    replayed: bytes
    turns: int
    requests: int
    tool_calls: int

    @property
    def is_same(self) -> bool:
        """Whether both transcripts have the same bytes."""
        return self.recorded == self.replayed

    @property
    def difference(self) -> tuple[int, str, str] | None:
        """The first line that differs, from 1, as recorded and as replayed."""
        if self.is_same:
            return None
        old, new = (text.decode().split("\n") for text in (self.recorded, self.replayed))
        at = next(
            (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
            min(len(old), len(new)),
        )
        return at + 1, "".join(old[at : at + 1]), "".join(new[at : at + 1])


async def replay(facts: Sequence[AnyFact], scratch: Path) -> Replay:
    """Play the finished turns of a session; sends nothing, runs no tool, stores nothing.

    `scratch`: an empty directory, with the attachments of the session in `blobs`.
    """
    recorded = facts_until(facts)
    player = _Player(recorded, scratch)
    for each in read_recording(recorded):
        if isinstance(each, RecordedTurn):
            await player.play(each)
        else:
            await player.repeat(each)
    return Replay(
        _format(recorded),
        _format(_with_times(player.log.facts, recorded)),
        player.state.turn_count,
        player.requests,
        player.tool_calls,
    )


class _Log:
    """The facts of the replay, in memory."""

    def __init__(self, tools: ReplayedTools) -> None:
        self.facts: list[AnyFact] = []
        self._tools = tools

    async def append(self, *facts: AnyFact) -> None:
        self.facts += facts
        for fact in facts:
            self._tools.observe(fact)

    async def save_partial(self, end: LlmCallFailed) -> None:
        """Store nothing: a replay is never resumed."""

    async def replay(self, session_id: str, callback: Callable[[AnyFact], object]) -> None:
        for fact in self.facts:
            callback(fact)


class _Player:
    """A session without a store, whose turns get stored replies and results."""

    def __init__(self, recorded: Sequence[AnyFact], scratch: Path) -> None:
        messages = [message for message in map(message_of, recorded) if message is not None]
        names = {call.name for message in messages for call in message.tool_uses}
        self.state = State()
        self._model = ReplayedModel(self.state)
        self._tools = ReplayedTools(names, self._model)
        self.log = _Log(self._tools)
        self._record = Recorder(self.log, recorded[0].session_id, self.state)
        self._session_id = recorded[0].session_id
        self._env = _build_environment(self._model, self._tools, scratch)
        self._ids: dict[str, str] = {}
        """Ids of entries in the replay, by those in the recording."""
        self.requests = self.tool_calls = 0

    async def repeat(self, fact: GivenFact) -> None:
        """Record a fact as it is, with the ids of the replay."""
        if isinstance(fact, BranchMerged):
            self._ids |= {each.id: new_id() for each in fact.merged}
        own = replace(self._with_message(fact), **self._map_references(fact))
        self._ids[fact.id] = (await self._record(own)).id

    def _map_references(self, fact: AnyFact) -> dict[str, object]:
        return map_references(fact, lambda old: self._ids.get(old, old))

    def _with_message(self, fact: GivenFact | TurnStarted) -> AnyFact:
        if (message := message_of(fact)) is None:
            return fact
        self._ids[message.id] = new_id()
        own = replace(message, id=self._ids[message.id], session_id=self._session_id)
        return replace(fact, **{"message": own})

    async def play(self, recorded: RecordedTurn) -> None:
        """Run the loop of a turn with the stored replies."""
        self._record.turn_id = new_id()
        before = len(self.log.facts) + 1
        started = await self._record(self._with_message(recorded.started))
        if recorded.route is not None:
            await self._record(recorded.route, parent=started.id)
        if not recorded.steps:
            unused, is_stopped = TurnCounts(), recorded.route is None
            ended = unused.build_cancelled() if is_stopped else unused.build_completed()
            await self._record(ended)
        else:
            self._model.begin(recorded)
            self._tools.begin(recorded.steps)
            turn = self._build_turn(recorded, started.id)
            await loop.run_turn(turn)
            self.requests += turn.counts.requests
            self.tool_calls += turn.counts.tool_calls
        self._record.turn_id = None
        added = [message_of(fact) for fact in self.log.facts[before:] if not is_silent(fact)]
        ids = sorted(message.id for message in added if message is not None)
        old = (message.id for message in recorded.messages)
        self._ids |= dict(zip(old, ids, strict=False))

    def _build_turn(self, recorded: RecordedTurn, root: str) -> Turn:
        env, message = self._env, recorded.steps[0].reply.message
        chosen = recorded.route.chosen_model if recorded.route is not None else None
        model = env.routes.catalogue.get(chosen or recorded.steps[0].reply.model)
        routing = message.metadata.routing if message is not None else None
        return Turn(
            session_id=self._session_id,
            state=self.state,
            channel=Channel(self._record),
            interrupt=Interrupt(),
            env=env,
            model=replace(model, capabilities=_CAPABILITIES),
            means=TurnMeans(
                self._model, self._tools.toolbox, routing or _build_routing(model), effort=None
            ),
            prompt=TurnPrompt((), self._build_situation),
            project=ProjectOffers(lambda: None, lambda: None, lambda _paths: ([], [])),
            reads=FileReads(),
            root=root,
            parent=root,
            counts=TurnCounts(repeated=UncountedCalls()),
        )

    def _build_situation(self) -> Message:
        return PromptMessage(
            id="system-0",
            session_id=self._session_id,
            role=Role.SYSTEM,
            content=(TextBlock("This is a replay."),),
            created_at=now(),
        )


def _build_environment(
    model: ReplayedModel, tools: ReplayedTools, scratch: Path
) -> SessionEnvironment:
    """Return an environment without settings and keys, in an empty directory."""
    workspace, spill = scratch / "work", scratch / "spill"
    for directory in (workspace, spill):
        directory.mkdir(exist_ok=True)
    paths = Paths(*(scratch / name for name in ("home", "data", "state", "cache")))
    registry = Registry(Config(), Credentials(paths, {}), {}, interactive=False)
    snapshot, catalogue = ToolSnapshot(tools.toolbox), Catalogue((), _PRICES)
    estimates = RequestEstimates(catalogue, snapshot, ())
    no_rules = examine_rules(scratch / "routing.toml", workspace, str, None)
    return SessionEnvironment(
        place=Place(
            workspace=Workspace(workspace, (spill,)),
            project=workspace,
            spill=spill,
            blobs=scratch / "blobs",
            mask=Mask,
        ),
        user=SessionUser(_decline, interactive=False, steering=model.steer),
        requests=SessionRequests(
            registry=registry, estimates=estimates, context=ContextConfig(make_room_at=0)
        ),
        spending=SessionSpending(
            limits=_LIMITS, prices=StoredPrices(paths.price_tables, catalogue)
        ),
        routes=Routes(registry, Availability(), estimates, no_rules),
        tools=snapshot,
        gate=Gate(RuleSet(), Mode.AUTO),
        hooks=ReplayedHooks(model),
    )


async def _decline(_confirmation: Confirmation) -> Decision:
    """Decline what is asked: a replay has no user."""
    return Decision(verdict=Verdict.DENY)


def _build_routing(model: Model) -> RoutingDecisionRecord:
    return RoutingDecisionRecord(mode=RoutingMode.DEFAULT, chosen_model=model.id, reason=_NO_ROUTE)


def _with_times(facts: Sequence[AnyFact], recorded: Sequence[AnyFact]) -> Sequence[AnyFact]:
    """Return the facts with the times of the recording, which a replay does not repeat."""
    times = [
        message.created_at
        for fact in recorded
        if not is_silent(fact) and (message := message_of(fact)) is not None
    ]
    start = next((fact for fact in recorded if isinstance(fact, SessionCreated)), None)
    timed, waiting = list[AnyFact](), iter(times)
    for fact in facts:
        if isinstance(fact, SessionCreated) and start is not None:
            fact = replace(fact, timestamp=start.timestamp)
        message = None if is_silent(fact) else message_of(fact)
        if message is not None and (moment := next(waiting, None)) is not None:
            fact = replace(fact, **{"message": replace(message, created_at=moment)})
        timed.append(fact)
    return timed


def _format(facts: Sequence[AnyFact]) -> bytes:
    return b"".join(to_markdown(facts, str))
