"""One prompt in; text, one JSON object or a line per event out; and an exit code.

The answer goes to standard output and everything else to standard error. Nothing ever asks: what
would need consent is denied at once and listed.
"""

import asyncio
import codecs
import logging
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from math import ceil
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.attachments import read_attachment
from yourtool.agent.environment import RunOptions
from yourtool.agent.known_keys import known_mask
from yourtool.agent.runtime import DEMO, Runtime
from yourtool.agent.session import Session
from yourtool.amounts import format_duration
from yourtool.deltas import Notice, RetryScheduled
from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.errors import SwapRefusedError, UsageError, YourtoolError
from yourtool.events import Event
from yourtool.masking import NO_KEYS, Mask
from yourtool.messages import ContentBlock, TextBlock
from yourtool.paths import Paths, require_data_directory
from yourtool.providers.requests.output_schema import close_objects
from yourtool.run_result import ExitCode, NoModelError, Outcome, Result, RunFailure, failed_before
from yourtool.text import printable, storable, storable_json
from yourtool.tools import schema as json_schema

_log = logging.getLogger(__name__)

_ABOUT_THE_FILE = ("$schema", "$id", "$comment")
"""Keywords that demand nothing of an answer."""
_UNBOUNDED = frozenset({"pattern"})
"""A regular expression can take longer than anyone waits, and the answer is checked on the loop."""

Format: TypeAlias = Literal["text", "json", "stream-json"]


class Task(Struct, frozen=True, kw_only=True):
    """What is to be answered, and how the answer is written."""

    prompt: str
    output: Format = "text"
    session: str | None = None
    """The beginning of a session id; empty: the last session of the directory."""
    schema: Path | None = None
    """The file of the JSON schema that the answer is held to."""


class CostBudget(Protocol):
    """What headless reads of a session's limits."""

    reached: str | None


class Closable(Protocol):
    """A session or a runtime."""

    async def close(self) -> None:
        """Write the end and release what was held; idempotent."""
        ...


class Conversation(Protocol):
    """What headless needs of a session."""

    id: str

    @property
    def budget(self) -> CostBudget:
        """The limits of the run."""
        ...

    def send(self, content: str | tuple[ContentBlock, ...]) -> AsyncGenerator[Event, None]:
        """Run a turn."""
        ...

    def cancel(self) -> bool:
        """Stop the turn."""
        ...


class Printer:
    """Writes the answer in one of the three formats; a reader who left stops nothing else."""

    def __init__(self, output: Format, out: TextIO, err: TextIO) -> None:
        self._output = output
        self._out = out
        self._err = err
        self._said = ""
        self.abandoned = False
        """Nobody reads standard output any more."""

    def show(self, event: Event) -> None:
        """Write one event where the format has a line for each; warnings go to standard error.

        What made the turn fail is told at its end.
        """
        match event:
            case Notice(level="warning", text=text):
                self.say(text)
            case RetryScheduled():
                self.say(
                    f"{event.message}; trying again in {format_duration(ceil(event.delay_seconds))}"
                    f" ({event.attempt} of {event.max_attempts})."
                )
            case _:
                pass
        if self._output == "stream-json":
            self._write(_line(event))

    def finish(self, result: Result) -> None:
        """Write the answer, and what the user should know beside it."""
        if self._output != "text":
            self._write(_line(result))
        elif result.result:
            self._write(result.result.removesuffix("\n") + "\n")
        for denial in result.permission_denials:
            way_out = (
                "`--allow RULE` or `--mode` allows it unless a rule denies it"
                if denial.rule is None
                else f"`--allow {shlex.quote(denial.rule)}` permits it"
            )
            self.say(f"denied `{denial.tool_name}` {denial.input_summary}; {way_out}")
        if result.error is None:
            if not result.result.strip():
                self.say("the model said nothing")
        elif result.exit_code is not ExitCode.DENIED and result.error.message != self._said:
            self.say(result.error.message)

    def say(self, text: str) -> None:
        """Write to standard error."""
        self._said = text
        with suppress(BrokenPipeError):
            self._err.write(f"yourtool: {printable(text)}\n")

    def _write(self, text: str) -> None:
        if self.abandoned:
            return
        try:
            self._out.write(printable(text) if self._out.isatty() else storable(text))
            self._out.flush()
        except BrokenPipeError:
            self.abandoned = True


def run(paths: Paths, options: RunOptions, task: Task) -> int:
    """Answer the task's prompt and return the exit code."""
    printer = Printer(task.output, sys.stdout, sys.stderr)
    try:
        result = asyncio.run(_answer(paths, options, task, printer))
    except YourtoolError as error:
        result = failed_before(error)
    except BaseException as error:  # noqa: BLE001 - the top level: a reader waits for the result
        if not isinstance(error, KeyboardInterrupt):
            _log.exception("the run failed")
        result = failed_before(error, paths.log_file)
    if not printer.abandoned:
        printer.finish(result)
    return ExitCode.NO_READER if printer.abandoned else result.exit_code


async def _answer(paths: Paths, options: RunOptions, task: Task, printer: Printer) -> Result:
    await asyncio.to_thread(require_data_directory, paths)
    if task.schema is not None:
        schema = await asyncio.to_thread(read_schema, task.schema)
        options = replace(options, output_schema=schema)
    attached = await asyncio.to_thread(lambda: tuple(map(read_attachment, options.attachments)))
    for remark in (each.remark for each in attached if each.remark):
        printer.say(remark)
    said = (TextBlock(task.prompt), *(each.block for each in attached))
    content = said if attached else task.prompt
    runtime = await Runtime.open(paths, options)
    async with _closing(runtime, printer):
        _warn(runtime, printer)
        session = await _open(runtime, task)
        async with _closing(session, printer):
            _warn(runtime, printer)
            mask = await asyncio.to_thread(known_mask, paths, os.environ)
            result = await turn(session, content, printer, paths.log_file, mask)
            return held_to(options.output_schema, result)


def _warn(runtime: Runtime, printer: Printer) -> None:
    for warning in runtime.take_warnings():
        printer.say(warning)


async def turn(
    session: Conversation,
    content: str | tuple[ContentBlock, ...],
    printer: Printer,
    log_file: Path | None = None,
    mask: Mask = NO_KEYS,
) -> Result:
    """Run one turn to its end, showing every event; SIGINT and SIGTERM stop it in order.

    An exception that ends it is part of the result, beside what was done and used until then.
    """
    outcome = Outcome(mask)
    try:
        with _stopped_by_signals(session):
            async with aclosing(session.send(content)) as events:
                async for event in events:
                    outcome.take(event)
                    printer.show(event)
                    if printer.abandoned:
                        session.cancel()
    except YourtoolError as error:
        outcome.fail(error)
    except Exception as error:  # noqa: BLE001 - the top level: a reader waits for the result
        _log.exception("the turn failed")
        outcome.fail(error, log_file)
    return outcome.result(session.id, session.budget.reached)


@asynccontextmanager
async def _closing(opened: Closable, printer: Printer) -> AsyncGenerator[None, None]:
    """Close a session or a runtime in the end; a failure to do so does not replace the result."""
    try:
        yield
    finally:
        try:
            await opened.close()
        except Exception as error:  # noqa: BLE001 - the top level: a reader waits for the result
            _log.exception("closing failed")
            printer.say(str(error) if isinstance(error, YourtoolError) else "closing failed")


def read_schema(path: Path) -> dict[str, Any]:
    """Return the JSON schema of an answer, its objects closed as every provider has them.

    Raises:
        UsageError: the file cannot be read, or holds no schema that every provider takes.
    """
    try:
        schema = _decoded(path.read_bytes().removeprefix(codecs.BOM_UTF8), dict[str, Any])
    except OSError as error:
        raise UsageError(f"`--output-schema {path}`: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"`--output-schema {path}` is no JSON object: {error}") from error
    schema = {name: part for name, part in schema.items() if name not in _ABOUT_THE_FILE}
    if problems := json_schema.check(schema, without=_UNBOUNDED):
        raise UsageError(f"`--output-schema {path}` cannot be used: {'; '.join(problems)}")
    return close_objects(schema)


def held_to(schema: Mapping[str, Any] | None, result: Result) -> Result:
    """Return the result, as a failure if its text is not what the schema wants."""
    if schema is None or result.exit_code is not ExitCode.ANSWERED:
        return result
    try:
        problems = json_schema.validate_arguments(schema, _decoded(result.result, Any))
    except ValueError as error:
        problems = [f"it is not JSON: {error}"]
    if not problems:
        return result
    failure = RunFailure(
        error_class="output_schema_validation_failed",
        message=f"the answer does not fit the schema: {'; '.join(problems[:3])}",
    )
    return replace(result, is_error=True, error=failure, exit_code=ExitCode.FAILED)


def _decoded(text: bytes | str, kind: Any) -> Any:
    """Return JSON that a user or a model wrote; `ValueError`: it is none, or nested too deeply."""
    try:
        return storable_json(msgspec.json.decode(text, type=kind))
    except RecursionError:
        raise ValueError("nested too deeply") from None


@contextmanager
def _stopped_by_signals(session: Conversation) -> Generator[None, None, None]:
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, session.cancel)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def deny(confirmation: Confirmation) -> Decision:
    """Answer every question with no; nobody is there."""
    return Decision(
        verdict=Verdict.DENY, note=f"no one is there to be asked about `{confirmation.title}`"
    )


async def _open(runtime: Runtime, task: Task) -> Session:
    if task.session is None:
        _require_model(runtime)
        return await runtime.new_session(deny)
    session = await _resumed(runtime, await _stored(runtime, task.session))
    if session.state.model is None:
        try:
            _require_model(runtime)
        except NoModelError:
            await session.close()
            raise
    return session


async def _resumed(runtime: Runtime, session_id: str) -> Session:
    """Open a stored session.

    Raises:
        NoModelError: the model of `--model` cannot take it; the text has the ways out.
    """
    try:
        return await runtime.resume(session_id, deny)
    except SwapRefusedError as refused:
        ways = ""
        if refused.media:
            ways += f" `--in-words` sends placeholders for the {refused.media} so far."
        if refused.fork_at:
            fork = f"yourtool sessions fork {session_id} --at {refused.fork_at}"
            ways += f" `{fork}` copies the session up to the first of them."
        kept = "Without `--model`, the session goes on with the model that it has."
        raise NoModelError(f"{refused}{ways} {kept}") from refused


async def _stored(runtime: Runtime, prefix: str) -> str:
    if prefix:
        return await runtime.sessions.resolve_id(prefix)
    workspace = runtime.options.workspace
    if (last := await runtime.last_session()) is None:
        raise UsageError(f"There is no session in `{workspace}` to continue yet.")
    return last


def _require_model(runtime: Runtime) -> None:
    """Refuse to answer with the demo's script unless the user chose it.

    Raises:
        NoModelError: no model is chosen, and no provider has a key.
    """
    here = runtime.config.workspaces.get(str(runtime.options.workspace))
    if runtime.options.model or runtime.config.model or (here is not None and here.model):
        return
    if runtime.registry.default_model().startswith(f"{DEMO}:"):
        own = [
            name
            for name in runtime.config.providers
            if runtime.registry.configuration_problem(name) is None
        ]
        if (server := next((name for name in own if name != DEMO), None)) is not None:
            raise NoModelError(
                f"no model is chosen; name one of your server `{server}` with `-m {server}:NAME`,"
                f' or with `model = "{server}:NAME"` in `config.toml`'
            )
        names = [row.key_env[0] for row in runtime.registry.providers() if row.key_env]
        raise NoModelError(
            f"no provider has a key; set {', '.join(f'`{name}`' for name in names)},"
            f" or put one into `{runtime.credentials.path}`; `-m demo:tour` shows a script"
        )


def _line(value: Event | Result) -> str:
    """Encode on one line; text that UTF-8 cannot hold, such as a file's name, is replaced."""
    try:
        return msgspec.json.encode(value).decode() + "\n"
    except UnicodeEncodeError:
        plain = storable_json(msgspec.to_builtins(value))
        return msgspec.json.encode(plain).decode() + "\n"
