"""A scripted core with the interfaces that the screen uses."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

from tests.store.memory import find_end
from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.space import SpaceWait
from yourtool.agent.history.state import State
from yourtool.agent.input.mentioned_files import MentionedFiles
from yourtool.agent.session.guidance import Guidance
from yourtool.agent.session.preflight import Preflight
from yourtool.agent.session.processes import SessionProcesses
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.effects import Confirmation, Decision, Preview, SideEffects, Steering, no_steering
from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.deltas import MessageStart, Notice, TextDelta
from yourtool.events.facts import Fact
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed
from yourtool.events.sessions import SessionEffortSelected, SessionModelSelected
from yourtool.events.turns import (
    PolicyEvaluation,
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
    TurnSteered,
)
from yourtool.foundation.amounts import Spending
from yourtool.foundation.masking import Mask
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.blocks import ContentBlock, DocumentBlock, TextBlock
from yourtool.messages.message import MESSAGE_TYPES, METADATA_TYPES, Message, Role
from yourtool.messages.metadata import MessageMetadata, ReplyMetadata, StopReason
from yourtool.messages.usage import Usage, UsageExtra
from yourtool.models import AdapterCapabilities, Effort, Model, Price
from yourtool.paths import Paths
from yourtool.permissions.gate import Gate
from yourtool.permissions.rules import RuleSet
from yourtool.providers.catalogue.models import Catalogue
from yourtool.settings.config import Config, Mode
from yourtool.store.base import MessageExcerpt, SessionActivity, SessionState
from yourtool.tools.background import ProcessTable
from yourtool.tools.toolset import Toolbox, ToolSnapshot
from yourtool.tools.workspace.file_reads import FileReads
from yourtool.tools.workspace.workspace import Workspace

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SONNET = Model(
    id="anthropic:claude-sonnet-4-6",
    wire_name="claude-sonnet-4-6",
    aliases=("sonnet",),
    capabilities=AdapterCapabilities(
        max_context_tokens=200_000, supports_images=True, supports_thinking=True
    ),
    price=Price(input_per_mtok_usd=Decimal(3), output_per_mtok_usd=Decimal(15)),
)
GPT = Model(
    id="openai:gpt-5.2",
    wire_name="gpt-5.2",
    aliases=("gpt",),
    capabilities=AdapterCapabilities(max_context_tokens=400_000, supports_images=True),
    price=Price(input_per_mtok_usd=Decimal("1.75"), output_per_mtok_usd=Decimal(14)),
)
TOUR = Model(id="demo:tour", wire_name="tour", capabilities=AdapterCapabilities())
_ids = count(1)


class Ask:
    """A script step: request an approval and record the answer."""

    def __init__(self, question: Confirmation) -> None:
        self.question = question
        self.decision: Decision | None = None


class TakeMessages:
    """A script step: the end of tool calls, after which the turn takes messages of the user."""


Step: TypeAlias = Event | Ask | TakeMessages | asyncio.Event | BaseException
Script: TypeAlias = Sequence[Step]


def message(role: Role, text: str, metadata: MessageMetadata | None = None) -> Message:
    return MESSAGE_TYPES[role](
        id=f"{next(_ids):026d}",
        session_id="sess_1",
        role=role,
        content=(TextBlock(text),),
        metadata=metadata or METADATA_TYPES[role](),
        created_at=WHEN,
    )


def turn_start(text: str) -> TurnStarted:
    return TurnStarted(
        user_message_hash="",
        estimated_input_tokens=1,
        has_images=False,
        has_tool_calls_in_history=False,
        message=message(Role.USER, text),
    )


def default_route(model: str = SONNET.id) -> RouteDecided:
    chain = (PolicyEvaluation(policy="global_default", verdict="chose", reason="the default"),)
    return RouteDecided(chosen_model=model, winner_index=6, elapsed_ms=0.1, chain=chain)


def text_deltas(*pieces: str) -> list[Event]:
    """The start of a reply, without its end."""
    start = MessageStart(message_id="m1", model=SONNET.id)
    deltas = [TextDelta(message_id="m1", content_block_index=0, text=each) for each in pieces]
    return [start, *deltas]


def full_reply(
    text: str,
    cost: str = "0.0123",
    model: str = SONNET.id,
    extra: UsageExtra | None = None,
) -> LlmCallCompleted:
    usage = Usage(
        input_tokens=1_000,
        output_tokens=50,
        cached_input_tokens=3_000,
        cost_usd=Decimal(cost),
        pricing_version="2026-01-01",
        latency_ms=900,
    )
    metadata = ReplyMetadata(
        model=model,
        provider=model.partition(":")[0],
        usage=usage,
        stop_reason=StopReason.END_TURN,
        usage_extra=extra,
    )
    return LlmCallCompleted(message=message(Role.ASSISTANT, text, metadata))


def failed_request(text: str = "The provider is overloaded.") -> LlmCallFailed:
    return LlmCallFailed(
        model=SONNET.id,
        provider="anthropic",
        error_class="rate_limit",
        error_message_redacted=text,
        provider_status=529,
        retryable=True,
        retry_count=2,
        latency_ms=100,
    )


def turn_end(reason: StopReason = StopReason.END_TURN) -> TurnCompleted:
    return TurnCompleted(
        stop_reason=reason,
        llm_call_count=1,
        tool_call_count=0,
        total_input_tokens=4_000,
        total_output_tokens=50,
        total_cost_usd=Decimal("0.0123"),
        wall_time_seconds=1.5,
    )


def turn(text: str, reply: str) -> list[Event]:
    return [turn_start(text), default_route(), *text_deltas(reply), full_reply(reply), turn_end()]


def approval_request(
    command: str = "git push", rules: tuple[str, ...] = ("shell(git push)",)
) -> Confirmation:
    return Confirmation(
        id=f"c{next(_ids)}",
        kind="tool",
        title="shell",
        tool_use_id="tu_1",
        side_effects=SideEffects.EXECUTE,
        input={"command": command},
        preview=Preview(kind="command", body=command),
        rules=rules,
    )


class NoLog:
    """Stores nothing."""

    async def append(self, *facts: AnyFact) -> None: ...


class FreeSwaps:
    """Finds no swap that loses something."""

    def __init__(self, session: "FakeSession") -> None:
        self._session = session

    async def examine(self, name: str) -> Preflight:
        active = self._session.model
        return Preflight(active, active, (), (), None, needs_room=False)


class NoFallbacks:
    """Has no model that answers instead of another one."""

    def describe(self) -> None:
        return None


class FakeHooks:
    """Hooks that never fail."""

    def take_last_warnings(self) -> tuple[str, ...]:
        return ()


class FakeSession:
    """Plays one script per turn and repeats the last one."""

    def __init__(
        self,
        *scripts: Script,
        workspace: Path,
        session_id: str = "sess_1",
        model: Model = SONNET,
        models: Sequence[Model] = (SONNET, GPT),
    ) -> None:
        self.id = session_id
        self.workspace = self.project = workspace
        self.state = State()
        self.mode = Mode.ASK
        self.sandbox_level = ""
        self.effort: Effort | None = None
        self.limit_reached = None
        self.model = model
        self.sent: list[str] = []
        self.retries = 0
        self.closed = False
        self.confirm: Callable[[Confirmation], Awaitable[Decision]] | None = None
        self.steering: Steering = no_steering
        self.hooks = FakeHooks()
        self._table = ProcessTable()
        self._models = models
        self.models = FreeSwaps(self)
        self.fallbacks = NoFallbacks()
        self._scripts = list(scripts)
        self._interrupt: Interrupt | None = None

    @property
    def stored(self) -> SimpleNamespace:
        async def read() -> Sequence[AnyFact]:
            return self.state.facts

        return SimpleNamespace(read_all=read, read_own=read)

    def effort_summary(self) -> str:
        return f"Thinking: {self.effort}."

    @property
    def mentioned_files(self) -> MentionedFiles:
        workspace, gate = Workspace(self.workspace), Gate(RuleSet(), Mode.ASK)
        return MentionedFiles(
            workspace, gate, FileReads(), lambda: Mask(()), self.find_rejection, True
        )

    @property
    def busy(self) -> bool:
        return self._interrupt is not None

    def explain(self) -> list[str]:
        return [f"{self.model.id} answers next", "7 global_default: chose"]

    async def load_model_description(self) -> None: ...

    def find_rejection(self, *content: ContentBlock) -> str | None:
        has_document = any(isinstance(block, DocumentBlock) for block in content)
        takes = self.model.capabilities.supports_documents or not has_document
        return None if takes else f"`{self.model.id}` takes no documents"

    @property
    def trust(self) -> ProjectTrust:
        return ProjectTrust(self.workspace)

    @property
    def guidance(self) -> Guidance:
        place, tools = SimpleNamespace(root=self.workspace), ToolSnapshot(Toolbox(()))
        env: Any = SimpleNamespace(workspace=place, tools=tools, is_worker=False)
        return Guidance(self.trust, self.state, env)

    def list_files(self, limit: int) -> list[str]:
        found = (path for path in self.workspace.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.workspace)) for path in found)

    async def context_parts(self) -> list[tuple[str, int]]:
        return [("system prompt", 900), ("tools", 1_400), ("user messages", 12)]

    async def send(self, content: str | tuple[ContentBlock, ...]) -> AsyncGenerator[Event, None]:
        if isinstance(content, str) and content.startswith("@nobody"):
            raise UsageError("`@nobody` is neither a model nor a file here.")
        self.sent.append(content)
        async for event in self._play():
            yield event

    async def retry(self) -> AsyncGenerator[Event, None]:
        if not self.state.messages:
            raise UsageError("There is no turn to retry yet.")
        self.retries += 1
        async for event in self._play():
            yield event

    async def select_effort(self, level: Effort | None) -> AsyncGenerator[Event, None]:
        self.effort = level
        yield self._applied(SessionEffortSelected(effort=level))

    async def select_model(self, name: str | None) -> AsyncGenerator[Event, None]:
        found = next((m for m in self._models if name in (m.id, *m.aliases)), None)
        if name is not None and found is None:
            raise UsageError(f"There is no model `{name}`; the active model did not change.")
        if self.busy:
            self.state.pending_model = found.id if found else ""
            yield Notice(level="info", text="The swap is pending.")
            return
        if found is not None:
            self.model = found
        yield self._applied(SessionModelSelected(model=found.id if found else None))

    def steer_with(self, steering: Steering) -> None:
        self.steering = steering

    @cached_property
    def processes(self) -> SessionProcesses:
        record = Recorder(NoLog(), self.id, self.state)
        return SessionProcesses(self.id, self.state, record, self._table)

    def build_steering(self, content: str | tuple[ContentBlock, ...]) -> tuple[ContentBlock, ...]:
        blocks = (TextBlock(content),) if isinstance(content, str) else content
        if isinstance(blocks[0], TextBlock) and blocks[0].text.startswith("@"):
            raise UsageError("The running turn stays with its model.")
        return blocks

    def cancel(self, *, is_leaving: bool = False) -> bool:
        return self._interrupt is not None and self._interrupt.request(is_leaving=is_leaving)

    async def close(self) -> None:
        self.closed = True

    async def _play(self) -> AsyncGenerator[Event, None]:
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        interrupt = self._interrupt = Interrupt()
        try:
            for step in script:
                match step:
                    case Ask():
                        assert self.confirm is not None
                        step.decision = await interrupt.guard(self.confirm(step.question))
                    case TakeMessages():
                        while (content := await self.steering()) is not None:
                            text = "".join(
                                each.text for each in content if isinstance(each, TextBlock)
                            )
                            yield self._applied(TurnSteered(message=message(Role.USER, text)))
                    case asyncio.Event():
                        await interrupt.guard(step.wait())
                    case BaseException():
                        raise step
                    case _:
                        interrupt.check()
                        yield self._applied(step)
        except Interrupted:
            reason = "client_disconnect" if interrupt.is_leaving else "user_cancel"
            yield self._applied(
                TurnCancelled(reason=reason, partial_llm_calls=0, partial_tool_calls=0)
            )
        finally:
            self._interrupt = None

    def _applied(self, event: Event) -> Event:
        if isinstance(event, Fact):
            fact: AnyFact = event
            self.state.apply(fact)
        return event


class FakeRegistry:
    """Anthropic is configured, OpenAI is not."""

    def __init__(self, credentials: "FakeCredentials") -> None:
        self._credentials = credentials

    def configuration_problem(self, provider: str) -> str | None:
        if provider in ("anthropic", "demo") or provider in self._credentials.saved:
            return None
        return f"no key: set `{provider.upper()}_API_KEY` or use /key {provider}"

    def find_problem(self, model: Model) -> str | None:
        return self.configuration_problem(model.provider)

    def is_agent(self, model: Model) -> bool:
        del model
        return False

    def prepare(self, model: Model) -> None:
        """Do nothing, since no library needs an import."""

    def providers(self) -> tuple[SimpleNamespace, ...]:
        return tuple(
            SimpleNamespace(
                name=model.provider,
                label=model.provider.title(),
                base_url=f"https://{model.provider}.example",
                needs_key=True,
                key_env=(f"{model.provider.upper()}_API_KEY",),
                key_url=f"https://{model.provider}.example/keys",
                default_model=model.id,
            )
            for model in (SONNET, GPT)
        )

    def save_key(self, provider: str, key: str) -> None:
        self._credentials.saved[provider] = key


class FakeCredentials:
    """Stores keys in memory."""

    def __init__(self) -> None:
        self.saved: dict[str, str] = {}


class FakeStore:
    """Lists the sessions of a test."""

    def __init__(self, sessions: "Sequence[FakeSession]" = ()) -> None:
        self._sessions = sessions
        self.summaries: list[SimpleNamespace] = []
        self.states: dict[str, SessionState] = {}
        self.texts: dict[str, tuple[MessageExcerpt, ...]] = {}

    async def list(
        self, *_workspaces: str, limit: int = 200, after: SimpleNamespace | None = None
    ) -> tuple[SimpleNamespace, ...]:
        start = 0 if after is None else self.summaries.index(after) + 1
        return tuple(self.summaries[start : start + limit])

    async def last_texts(self, session_id: str, limit: int = 6) -> tuple[MessageExcerpt, ...]:
        return self.texts.get(session_id, ())

    async def read(self, session_id: str) -> Sequence[AnyFact]:
        found = (session for session in self._sessions if session.id == session_id)
        return [fact for session in found for fact in session.state.facts]

    async def read_end(self, session_id: str, count: int, before: str = "") -> Sequence[AnyFact]:
        return find_end(await self.read(session_id), count, before)

    async def find_activity(self, ids: Iterable[str] = ()) -> tuple[SessionActivity, ...]:
        return tuple(SessionActivity(id=each, state=self.states.get(each, "done")) for each in ids)

    async def find_ids(self, prefix: str) -> tuple[str, ...]:
        return tuple(each.id for each in self.summaries if each.id.startswith(prefix))


class FakeRuntime:
    """Returns the prepared sessions in order."""

    def read_clipboard(self) -> str:
        raise UsageError("There is no image and no text in the clipboard.")

    def __init__(self, home: Path, *sessions: FakeSession) -> None:
        self.paths = Paths(home, home / "data", home / "state", home / "cache")
        self.options = SimpleNamespace(workspace=sessions[0].workspace, attachments=(), model=None)
        self.config = Config()
        known = Catalogue([GPT, SONNET, TOUR], "2026-01-01")
        self.catalogue = SimpleNamespace(
            all=lambda: (GPT, SONNET),
            resolve=known.resolve,
            discovered_at=known.discovered_at,
            find_trial=known.find_trial,
        )
        self.credentials = FakeCredentials()
        self.registry = FakeRegistry(self.credentials)
        self.availability = SimpleNamespace(reset=lambda provider: None)
        self.store, self.space = FakeStore(sessions), SpaceWait()
        self.tool_servers = SimpleNamespace(find=lambda workspace: None, renew=self._renew_servers)
        self.closed = False
        self.resumed: list[str] = []
        self._prepared = list(sessions)

    async def _renew_servers(self, workspace: Path) -> tuple[()]:
        return ()

    def default_models(self, workspace: Path) -> SimpleNamespace:
        return SimpleNamespace(preferred=SONNET.id)

    async def find_last_session(self) -> str | None:
        return self.store.summaries[0].id if self.store.summaries else None

    def take_warnings(self) -> list[str]:
        return []

    async def find_servers(self, *, elsewhere: bool) -> tuple[()]:
        return ()

    async def new_session(
        self,
        confirm: Callable[[Confirmation], Awaitable[Decision]],
        model: str | None = None,
    ):
        session = self._prepared.pop(0) if len(self._prepared) > 1 else self._prepared[0]
        session.confirm = confirm
        return session

    async def resume(self, session_id: str, confirm: Callable[..., Awaitable[Decision]]):
        self.resumed.append(session_id)
        session = await self.new_session(confirm)
        session.id = session_id
        return session

    async def spent_today(self) -> Spending:
        return Spending(cost_usd=Decimal("1.5"), requests=3)

    async def close(self) -> None:
        self.closed = True
