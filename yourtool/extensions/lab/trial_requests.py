"""Test requests for the capabilities of models.

A server can report a window and truncate prompts without an error, as Ollama does with its
API for OpenAI's clients (https://docs.ollama.com/faq). A long prompt with a code word at its start
and one in its middle shows it: either the model repeats both, or the server counts fewer tokens
than were sent.
"""

import base64
import secrets
import struct
import zlib
from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import SideEffects, ToolDefinition
from yourtool.errors import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    OtherAdapterError,
    RateLimitError,
)
from yourtool.events.deltas import MessageComplete
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import ContentBlock, ImageBlock, ImageSource, TextBlock, ToolUseBlock
from yourtool.messages.message import PromptMessage, now
from yourtool.messages.metadata import StopReason
from yourtool.models import Model
from yourtool.providers.base import Adapter, Request
from yourtool.providers.catalogue.trials import ModelTrial
from yourtool.providers.estimate import estimate_text
from yourtool.providers.media_types import IMAGE_TYPES
from yourtool.providers.prices import cost
from yourtool.providers.tool_ids import ToolIdMap

MAX_PROMPT_TOKENS = 32_768
"""Of the longest test prompt: a larger one takes a server on this machine many minutes."""
_MIN_PROMPT_TOKENS = 1_024
_MAX_REPLY_TOKENS = 1_024
_FILLED = 0.8
"""The share of the window that the test prompt fills: the estimate of its tokens can be wrong."""
_COMPLETE = 0.7
"""A server that counts a smaller share of the estimated tokens did not read the entire prompt."""
_SHORT_PROMPTS_TOKENS = 2_000
"""Of all test requests except the long prompts, at most."""
_LINE = "The quick brown fox jumps over the lazy dog, and the dog sleeps on.\n"
_TOOL = ToolDefinition(
    name="report_number",
    description="Report a number to the user.",
    input_schema={
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
    },
    side_effects=SideEffects.NONE,
)
_COLOURS = {"blue": (0, 0, 255), "yellow": (255, 255, 0)}
_SIDE = 128
"""Pixels of the test image: some models reject smaller ones."""


class TrialResult(Struct, frozen=True, kw_only=True):
    """A trial with the problems and the price of its requests."""

    trial: ModelTrial
    problems: tuple[str, ...]
    requests: int
    tokens: int
    cost_usd: Decimal | None
    """None: the model has no price."""


def estimate_trial_tokens(model: Model) -> int:
    """Return how many tokens the test requests have, unless the model turns out to be limited."""
    return _SHORT_PROMPTS_TOKENS + _longest_prompt(model)


async def run_trial(adapter: Adapter, model: Model) -> TrialResult:
    """Send the test requests to a model, one after the other.

    Raises:
        AdapterError: the model does not answer at all.
    """
    return await _Trial(adapter, model).run()


class _Trial:
    """The requests of one trial, and what they showed so far."""

    def __init__(self, adapter: Adapter, model: Model) -> None:
        self._adapter = adapter
        self._model = model
        self._problems: list[str] = []
        self._requests, self._tokens, self._cost = 0, 0, Decimal(0)

    async def run(self) -> TrialResult:
        streaming = await self._try_streaming()
        can = replace(self._model.capabilities, supports_streaming=streaming)
        self._model = replace(self._model, capabilities=can)
        tools = await self._try_tools()
        images = await self._try_image()
        window, is_limited = await self._try_window()
        return TrialResult(
            trial=ModelTrial(
                model=self._model.id,
                at=datetime.now(UTC),
                streaming=streaming,
                tools=tools,
                images=images,
                window=window,
                is_limited=is_limited,
            ),
            problems=tuple(self._problems),
            requests=self._requests,
            tokens=self._tokens,
            cost_usd=None if self._model.price is None else self._cost,
        )

    async def _try_streaming(self) -> bool:
        """Return whether a streamed request has a reply; if not, an unstreamed one must have one.

        Raises:
            AdapterError: neither has a reply.
        """
        question = TextBlock("Reply with the word `ready` and nothing else.")
        for streaming in (True, False):
            can = replace(self._model.capabilities, supports_streaming=streaming)
            try:
                reply = await self._ask(replace(self._model, capabilities=can), question)
            except (AuthError, RateLimitError):
                raise
            except AdapterError as error:
                if not streaming:
                    raise
                self._problems.append(f"streaming: {error}")
                continue
            if reply.final_content:
                return streaming
        raise OtherAdapterError(f"`{self._model.id}` sends empty replies")

    async def _try_tools(self) -> bool | None:
        can = replace(
            self._model.capabilities,
            supports_tools=True,
            supports_streaming_tool_calls=self._model.capabilities.supports_streaming,
        )
        question = TextBlock("Call the tool `report_number` with the number 4711.")
        try:
            reply = await self._ask(
                replace(self._model, capabilities=can), question, tools=(_TOOL,)
            )
        except AdapterError as error:
            return self._explain_failure("tools", error)
        calls = [block for block in reply.final_content if isinstance(block, ToolUseBlock)]
        has_called = any(each.name == _TOOL.name and "number" in each.input for each in calls)
        return _judge(reply, is_shown=has_called)

    async def _try_image(self) -> bool | None:
        can = replace(
            self._model.capabilities, supports_images=True, accepted_image_media_types=IMAGE_TYPES
        )
        data = base64.b64encode(_two_coloured_png()).decode()
        image = ImageBlock(ImageSource("base64", data), "image/png", (_SIDE, _SIDE))
        question = TextBlock(
            "Which two colours does this image have? Reply with the two words only."
        )
        try:
            reply = await self._ask(replace(self._model, capabilities=can), image, question)
        except AdapterError as error:
            return self._explain_failure("images", error)
        answer = _text_of(reply).lower()
        return _judge(reply, is_shown=all(name in answer for name in _COLOURS))

    async def _try_window(self) -> tuple[int | None, bool]:
        """Return the tokens of the longest prompt that arrives, and whether a longer one fails.

        The server's own count of a truncated prompt is the window; without one, shorter prompts
        are sent until one arrives.
        """
        longest = _longest_prompt(self._model)
        is_counted = False
        for size in _halve(longest):
            try:
                counted, has_words = await self._send_long_prompt(size)
            except ContextOverflowError:
                counted, has_words = 0, False
            except AdapterError as error:
                self._problems.append(f"window: {error}")
                return None, False
            if has_words:
                is_plausible = size < counted < size / _COMPLETE
                return counted if is_plausible else size, size < longest
            if 0 < counted < _COMPLETE * size:
                return counted, True
            is_counted = is_counted or (counted > 0 and size == longest)
        if is_counted:  # the server read the entire prompt: the model does not find code words
            return longest, False
        self._problems.append("window: the model repeats no code word, even of a short prompt")
        return None, False

    async def _send_long_prompt(self, size: int) -> tuple[int, bool]:
        """Return how many tokens of a prompt the server counts, and whether both words arrived."""
        words = f"amber-{secrets.token_hex(2)}", f"cedar-{secrets.token_hex(2)}"
        half = _LINE * max(1, round(size / estimate_text(_LINE, self._model.id) / 2))
        question = TextBlock(
            f"The first code word is {words[0]}.\n{half}The second code word is {words[1]}.\n"
            f"{half}Reply with the two code words of this text and nothing else."
        )
        reply = await self._ask(self._model, question)
        answer = _text_of(reply).lower()
        return reply.usage.prompt_tokens, all(word in answer for word in words)

    async def _ask(
        self, model: Model, *content: ContentBlock, tools: tuple[ToolDefinition, ...] = ()
    ) -> MessageComplete:
        """Send a prompt and return the reply.

        Raises:
            AdapterError: the request failed.
        """
        prompt = PromptMessage(id=new_id(), session_id="trial", content=content, created_at=now())
        request = Request(
            request_id=new_id(),
            session_id=prompt.session_id,
            message_id=new_id(),
            model=model,
            messages=(prompt,),
            tools=tools,
            max_output_tokens=min(_MAX_REPLY_TOKENS, model.capabilities.max_output_tokens),
            temperature=0 if model.accepts_temperature else None,
            effort="off",
            tool_ids=ToolIdMap(),
            interrupt=Interrupt(),
        )
        self._requests += 1
        reply: MessageComplete | None = None
        async with aclosing(self._adapter.stream(request)) as events:
            async for event in events:
                reply = event if isinstance(event, MessageComplete) else reply
        if reply is None:
            raise OtherAdapterError(f"`{model.id}` sent no complete reply")
        self._tokens += reply.usage.prompt_tokens + reply.usage.output_tokens
        self._cost += cost(reply.usage, model.price) or 0
        return reply

    def _explain_failure(self, subject: str, error: AdapterError) -> bool | None:
        """Add a problem; return False if the model rejects what is tested, else None."""
        self._problems.append(f"{subject}: {error}")
        return False if isinstance(error, InvalidRequestError) else None


def _halve(longest: int) -> Iterator[int]:
    """Yield the sizes of the test prompts, in tokens; the last is the smallest that is useful."""
    size = longest
    while size > _MIN_PROMPT_TOKENS:
        yield size
        size //= 2
    yield min(_MIN_PROMPT_TOKENS, longest)


def _judge(reply: MessageComplete, *, is_shown: bool) -> bool | None:
    """Return whether a reply shows a capability; None: it ended too early to refute it."""
    if reply.stop_reason is StopReason.MAX_TOKENS and not is_shown:
        return None
    return is_shown


def _text_of(reply: MessageComplete) -> str:
    return "".join(block.text for block in reply.final_content if isinstance(block, TextBlock))


def _longest_prompt(model: Model) -> int:
    """Return the estimated tokens of the longest test prompt."""
    can = model.capabilities
    space = can.max_context_tokens - min(_MAX_REPLY_TOKENS, can.max_output_tokens)
    return min(MAX_PROMPT_TOKENS, max(1, round(_FILLED * space)))


def _two_coloured_png() -> bytes:
    """Return an image with one colour on the left and another on the right (RFC 2083)."""
    row = b"\0" + b"".join(bytes(colour) * (_SIDE // 2) for colour in _COLOURS.values())

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    content = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * _SIDE))
    return b"\x89PNG\r\n\x1a\n" + content + chunk(b"IEND", b"")
