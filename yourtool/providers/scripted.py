"""Adapter that plays a script.

A script is a sequence of replies, one for each request, or a function that answers a request. A
reply is made of steps: `says("I look.") + calls("read_file", path="a.txt")`. `demo:file` plays a
script from a JSON file:

    {"replies": [[{"say": "I look."}, {"call": "read_file", "input": {"path": "a.txt"}}],
                 [{"think": "Hm."}, {"pause": 0.5}, {"say": "Done."}],
                 [{"fail": "rate_limit", "message": "Slow down."}]]}
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from yourtool.effects import ToolDefinition
from yourtool.errors import (
    AdapterError,
    AuthError,
    ConfigError,
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    OtherAdapterError,
    RateLimitError,
    ServerError,
)
from yourtool.events.deltas import StreamEvent, TokenUsage
from yourtool.interrupt import Interrupted
from yourtool.messages.message import Message
from yourtool.messages.metadata import StopReason
from yourtool.providers.base import Request
from yourtool.providers.estimate import estimate_text, estimate_tokens
from yourtool.providers.replies.reply import Reply

WORDS_PER_SECOND = 80.0
_WORD = re.compile(r"\s*\S+|\s+")
_ERRORS: dict[str, type[AdapterError]] = {
    kind.error_class: kind
    for kind in (
        RateLimitError,
        AuthError,
        ServerError,
        NetworkError,
        ContextOverflowError,
        InvalidRequestError,
        OtherAdapterError,
    )
}


class Say(Struct, frozen=True):
    """Text, streamed word by word."""

    text: str


class Think(Struct, frozen=True):
    """Reasoning, streamed word by word."""

    text: str
    signature: str | None = None


class ScriptedCall(Struct, frozen=True):
    """A tool call; `raw` replaces `input` for arguments that are not a JSON object."""

    name: str
    input: dict[str, Any]
    raw: str | None = None


class Pause(Struct, frozen=True):
    """A pause, in seconds."""

    seconds: float


class ScriptedUsage(Struct, frozen=True):
    """The usage of the reply."""

    usage: TokenUsage


class Stop(Struct, frozen=True):
    """The stop reason of the reply."""

    reason: StopReason


class Fail(Struct, frozen=True):
    """The request fails here."""

    error: AdapterError


ScriptStep: TypeAlias = Say | Think | ScriptedCall | Pause | ScriptedUsage | Stop | Fail


class ScriptLine(Struct, frozen=True):
    """One reply of a script."""

    steps: tuple[ScriptStep, ...] = ()

    def __add__(self, other: "ScriptLine") -> "ScriptLine":
        return ScriptLine(self.steps + other.steps)


ScriptedAnswer: TypeAlias = Callable[[Request], ScriptLine]


def says(text: str) -> ScriptLine:
    """Return a reply with text."""
    return ScriptLine((Say(text),))


def thinks(text: str, signature: str | None = None) -> ScriptLine:
    """Return a reply with reasoning."""
    return ScriptLine((Think(text, signature),))


def calls(tool: str, /, **arguments: Any) -> ScriptLine:
    """Return a reply with a tool call."""
    return ScriptLine((ScriptedCall(tool, arguments),))


def counts(usage: TokenUsage) -> ScriptLine:
    """Return a reply with usage."""
    return ScriptLine((ScriptedUsage(usage),))


def stops(reason: StopReason) -> ScriptLine:
    """Return a reply with another stop reason than the default."""
    return ScriptLine((Stop(reason),))


def fails(error: AdapterError) -> ScriptLine:
    """Return a reply that fails."""
    return ScriptLine((Fail(error),))


class Scripted:
    """Adapter that plays a script from the start for each session and records its requests."""

    def __init__(
        self,
        script: Sequence[ScriptLine] | ScriptedAnswer,
        *,
        words_per_second: float | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`words_per_second` None: no delay between words."""
        self.requests: list[Request] = []
        self._script = script
        self.words_per_second = words_per_second
        self._sleep = sleep

    def encode_ahead(self, request: Request) -> None:
        """Do nothing: nothing is sent."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Play the next reply.

        Raises:
            AdapterError: the script has a `Fail` step, or has ended.
        """
        line = self._line(request)
        reply = Reply(request)
        reply.update_usage(await asyncio.to_thread(_usage, request, line))
        try:
            for number, step in enumerate(line.steps):
                async for event in self._play(number, step, request, reply):
                    yield event
        except Interrupted:
            ending = reply.cancel()
        except AdapterError as error:
            for event in reply.fail(error):
                yield event
            if not any(isinstance(step, ScriptedUsage) for step in line.steps):
                error.usage = None  # without a usage step there is no usage
            raise
        else:
            reply.stop_reason = _stop_reason(line)
            ending = reply.finish()
        for event in ending:
            yield event

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition]
    ) -> int:
        """Estimate the size of the prompt."""
        return estimate_tokens(messages, tools)

    async def close(self) -> None:
        """Do nothing."""

    def _line(self, request: Request) -> ScriptLine:
        self.requests.append(request)
        if callable(self._script):
            return self._script(request)
        number = sum(earlier.session_id == request.session_id for earlier in self.requests)
        if number > len(self._script):
            raise InvalidRequestError(
                f"the script of `{request.model.id}` ends after {len(self._script)} replies"
            )
        return self._script[number - 1]

    async def _play(
        self, number: int, step: ScriptStep, request: Request, reply: Reply
    ) -> AsyncGenerator[StreamEvent, None]:
        match step:
            case Say(text):
                for word in _words(text):
                    await self._wait(request)
                    for event in reply.add_text(word):
                        yield event
            case Think(text, signature):
                for word in _words(text):
                    await self._wait(request)
                    for event in reply.add_thinking(word):
                        yield event
                for event in reply.add_signature(signature) if signature else ():
                    yield event
            case ScriptedCall(name, arguments, raw):
                request.interrupt.check()
                written = msgspec.json.encode(arguments).decode() if raw is None else raw
                for events in (
                    reply.start_call(number, f"call_{request.message_id}_{number}", name),
                    reply.add_arguments(number, written),
                    reply.close_call(number),
                ):
                    for event in events:
                        yield event
            case Pause(seconds):
                await request.interrupt.guard(self._sleep(seconds))
            case Fail(error):
                raise error
            case ScriptedUsage() | Stop():
                pass

    async def _wait(self, request: Request) -> None:
        request.interrupt.check()
        if pace := self.words_per_second:
            await request.interrupt.guard(self._sleep(1 / pace))


class _FileStep(Struct, frozen=True, forbid_unknown_fields=True):
    say: str | None = None
    think: str | None = None
    call: str | None = None
    input: dict[str, Any] = {}
    pause: float | None = None
    fail: str | None = None
    message: str = "The script says so."
    usage: TokenUsage | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    replies: tuple[tuple[_FileStep, ...], ...]


def read_script(path: Path) -> tuple[ScriptLine, ...]:
    """Read a script from a JSON file.

    Raises:
        ConfigError: the message names the file and the position.
    """
    try:
        content = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"`{path}` is not a script: {error}") from error
    return tuple(
        ScriptLine(tuple(_step(path, number, step) for step in steps))
        for number, steps in enumerate(content.replies, start=1)
    )


def _step(path: Path, reply: int, step: _FileStep) -> ScriptStep:
    match step:
        case _FileStep(say=str(text)):
            return Say(text)
        case _FileStep(think=str(text)):
            return Think(text)
        case _FileStep(call=str(name)):
            return ScriptedCall(name, step.input)
        case _FileStep(pause=float(seconds)):
            return Pause(seconds)
        case _FileStep(usage=TokenUsage() as usage):
            return ScriptedUsage(usage)
        case _FileStep(fail=str(kind)) if kind in _ERRORS:
            return Fail(_ERRORS[kind](step.message))
        case _FileStep(fail=str(kind)):
            known = ", ".join(f"`{name}`" for name in _ERRORS)
            raise ConfigError(f"`{path}`, reply {reply}: `{kind}` is none of {known}")
        case _:
            raise ConfigError(
                f"`{path}`, reply {reply}: a step has one of `say`, `think`, `call`, `pause`,"
                " `usage`, `fail`"
            )


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _stop_reason(line: ScriptLine) -> StopReason:
    for step in line.steps:
        if isinstance(step, Stop):
            return step.reason
    has_calls = any(isinstance(step, ScriptedCall) for step in line.steps)
    return StopReason.TOOL_USE if has_calls else StopReason.END_TURN


def _usage(request: Request, line: ScriptLine) -> TokenUsage:
    for step in line.steps:
        if isinstance(step, ScriptedUsage):
            return step.usage
    said = sum(estimate_text(step.text) for step in line.steps if isinstance(step, Say | Think))
    return TokenUsage(
        input_tokens=estimate_tokens(request.messages, request.tools),
        output_tokens=max(1, round(said)),
    )
