"""Headless mode.

The answer goes to standard output, everything else to standard error. There are no prompts:
tool calls that need an approval are denied immediately and listed at the end.
"""

import asyncio
import codecs
import logging
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from math import ceil
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO, TypeAlias

import msgspec
from msgspec.structs import replace

from yourtool.agent.commands import answers
from yourtool.agent.input.attachments import read_attachment
from yourtool.agent.money.budgets import describe_warning
from yourtool.agent.runtime import Runtime
from yourtool.agent.session.known_secrets import build_mask
from yourtool.agent.session.moved_sessions import describe_no_session
from yourtool.agent.session.session import Session
from yourtool.agent.session.turn_means import import_turn
from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.errors import SwapRefusedError, UsageError, YourtoolError
from yourtool.events.budgets import BudgetWarned
from yourtool.events.catalog import Event
from yourtool.events.codec import to_stored
from yourtool.events.deltas import Notice, RetryScheduled
from yourtool.foundation.amounts import format_duration
from yourtool.foundation.masking import NO_KEYS, Mask
from yourtool.foundation.text import printable, storable, storable_json
from yourtool.foundation.threads import use_bounded_threads
from yourtool.messages.blocks import ContentBlock, TextBlock
from yourtool.models import DEMO
from yourtool.paths import Paths, require_data_directory
from yourtool.providers.requests.output_schema import close_objects
from yourtool.run_result import (
    ExitCode,
    NoModelError,
    Outcome,
    Result,
    RunFailure,
    result_without_turn,
)
from yourtool.settings.config import RunOptions
from yourtool.settings.first_files import install_defaults
from yourtool.store.base import resolve_id
from yourtool.tools import validation
from yourtool.tools.schema import read_reply_schema

_log = logging.getLogger(__name__)

"""Schema keywords that do not constrain an answer."""

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt and the format of its answer."""

    prompt: str
    output: OutputFormat = "text"
    session: str | None = None
    """Session id or a prefix of one; empty: the last session of the directory."""
    schema: Path | None = None
    """File with the JSON schema that the answer must match."""


class Closable(Protocol):
    """A session or a runtime."""

    async def close(self) -> None:
        """Store the end of the session and release resources; idempotent."""
        ...


class Conversation(Protocol):
    """The part of a session that headless mode uses."""

    id: str

    @property
    def limit_reached(self) -> str | None:
        """Message about the limit that stopped the last turn; None if none did."""
        ...

    def send(self, content: str | tuple[ContentBlock, ...]) -> AsyncGenerator[Event, None]:
        """Run a turn."""
        ...

    def cancel(self) -> bool:
        """Stop the turn."""
        ...


class Printer:
    """Writes the answer in one of the three formats; a closed output raises no error."""

    def __init__(self, output: OutputFormat, out: TextIO, err: TextIO) -> None:
        self._output = output
        self._out = out
        self._err = err
        self._last_stderr = ""
        self.output_closed = False
        """Whether the reader of standard output has closed it."""

    def show(self, event: Event) -> None:
        """Write an event in `stream-json`; write warnings and retries to standard error.

        `finish` writes the reason for a failed turn.
        """
        match event:
            case Notice(level="warning", text=text):
                self.write_stderr(text)
            case BudgetWarned():
                self.write_stderr(describe_warning(event))
            case RetryScheduled():
                self.write_stderr(
                    f"{event.message}; retrying in {format_duration(ceil(event.delay_seconds))}"
                    f" ({event.attempt} of {event.max_attempts})."
                )
            case _:
                pass
        if self._output == "stream-json":
            self._write(_json_line(event))

    def finish(self, result: Result) -> None:
        """Write the answer, then denied calls and the error to standard error."""
        if self._output != "text":
            self._write(_json_line(result))
        elif result.result:
            self._write(result.result.removesuffix("\n") + "\n")
        for denial in result.permission_denials:
            options = " ".join(f"--allow {shlex.quote(rule)}" for rule in denial.rules)
            advice = f"; `{options}` allows it" if options else f": {denial.reason}"
            self.write_stderr(f"denied `{denial.tool_name}` {denial.input_summary}{advice}")
        if result.error is None:
            if not result.result.strip():
                self.write_stderr("the model returned no text")
        elif result.exit_code is not ExitCode.DENIED and result.error.message != self._last_stderr:
            self.write_stderr(result.error.message)

    def write_stderr(self, text: str) -> None:
        """Write to standard error."""
        self._last_stderr = text
        with suppress(BrokenPipeError):
            self._err.write(f"yourtool: {printable(text)}\n")

    def _write(self, text: str) -> None:
        if self.output_closed:
            return
        try:
            self._out.write(printable(text) if self._out.isatty() else storable(text))
            self._out.flush()
        except BrokenPipeError:
            self.output_closed = True


def run(paths: Paths, options: RunOptions, task: Task) -> int:
    """Run the task and return the exit code."""
    printer = Printer(task.output, sys.stdout, sys.stderr)
    try:
        result = asyncio.run(_run_task(paths, options, task, printer))
    except YourtoolError as error:
        result = result_without_turn(error)
    except BaseException as error:  # noqa: BLE001 - the top level: a reader waits for the result
        if not isinstance(error, KeyboardInterrupt):
            _log.exception("the run failed")
        result = result_without_turn(error, paths.log_file)
    if not printer.output_closed:
        printer.finish(result)
    return ExitCode.NO_READER if printer.output_closed else result.exit_code


async def _run_task(paths: Paths, options: RunOptions, task: Task, printer: Printer) -> Result:
    use_bounded_threads()
    if not task.prompt:
        raise UsageError("no prompt; pass one after `-p` or on standard input")
    await asyncio.to_thread(install_defaults, paths)
    await asyncio.to_thread(require_data_directory, paths)
    if task.schema is not None:
        options = replace(options, output_schema=await asyncio.to_thread(read_schema, task.schema))
    attached = await asyncio.to_thread(lambda: tuple(map(read_attachment, options.attachments)))
    _print_warnings([each.notice for each in attached if each.notice], printer)
    content = (TextBlock(task.prompt), *(each.block for each in attached))
    async with _closing(runtime := await Runtime.open(paths, options), printer):
        _print_warnings(runtime.take_warnings(), printer)
        preferred = options.model or runtime.default_models(options.workspace).preferred
        importing = asyncio.create_task(import_turn(runtime.registry, runtime.catalogue, preferred))
        session = await _open_session(runtime, task)
        await importing
        async with _closing(session, printer):
            _print_warnings(runtime.take_warnings(), printer)
            session.processes.show_with(printer.show)
            mask = await asyncio.to_thread(build_mask, paths, os.environ)
            command = task.prompt.startswith("/") and answers.find(task.prompt, session, runtime)
            result = await run_turn(command or session, content, printer, paths.log_file, mask)
        _print_warnings(session.hooks.take_last_warnings(), printer)
        return check_output_schema(options.output_schema, result)


def _print_warnings(warnings: Sequence[str], printer: Printer) -> None:
    for warning in warnings:
        printer.write_stderr(warning)


async def run_turn(
    session: Conversation,
    content: str | tuple[ContentBlock, ...],
    printer: Printer,
    log_file: Path | None = None,
    mask: Mask = NO_KEYS,
) -> Result:
    """Run one turn and print its events; SIGINT, SIGTERM and SIGHUP cancel it.

    An exception that ends the turn is part of the result, with the usage until then.
    """
    outcome = Outcome(mask)
    try:
        with _cancel_on_signals(session):
            async with aclosing(session.send(content)) as events:
                async for event in events:
                    outcome.apply(event)
                    printer.show(event)
                    if printer.output_closed:
                        session.cancel()
    except YourtoolError as error:
        outcome.fail(error)
    except Exception as error:  # noqa: BLE001 - the top level: a reader waits for the result
        _log.exception("the turn failed")
        outcome.fail(error, log_file)
    return outcome.result(session.id, session.limit_reached)


@asynccontextmanager
async def _closing(opened: Closable, printer: Printer) -> AsyncGenerator[None, None]:
    """Close a session or a runtime on exit; an error in closing does not replace the result."""
    try:
        yield
    finally:
        try:
            await opened.close()
        except Exception as error:  # noqa: BLE001 - the top level: a reader waits for the result
            _log.exception("closing failed")
            text = str(error) if isinstance(error, YourtoolError) else "closing failed"
            printer.write_stderr(text)


def read_schema(path: Path) -> dict[str, Any]:
    """Return the JSON schema in a file, with objects closed as all providers require.

    Raises:
        UsageError: the file cannot be read, or its schema is not supported by every provider.
    """
    try:
        schema = _parse_json(path.read_bytes().removeprefix(codecs.BOM_UTF8), dict[str, Any])
    except OSError as error:
        raise UsageError(f"`--output-schema {path}`: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"`--output-schema {path}` is not a JSON object: {error}") from error
    schema, problems = read_reply_schema(schema)
    if problems:
        raise UsageError(f"`--output-schema {path}` is not supported: {'; '.join(problems)}")
    return close_objects(schema)


def check_output_schema(schema: Mapping[str, Any] | None, result: Result) -> Result:
    """Return the result, as a failure if its text does not match the schema."""
    if schema is None or result.exit_code is not ExitCode.ANSWERED:
        return result
    try:
        problems = list(validation.iter_problems(schema, _parse_json(result.result, Any)))
    except ValueError as error:
        problems = [f"not JSON: {error}"]
    if not problems:
        return result
    failure = RunFailure(
        error_class="output_schema_validation_failed",
        message=f"the answer does not match the schema: {'; '.join(problems[:3])}",
    )
    return replace(result, is_error=True, error=failure, exit_code=ExitCode.FAILED)


def _parse_json(text: bytes | str, kind: Any) -> Any:
    """Return the value of JSON text.

    Raises:
        ValueError: the text is not JSON or is nested too deeply.
    """
    try:
        return storable_json(msgspec.json.decode(text, type=kind))
    except RecursionError:
        raise ValueError("nested too deeply") from None


@contextmanager
def _cancel_on_signals(session: Conversation) -> Generator[None, None, None]:
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
    """Deny every call that needs an approval: no user is present."""
    return Decision(
        verdict=Verdict.DENY, note=f"no user is present to approve `{confirmation.title}`"
    )


async def _open_session(runtime: Runtime, task: Task) -> Session:
    if task.session is None:
        _require_model(runtime)
        runtime.store.open_early()
        return await runtime.new_session(deny)
    session = await _resume_session(runtime, await _find_session_id(runtime, task.session))
    if session.state.model is None:
        try:
            _require_model(runtime)
        except NoModelError:
            await session.close()
            raise
    return session


async def _resume_session(runtime: Runtime, session_id: str) -> Session:
    """Open a stored session.

    Raises:
        NoModelError: the model of `--model` cannot continue it; the message lists alternatives.
    """
    try:
        return await runtime.resume(session_id, deny)
    except SwapRefusedError as refused:
        advice = ""
        if refused.media:
            advice += f" `--in-words` sends placeholders for the {refused.media}."
        if refused.fork_at:
            fork = f"yourtool sessions fork {session_id} --at {refused.fork_at}"
            advice += f" `{fork}` copies the session up to the first of them."
        advice += " Without `--model`, the session continues with its current model."
        raise NoModelError(f"{refused}{advice}") from refused


async def _find_session_id(runtime: Runtime, prefix: str) -> str:
    if prefix:
        return await resolve_id(runtime.store, prefix)
    workspace = runtime.options.workspace
    if (last := await runtime.find_last_session()) is None:
        raise UsageError(await describe_no_session(runtime.store, workspace))
    return last


def _require_model(runtime: Runtime) -> None:
    """Reject a run with the demo script unless the user chose it.

    Raises:
        NoModelError: no model is configured, and no provider has a key.
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
                f"no model is configured; choose a model of your server `{server}` with"
                f' `-m {server}:NAME` or with `model = "{server}:NAME"` in `config.toml`'
            )
        names = [row.key_env[0] for row in runtime.registry.providers() if row.key_env]
        raise NoModelError(
            f"no provider has a key; set {', '.join(f'`{name}`' for name in names)},"
            f" or add one to `{runtime.credentials.path}`; `-m demo:tour` shows a scripted demo"
        )


def _json_line(value: Event | Result) -> str:
    """Encode on one line; text that UTF-8 cannot represent, such as a file name, is replaced."""
    try:
        return msgspec.json.encode(to_stored(value)).decode() + "\n"
    except UnicodeEncodeError:
        plain = storable_json(msgspec.to_builtins(to_stored(value)))
        return msgspec.json.encode(plain).decode() + "\n"
