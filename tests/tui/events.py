"""Events of invented turns, for display tests."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import count

from yourtool.effects import SideEffects
from yourtool.events.catalog import Event
from yourtool.events.deltas import MessageStart, TextDelta, ThinkingDelta, ToolOutputDelta
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed
from yourtool.events.tools import ToolCalled, ToolCompleted, ToolConfirmationRequested, ToolFailed
from yourtool.events.turns import (
    PolicyEvaluation,
    RouteDecided,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
)
from yourtool.messages.blocks import (
    ContentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import MESSAGE_TYPES, METADATA_TYPES, Message, Role
from yourtool.messages.metadata import StopReason
from yourtool.messages.usage import Usage, UsageExtra

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class EventBuilder:
    """Makes the events of one session."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def _fact(self, kind, **fields):
        number = next(self._numbers)
        return kind(id=f"{number:026}", timestamp=NOON, session_id="s", turn_id="t", **fields)

    def message(self, role: Role, *content: ContentBlock, **metadata) -> Message:
        return MESSAGE_TYPES[role](
            id=f"{next(self._numbers):026}",
            session_id="s",
            role=role,
            content=content,
            metadata=METADATA_TYPES[role](**metadata),
            created_at=NOON,
        )

    def turn_start(self, prompt: str = "hello") -> Event:
        return self._fact(
            TurnStarted,
            user_message_hash="",
            estimated_input_tokens=1,
            has_images=False,
            has_tool_calls_in_history=False,
            message=self.message(Role.USER, TextBlock(prompt)),
        )

    def route(
        self, policy: str = "global_default", reason: str = "default", rule: str | None = None
    ) -> Event:
        chose = PolicyEvaluation(
            policy=policy,
            verdict="chose",
            reason=reason,
            candidate_model="demo:tour",
            rule_name=rule,
        )
        return self._fact(
            RouteDecided, chosen_model="demo:tour", winner_index=6, elapsed_ms=1.0, chain=(chose,)
        )

    def no_route(self) -> Event:
        no = PolicyEvaluation(
            policy="global_default",
            verdict="rejected",
            reason="no key for it",
            candidate_model="acme:big",
        )
        return self._fact(
            RouteDecided, chosen_model=None, winner_index=-1, elapsed_ms=1.0, chain=(no,)
        )

    def reply(self, *content: ContentBlock, model: str = "demo:tour", unpriced=False) -> Event:
        usage = Usage(
            input_tokens=10,
            output_tokens=20,
            cost_usd=Decimal("0.01"),
            pricing_version="2026-01-01",
            latency_ms=5,
        )
        reply = self.message(
            Role.ASSISTANT,
            *content,
            model=model,
            provider="demo",
            usage=usage,
            stop_reason=StopReason.END_TURN,
            usage_extra=UsageExtra(unpriced=True) if unpriced else None,
        )
        return self._fact(LlmCallCompleted, message=reply)

    def failed_request(
        self, words: str = "broken", error_class: str = "server_error", message=None, **more
    ):
        return self._fact(
            LlmCallFailed,
            model="acme:big",
            provider="acme",
            error_class=error_class,
            error_message_redacted=words,
            provider_status=500,
            retryable=True,
            retry_count=0,
            latency_ms=5,
            message=message,
            **more,
        )

    def tool_start(self, use: ToolUseBlock, effects: SideEffects = SideEffects.EXECUTE) -> Event:
        return self._fact(
            ToolCalled,
            tool_use_id=use.id,
            tool_name=use.name,
            input_hash="",
            input_size_bytes=1,
            side_effects=effects,
        )

    def approval_request(self, use: ToolUseBlock) -> Event:
        return self._fact(
            ToolConfirmationRequested,
            tool_use_id=use.id,
            tool_name=use.name,
            side_effects=SideEffects.EXECUTE,
            confirmation_request_id="c",
            input_summary="",
        )

    def tool_result(
        self, use: ToolUseBlock, output: str, *images: ImageBlock, success=True, **details
    ) -> Event:
        result = ToolResultBlock(use.id, (TextBlock(output), *images))
        return self._fact(
            ToolCompleted,
            tool_use_id=use.id,
            tool_name=use.name,
            success=success,
            output_size_bytes=len(output),
            latency_ms=1200,
            message=self.message(Role.TOOL, result, details=details or None),
        )

    def tool_failure(self, use: ToolUseBlock, error_class: str, words: str) -> Event:
        result = ToolResultBlock(use.id, (TextBlock(words),), is_error=True)
        return self._fact(
            ToolFailed,
            tool_use_id=use.id,
            tool_name=use.name,
            error_class=error_class,
            error_message=words,
            latency_ms=1,
            message=self.message(Role.TOOL, result),
        )

    def turn_end(self, stop: StopReason = StopReason.END_TURN) -> Event:
        return self._fact(
            TurnCompleted,
            stop_reason=stop,
            llm_call_count=1,
            tool_call_count=0,
            total_input_tokens=1234,
            total_output_tokens=567,
            total_cost_usd=Decimal("0.0123"),
            wall_time_seconds=3.21,
        )

    def turn_stop(self) -> Event:
        return self._fact(
            TurnCancelled, reason="user_cancel", partial_llm_calls=1, partial_tool_calls=0
        )

    def text_deltas(self, *pieces: str) -> list[Event]:
        deltas = [TextDelta(message_id="m", content_block_index=0, text=piece) for piece in pieces]
        return [MessageStart(message_id="m", model="demo:tour"), *deltas]

    def unfinished_turn(self, text: str) -> list[Event]:
        return [self.turn_start(), *self.text_deltas(*text)]

    def reasoning_reply(self, text: str) -> list[Event]:
        delta = ThinkingDelta(message_id="m", content_block_index=0, text=text)
        answer = self.reply(ThinkingBlock(text))
        return [MessageStart(message_id="m", model="demo:tour"), delta, answer]

    def running_call(self, text: str) -> list[Event]:
        use = ToolUseBlock(f"tu_{next(self._numbers)}", "shell", {"command": "make"})
        printed = ToolOutputDelta(tool_use_id=use.id, text=text)
        return [self.tool_start(use), printed]

    def failed_turn(self, words: str) -> list[Event]:
        return [self.turn_start(), self.failed_request(words)]

    def turn(
        self,
        *,
        prompt: str = "hello",
        reply: str = "A reply.",
        tool: str = "shell",
        path: str = "a.txt",
        output: str = "output",
        diff: str = "",
    ) -> list[Event]:
        use = ToolUseBlock(f"tu_{next(self._numbers)}", tool, {"path": path})
        details = {"diff": diff} if diff else {}
        return [
            self.turn_start(prompt),
            self.route(),
            self.reply(TextBlock(reply), use),
            self.tool_start(use),
            self.tool_result(use, output, **details),
            self.turn_end(),
        ]


session = EventBuilder()
