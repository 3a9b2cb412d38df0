"""Adapter of an agent.

One prompt of the agent becomes several replies, each of which ends where the agent needs us. A
reply with a call ends, so that our loop admits and runs the call; `tools.py` answers the agent. The
next request has the result, and continues the same prompt.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import ToolDefinition
from yourtool.errors import AdapterError, InvalidRequestError, OtherAdapterError
from yourtool.events.deltas import MessageComplete, StreamEvent, TokenUsage
from yourtool.extensions.agents.agent import Agent
from yourtool.extensions.agents.calls import ForeignCall, clean_line
from yourtool.extensions.agents.hand_over import NextPrompt, Render, SeenMessages
from yourtool.extensions.agents.messages import (
    AgentEvent,
    AgentRequest,
    Asked,
    Ended,
    FileRequest,
    Reported,
    Said,
)
from yourtool.interrupt import Interrupted
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, canonical_json
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import StopReason
from yourtool.models import MAX_SAFE_INTEGER
from yourtool.permissions.rules import AGENT_CALL
from yourtool.providers.base import Request
from yourtool.providers.estimate import estimate_text, estimate_tokens
from yourtool.providers.replies.reply import Reply
from yourtool.settings.tables import is_table

AGENT_REPORT = "agent_report"
SILENCE_SECONDS = 600.0
"""Time without a message, and without a running call, after which an agent is given up."""
_QUIET_SECONDS = 0.2
"""Time in which calls that have ended join the same reply."""
_STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
}
_SHORT_CHARACTERS = 16_384
_PLACEHOLDER = TokenUsage(input_tokens=1, output_tokens=1)
"""Replaced at the end of the reply."""
_NOT_ANSWERED = "The user did not allow it."


class PendingCall(Struct, frozen=True):
    """What a call in a reply is about."""

    input: dict[str, Any]
    """The arguments as the reply has them."""
    asked: Asked | FileRequest | None = None
    """The request of the agent that the call answers."""
    report: ForeignCall | None = None
    """The call that has ended already; without both, files changed without a question."""
    is_last: bool = False
    """Whether the prompt has ended."""


class AgentAdapter:
    """Sends prompts to an agent and translates what it does into replies."""

    def __init__(
        self, agent: Agent, render: Render, find_problem: Callable[[], str | None]
    ) -> None:
        """`render` is that of `NextPrompt.compose`.

        `find_problem` returns why the session can use no agent now.
        """
        self.agent = agent
        self.pending = dict[str, PendingCall]()
        """By the id of the call in our history."""
        self._asked = dict[str, AgentRequest]()
        """The requests in the last reply, by the id of their calls."""
        self.is_abandoned = False
        """Whether the turn of the present prompt has ended."""
        self._render = render
        self._find_problem = find_problem
        self._seen = SeenMessages()
        self._sent_tokens = 0
        self._usage: TokenUsage | None = None
        self._count = 0

    def encode_ahead(self, request: Request) -> None:
        """Do nothing: the agent gets only the prompt."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Yield the next reply of a prompt; see `Adapter.stream`.

        Raises:
            AdapterError: the agent cannot be used, or failed.
        """
        reply, guard = Reply(request), request.interrupt.guard
        self._sent_tokens, self._usage = 0, None
        self._seen.add_reply(request.message_id)
        try:
            self._check(request)
            await guard(self._continue_or_begin(request))
            while (event := await self._next_event(reply, request)) is not None:
                if isinstance(event, Ended):
                    if (last := await guard(self._end(event, reply, request))) is None:
                        continue
                    for each in last:
                        yield each
                    break
                for each in await _collect(self._translate(event, reply), event):
                    yield each
                if isinstance(event, AgentRequest):
                    break
            if reply.has_calls:
                reply.stop_reason = StopReason.TOOL_USE
            reply.update_usage(_PLACEHOLDER)
            for each in await _collect(map(self._with_usage, reply.finish())):
                yield each
        except Interrupted:
            for each in await _collect(map(self._with_usage, reply.cancel())):
                yield each
        except AdapterError as error:
            for each in await _collect(map(self._with_usage, reply.fail(error))):
                yield each
            raise

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition]
    ) -> int:
        """Estimate the size of the conversation."""
        return estimate_tokens(messages, tools, self.agent.name)

    async def close(self) -> None:
        """End the agent; idempotent."""
        await self.agent.close()

    async def _continue_or_begin(self, request: Request) -> None:
        conversation = [each for each in request.messages if each.role is not Role.SYSTEM]
        agent = self.agent
        if agent.has_prompt and not self.is_abandoned:
            self._refuse_open(conversation)
            return
        if agent.has_prompt:
            await agent.settle()
        self.is_abandoned = False
        self.pending.clear()
        self._asked.clear()
        if await agent.open(is_new=not self._seen.fits(conversation)):
            self._seen.clear()
            self._seen.add_reply(request.message_id)
        await self._send(self._seen.find_next(conversation), request)

    def _refuse_open(self, conversation: Sequence[Message]) -> None:
        """Refuse the requests whose calls failed, for the reason that our history has."""
        results = (each.result for each in conversation if self._asked)
        texts = {each.tool_use_id: _get_text(each) for each in results if each is not None}
        for use_id, request in self._asked.items():
            self.agent.refuse(request, texts.get(use_id) or _NOT_ANSWERED)
        self._asked.clear()
        self.agent.refuse_open(_NOT_ANSWERED)

    async def _send(self, prompt: NextPrompt, request: Request) -> None:
        text = await asyncio.to_thread(prompt.compose, self._render)
        self._sent_tokens += round(estimate_text(text, request.model.id))
        await self.agent.begin(text)
        self._seen.add_prompts((*prompt.earlier, *prompt.now))

    async def _next_event(self, reply: Reply, request: Request) -> AgentEvent | None:
        """Return what the reply has next; None if it ends before."""
        agent, guard = self.agent, request.interrupt.guard
        if reply.has_calls:
            event = await guard(agent.next_event(_QUIET_SECONDS))
            if isinstance(event, Said):
                agent.put_back(event)
                return None
            return event
        while (event := await guard(agent.next_event(SILENCE_SECONDS))) is None:
            if not agent.runs_calls:
                raise OtherAdapterError(
                    f"`{agent.name}` sent nothing for {SILENCE_SECONDS / 60:.0f} minutes, so the"
                    " turn was ended; /retry sends the prompt again"
                )
        return event

    def _translate(self, event: AgentEvent, reply: Reply) -> Iterator[StreamEvent]:
        """Yield the events of our reply for what the agent sent."""
        match event:
            case Said(is_thought=True):
                yield from reply.add_thinking(event.text)
            case Said():
                yield from reply.add_text(event.text)
            case Reported(call=call):
                pending = PendingCall(call.build_input(), report=call)
                yield from self._add_call(reply, AGENT_REPORT, pending)
            case Asked(call=call):
                call.is_told = True
                pending = PendingCall(call.build_input(), asked=event)
                yield from self._add_call(reply, AGENT_CALL, pending)
            case FileRequest(content=str(content)):
                arguments = {"path": event.path, "content": content}
                yield from self._add_call(reply, "write_file", PendingCall(arguments, asked=event))
            case FileRequest():
                found = {"path": event.path, "offset": event.line, "limit": event.limit}
                arguments = {name: value for name, value in found.items() if value is not None}
                yield from self._add_call(reply, "read_file", PendingCall(arguments, asked=event))
            case Ended():
                pass

    def _add_call(self, reply: Reply, name: str, pending: PendingCall) -> Iterator[StreamEvent]:
        self._count += 1
        key = f"{self._count}"
        yield from reply.start_call(key, None, name)
        yield from reply.add_arguments(key, canonical_json(pending.input).decode())
        yield from reply.close_call(key)
        if (call := reply.find_call(key)) is not None:
            self.pending[call.use_id] = pending
            if pending.asked is not None:
                self._asked[call.use_id] = pending.asked
            self._seen.add_call(call.use_id)

    async def _end(
        self, ended: Ended, reply: Reply, request: Request
    ) -> Sequence[StreamEvent] | None:
        """Return the last events of the prompt; None if another prompt is running now.

        Raises:
            AdapterError: the prompt failed.
        """
        agent, later = self.agent, self._seen.find_later(request.messages)
        if reply.has_calls and (ended.error or later):
            agent.put_back(ended)  # after their results
            return ()
        if ended.error:
            raise OtherAdapterError(f"`{agent.name}` {ended.error}")
        self._usage = _read_usage(ended.usage)
        if later:
            await self._send(NextPrompt((), later), request)
            return None
        reply.stop_reason = _STOP_REASONS.get(ended.reason, StopReason.OTHER)
        reply.stop_detail = clean_line(ended.reason)
        for key, each in self.pending.items():
            self.pending[key] = replace(each, is_last=True)
        if not await asyncio.to_thread(agent.find_changes):
            return ()
        paths = [path for found in agent.found for path in found.unasked]
        arguments = {"title": "changes without a question", "kind": "edit", "paths": paths}
        return list(self._add_call(reply, AGENT_REPORT, PendingCall(arguments, is_last=True)))

    def _check(self, request: Request) -> None:
        """Check that the agent can answer.

        Raises:
            InvalidRequestError: it cannot.
        """
        if request.tool_choice == "none":
            raise InvalidRequestError(
                f"`{self.agent.name}` is an agent, which writes no summaries;"
                " `context.summary_model` in `config.toml` names a model that does"
            )
        if (problem := self._find_problem()) is not None:
            raise InvalidRequestError(problem)

    def _with_usage(self, event: StreamEvent) -> StreamEvent:
        """Set the tokens of a reply: those that the agent counted, or else an estimate."""
        if not isinstance(event, MessageComplete):
            return event
        texts = (
            each.text for each in event.final_content if isinstance(each, TextBlock | ThinkingBlock)
        )
        received = sum(estimate_text(text, self.agent.name) for text in texts)
        estimated = TokenUsage(
            input_tokens=self._sent_tokens, output_tokens=round(received), estimated=True
        )
        return replace(event, usage=self._usage or estimated)


async def _collect(
    events: Iterator[StreamEvent], source: AgentEvent | None = None
) -> Sequence[StreamEvent]:
    """Return events, in a thread unless they are those of a short text; the agent can send much."""
    if isinstance(source, Said) and sum(map(len, source.parts)) <= _SHORT_CHARACTERS:
        return list(events)
    return await asyncio.to_thread(list, events)


def _get_text(result: ToolResultBlock) -> str:
    return "\n".join(each.text for each in result.content if isinstance(each, TextBlock))


def _read_usage(usage: Any) -> TokenUsage | None:
    """Return the tokens of a prompt as the agent counted them."""
    if not is_table(usage):
        return None

    def read(name: str) -> int:
        value = usage.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            return 0
        return value if 0 <= value <= MAX_SAFE_INTEGER else 0

    return TokenUsage(
        input_tokens=read("inputTokens"),
        output_tokens=read("outputTokens"),
        cached_input_tokens=read("cachedReadTokens"),
        cache_creation_input_tokens=read("cachedWriteTokens"),
    )
