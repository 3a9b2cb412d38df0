"""Session events as updates of the protocol.

`to_acp` is a pure function of an event, for all of them. A new event needs a case, or an entry in
`not_shown.py`; what is one line of text is composed in `descriptions.py`. Deltas show a reply while
it arrives, so the facts that confirm it add only what is not shown yet.
`to_replayed` shows a stored fact completely.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    PlanEntry,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    UsageUpdate,
    UserMessageChunk,
)
from msgspec import UNSET, Struct

from yourtool.effects import PlanAnswer
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.deltas import (
    MessageComplete,
    TextDelta,
    ThinkingDelta,
    ToolUseStart,
)
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, is_silent
from yourtool.events.sessions import (
    SessionEffortSelected,
    SessionModelSelected,
    SessionRenamed,
)
from yourtool.events.tools import (
    ShellRan,
    ToolCalled,
    ToolCompleted,
    ToolConfirmationResolved,
    ToolFailed,
)
from yourtool.events.turns import (
    TurnStarted,
    TurnSteered,
)
from yourtool.extensions.editors.calls import (
    PLAN_TOOL,
    build_title,
    find_locations,
    get_kind,
    to_content,
)
from yourtool.extensions.editors.descriptions import describe
from yourtool.extensions.editors.diffs import to_diffs
from yourtool.extensions.editors.not_shown import NOT_SHOWN
from yourtool.foundation.text import printable
from yourtool.messages.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.message import Message, ResultMessage
from yourtool.messages.metadata import Audience
from yourtool.settings.config import Mode

Update: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)
ConfigOption: TypeAlias = SessionConfigOptionSelect | SessionConfigOptionBoolean


class Situation(Struct, frozen=True, kw_only=True):
    """What updates have about the session in addition to an event, as it is after the event."""

    workspace: Path
    context_window: int = 0
    """Tokens; 0: unknown."""
    cost_usd: Decimal = Decimal(0)
    """Of the session."""
    options: Sequence[ConfigOption] = ()
    """The settings that the client can change."""


def to_acp(event: Event, situation: Situation) -> tuple[Update, ...]:
    """Return the updates for an event while it happens."""
    if isinstance(event, NOT_SHOWN):
        return ()
    match event:
        case TextDelta():
            return (build_message(event.text, event.message_id),)
        case ThinkingDelta():
            return (build_thought(event.text, event.message_id),) if event.text else ()
        case ToolUseStart(tool_name=name):
            return () if name == PLAN_TOOL else (_start_call(event.tool_use_id, name),)
        case MessageComplete(final_content=content):
            calls = (each for each in content if isinstance(each, ToolUseBlock))
            return tuple(_describe_call(each, situation) for each in calls if _is_card(each))
        case LlmCallCompleted():
            return _to_usage(event, situation)
        case ToolCalled():
            return () if event.tool_name == PLAN_TOOL else (_run_call(event),)
        case ToolCompleted():
            return (_complete_call(event, situation),)
        case ToolFailed():
            return () if event.tool_name == PLAN_TOOL else (_fail_call(event),)
        case ShellRan():
            return (_to_command(event),)
        case ToolConfirmationResolved(plan=plan):
            return () if plan is UNSET else (_to_mode(plan),)
        case SessionModelSelected() | SessionEffortSelected():
            return (_to_options(situation),)
        case SessionRenamed(title=title):
            return (
                SessionInfoUpdate(session_update="session_info_update", title=printable(title)),
            )
        case _:
            return (build_message(f"\n\n{describe(event)}\n\n"),)


def to_replayed(fact: AnyFact, situation: Situation) -> Iterator[Update]:
    """Yield the updates that show a stored fact, with what deltas showed when it happened."""
    if is_silent(fact):
        return
    match fact:
        case TurnStarted(message=message) | TurnSteered(message=message):
            if message is not None and message.metadata.audience is not Audience.MODEL:
                yield from _to_user_chunks(message)
        case LlmCallCompleted(message=message) | LlmCallFailed(message=message):
            if message is not None and message.metadata.audience is not Audience.MODEL:
                yield from _to_reply(message.id, message.content, situation)
        case _:
            pass
    if not isinstance(fact, LlmCallCompleted):
        yield from to_acp(fact, situation)


def build_message(text: str, message_id: str | None = None) -> AgentMessageChunk:
    """Return a part of a reply, or a text of the program."""
    content = TextContentBlock(type="text", text=printable(text))
    return AgentMessageChunk(
        session_update="agent_message_chunk", content=content, message_id=message_id
    )


def build_thought(text: str, message_id: str | None = None) -> AgentThoughtChunk:
    """Return a part of the reasoning of a model."""
    content = TextContentBlock(type="text", text=printable(text))
    return AgentThoughtChunk(
        session_update="agent_thought_chunk", content=content, message_id=message_id
    )


def _to_user_chunks(message: Message) -> Iterator[Update]:
    for block in to_content(message.content):
        yield UserMessageChunk(
            session_update="user_message_chunk", content=block.content, message_id=message.id
        )


def _to_reply(
    message_id: str, content: Iterable[ContentBlock], situation: Situation
) -> Iterator[Update]:
    for block in content:
        match block:
            case TextBlock(text=text) if text:
                yield build_message(text, message_id)
            case ThinkingBlock(text=text) if text:
                yield build_thought(text, message_id)
            case ToolUseBlock() if _is_card(block):
                yield _start_call(block.id, block.name)
                yield _describe_call(block, situation)
            case _:
                pass


def _is_card(call: ToolUseBlock) -> bool:
    """Whether a call is shown as one; the plan is shown instead of the calls that change it."""
    return call.name != PLAN_TOOL


def _start_call(call_id: str, name: str) -> ToolCallStart:
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=printable(name),
        kind=get_kind(name),
        status="pending",
    )


def _describe_call(call: ToolUseBlock, situation: Situation) -> ToolCallProgress:
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call.id,
        title=build_title(call.name, call.input),
        locations=find_locations(call.input, situation.workspace) or None,
        raw_input=call.input,
    )


def _run_call(event: ToolCalled) -> ToolCallProgress:
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=event.tool_use_id,
        kind=get_kind(event.tool_name, event.side_effects),
        status="in_progress",
    )


def _complete_call(event: ToolCompleted, situation: Situation) -> Update:
    details = event.message.metadata.details or {}
    if event.tool_name == PLAN_TOOL:
        return _to_plan(details.get("plan"))
    diff = details.get("diff")
    diffs = to_diffs(diff, situation.workspace) if isinstance(diff, str) else ()
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=event.tool_use_id,
        status="completed" if event.success else "failed",
        content=[*diffs, *_to_result(event.message)],
    )


def _fail_call(event: ToolFailed) -> ToolCallProgress:
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=event.tool_use_id,
        status="failed",
        content=[*_to_result(event.message)],
    )


def _to_result(message: ResultMessage) -> Iterable[Any]:
    result = message.result
    return to_content(result.content) if result is not None else ()


def _to_command(event: ShellRan) -> ToolCallStart:
    status: ToolCallStatus = "completed" if event.exit_code == 0 else "failed"
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=event.message.id,
        title=build_title("shell", {"command": event.command}),
        kind="execute",
        status=status,
        content=[*to_content(event.message.content[1:])],
    )


def _to_plan(steps: Any) -> AgentPlanUpdate:
    entries = [
        PlanEntry(content=printable(str(step["text"])), priority="medium", status=step["status"])
        for step in steps or ()
    ]
    return AgentPlanUpdate(session_update="plan", entries=entries)


def _to_mode(answer: PlanAnswer) -> CurrentModeUpdate:
    """Return the mode in which an approved plan is carried out."""
    mode = Mode.ACCEPT_EDITS if answer is PlanAnswer.ACCEPT_EDITS else Mode.ASK
    return CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode.value)


def _to_options(situation: Situation) -> ConfigOptionUpdate:
    return ConfigOptionUpdate(
        session_update="config_option_update", config_options=[*situation.options]
    )


def _to_usage(event: LlmCallCompleted, situation: Situation) -> tuple[Update, ...]:
    """Return the size of the conversation and what the session costs; nothing if unknown."""
    if not situation.context_window or is_silent(event):
        return ()
    usage = event.usage
    return (
        UsageUpdate(
            session_update="usage_update",
            used=usage.prompt_tokens + usage.output_tokens,
            size=situation.context_window,
            cost=Cost(amount=float(situation.cost_usd), currency="USD"),
        ),
    )
