"""Facts of complete turns for the tests of the store."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from yourtool.effects import SideEffects
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from yourtool.events.sessions import SessionCreated
from yourtool.events.tools import ToolCalled, ToolCompleted, ToolFailed
from yourtool.events.turns import RouteDecided, TurnCompleted, TurnStarted
from yourtool.ids import new_id, new_session_id, new_tool_use_id
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import (
    MESSAGE_TYPES,
    METADATA_TYPES,
    Message,
    ReplyMessage,
    ResultMessage,
    Role,
)
from yourtool.messages.metadata import (
    MessageMetadata,
    ReplyMetadata,
    ResultMetadata,
    RoutingDecisionRecord,
    RoutingMode,
    StopReason,
)
from yourtool.messages.usage import Usage
from yourtool.store.texts import hash_text

MODEL = "anthropic:claude-sonnet-4-6"
PRICES = "2026-05-08"
PROMPT = "please read the secret plan"


class FactBuilder:
    """Builds facts in the order of a session, with increasing ids."""

    def __init__(self, session_id: str = "", workspace: str = "/work") -> None:
        self.session_id = session_id or new_session_id()
        self._workspace = workspace
        self._turn: str | None = None
        self._parent: str | None = None

    def session_start(self, worker_of: str | UnsetType = UNSET) -> SessionCreated:
        """The start of the session, or of a worker of another session."""
        return self._fact(
            SessionCreated,
            workspace_path=self._workspace,
            workspace_hash=hash_text(self._workspace),
            parent_session_id=worker_of,
        )

    def turn_start(self, text: str = PROMPT) -> TurnStarted:
        """A prompt of the user."""
        self._turn, self._parent = new_id(), None
        return self._fact(
            TurnStarted,
            user_message_hash=hash_text(text),
            estimated_input_tokens=1,
            has_images=False,
            has_tool_calls_in_history=False,
            message=self.message(Role.USER, (TextBlock(text),)),
        )

    def route(self) -> RouteDecided:
        """The selection of a model, without a request."""
        fact = self._fact(
            RouteDecided, chosen_model=MODEL, winner_index=6, elapsed_ms=0.1, chain=()
        )
        self._parent = fact.parent_event_id
        return fact

    def request(self) -> LlmCallStarted:
        """The start of a request."""
        return self._fact(
            LlmCallStarted,
            model=MODEL,
            provider="anthropic",
            estimated_input_tokens=1,
            request_id="r",
        )

    def reply(
        self,
        *blocks: TextBlock | ToolUseBlock,
        cost: str = "0.01",
        model: str = MODEL,
        pricing_version: str = PRICES,
        wire_ids: bool = True,
    ) -> LlmCallCompleted:
        """The reply of the model."""
        calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
        stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
        metadata = changed(reply_metadata(model, cost, pricing_version), stop_reason=stop)
        message = self.message(Role.ASSISTANT, blocks, metadata)
        return self._fact(
            LlmCallCompleted,
            provider_tool_ids={call.id: f"toolu_{call.id[-6:]}" for call in calls if wire_ids},
            message=message,
        )

    def broken(self, usage: Usage | None = None, message: Message | None = None) -> LlmCallFailed:
        """The end of a request without a complete reply."""
        return self._fact(
            LlmCallFailed,
            model=MODEL,
            provider="anthropic",
            error_class="cancelled",
            error_message_redacted="stopped",
            retry_count=0,
            latency_ms=3,
            usage=usage,
            message=message,
        )

    def tool_start(self, call: ToolUseBlock) -> ToolCalled:
        """The start of a tool call."""
        return self._fact(
            ToolCalled,
            tool_use_id=call.id,
            tool_name=call.name,
            input_hash="h",
            input_size_bytes=2,
            side_effects=SideEffects.READ,
        )

    def tool_result(self, call: ToolUseBlock, output: str = "fine", **fields: Any) -> ToolCompleted:
        """The success of a tool call."""
        return self._fact(
            ToolCompleted,
            **{"tool_use_id": call.id, "tool_name": call.name, "success": True} | fields,
            output_size_bytes=len(output),
            latency_ms=5,
            message=self.result_message(call, output),
        )

    def tool_failure(self, call: ToolUseBlock, error_class: str = "execution_error") -> ToolFailed:
        """The failure of a tool call."""
        return self._fact(
            ToolFailed,
            tool_use_id=call.id,
            tool_name=call.name,
            error_class=error_class,
            error_message="no",
            latency_ms=5,
            message=self.result_message(call, "no"),
        )

    def turn_end(self) -> TurnCompleted:
        """The end of the turn."""
        return self._fact(
            TurnCompleted,
            stop_reason=StopReason.END_TURN,
            llm_call_count=2,
            tool_call_count=1,
            total_input_tokens=200,
            total_output_tokens=20,
            total_cost_usd=Decimal("0.02"),
            wall_time_seconds=2.5,
        )

    def turn(self, output: str = "fine") -> tuple[AnyFact, ...]:
        """A complete turn with one tool call."""
        use = tool_call()
        return (
            self.turn_start(),
            self.route(),
            self.request(),
            self.reply(TextBlock("let me see"), use),
            self.tool_start(use),
            self.tool_result(use, output),
            self.request(),
            self.reply(TextBlock("done")),
            self.turn_end(),
        )

    def message(
        self, role: Role, content: Iterable[Any], metadata: MessageMetadata | None = None
    ) -> Message:
        """A message of this session."""
        return MESSAGE_TYPES[role](
            id=new_id(),
            session_id=self.session_id,
            role=role,
            content=tuple(content),
            metadata=metadata or METADATA_TYPES[role](),
            created_at=datetime.now(UTC),
        )

    def fact_with(self, message: Message) -> AnyFact:
        """A fact that adds the message to the conversation."""
        match message:
            case ReplyMessage():
                return self._fact(LlmCallCompleted, message=message)
            case ResultMessage(metadata=metadata):
                use = ToolUseBlock(metadata.parent_tool_use_id or "", "read_file", {})
                return changed(self.tool_result(use), message=message)
            case _:
                return changed(self.turn_start(), message=message)

    def result_message(self, call: ToolUseBlock, text: str) -> Message:
        """The result of a tool call."""
        block = ToolResultBlock(call.id, (TextBlock(text),))
        return self.message(Role.TOOL, (block,), ResultMetadata(parent_tool_use_id=call.id))

    def fact(self, kind: type, **fields: Any) -> Any:
        """A fact of any kind."""
        return self._fact(kind, **fields)

    def _fact(self, kind: type, **fields: Any) -> Any:
        fact = kind(
            id=new_id(),
            timestamp=datetime.now(UTC),
            session_id=self.session_id,
            turn_id=self._turn,
            parent_event_id=self._parent,
            **fields,
        )
        self._parent = fact.id
        return fact


def tool_call(name: str = "read_file", **arguments: Any) -> ToolUseBlock:
    """Return a call with one of our ids."""
    return ToolUseBlock(new_tool_use_id(), name, arguments)


def changed(fact: Any, **fields: Any) -> Any:
    """Return a fact with some fields replaced."""
    return msgspec.structs.replace(fact, **fields)


def reply_metadata(
    model: str = MODEL, cost: str = "0.01", pricing_version: str = PRICES
) -> ReplyMetadata:
    """Return the metadata of a complete assistant message."""
    return ReplyMetadata(
        model=model,
        provider=model.partition(":")[0],
        routing=RoutingDecisionRecord(
            mode=RoutingMode.DEFAULT, chosen_model=model, reason="global default"
        ),
        usage=Usage(
            input_tokens=100,
            output_tokens=10,
            cost_usd=Decimal(cost),
            pricing_version=pricing_version,
            latency_ms=900,
        ),
        stop_reason=StopReason.END_TURN,
    )
