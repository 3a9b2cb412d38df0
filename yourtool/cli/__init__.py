"""Composition root.

Front ends and commands are imported on demand, so that each one starts without the others.

Where a change goes:

- a check of `yourtool doctor`: a function that returns a `Check` in `cli/doctor.py`, also for a
  damaged store
"""

import errno
import gc
import logging
import os
import select
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from yourtool import extensions
from yourtool.cli.arguments import Arguments, build_run_options
from yourtool.cli.logfile import log_to_file
from yourtool.cli.typed_keys import keys_for_interface
from yourtool.errors import UsageError, YourtoolError
from yourtool.foundation.installed_files import watch_files
from yourtool.foundation.text import printable
from yourtool.paths import Paths, require_data_directory, resolve_paths
from yourtool.process import prctl
from yourtool.process.early_prompt.handover import Handover
from yourtool.process.memory import SHORTAGE, is_shortage, require_memory
from yourtool.run_result import ExitCode, exit_code_for
from yourtool.settings.config import load_report
from yourtool.settings.first_files import install_defaults

_log = logging.getLogger(__name__)

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_FPS_VARIABLE = "TEXTUAL_FPS"
"""Textual's maximum frame rate: https://textual.textualize.io/api/constants/"""
_SILENT_SECONDS = 3.0
"""Time after which standard input seems to stay silent."""
_SWITCH_SECONDS = 0.0005
"""How long a thread that computes delays the event loop after each system call; usually 5 ms. A
library that a thread imports would otherwise stop the keys."""


def main(argv: Sequence[str], handover: Handover | None = None) -> int:
    """Run a command line and return the exit code; errors are printed in one or two lines.

    `handover` is that of the early prompt, if the terminal shows it.
    """
    try:
        try:
            return _main(argv, handover)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        return ExitCode.NO_READER
    except OSError as error:
        _print_error(f"cannot write the output: {error.strerror or error}")
        return ExitCode.FAILED


def _main(argv: Sequence[str], handover: Handover | None) -> int:
    paths: Paths | None = None
    try:
        with _released_on_error(handover):
            paths = resolve_paths()
            log_to_file(paths)
            arguments = _parse(argv)
            return _dispatch(arguments, resolve_paths(arguments.session_dir), handover)
    except YourtoolError as error:
        _print_error(str(error))
        return exit_code_for(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if getattr(error, "errno", None) in _DISK_FULL:
            raise
        _log.exception("the program failed")
        details = f"; see `{paths.log_file}`" if paths else ""
        _print_error(SHORTAGE if is_shortage(error) else f"internal error{details}")
        return ExitCode.FAILED


def _parse(argv: Sequence[str]) -> Arguments:
    """Parse a command line; an empty one needs no parser, whose import takes a while."""
    if not argv:
        with suppress(OSError):  # the directory was removed, which the parser reports
            return Arguments(workspace=Path.cwd().resolve(strict=True))
    return import_module("yourtool.cli.parsed_arguments").parse_arguments(argv)


@contextmanager
def _released_on_error(handover: Handover | None) -> Generator[None, None, None]:
    """Leave the early prompt before an error is printed."""
    try:
        yield
    except BaseException:
        if handover is not None:
            handover.release()
        raise


def _print_error(message: str) -> None:
    with suppress(OSError):  # standard error is closed, or the disk is full
        sys.stderr.write(f"yourtool: {printable(message)}\n")


def _dispatch(arguments: Arguments, paths: Paths, handover: Handover | None) -> int:
    if arguments.no_color:
        os.environ["NO_COLOR"] = "1"
    if arguments.command == "agents" and os.isatty(0) and os.isatty(1) and not arguments.json:
        arguments = replace(arguments, command="", first_prompt="/agents")
    if arguments.command:
        command = _import_command(arguments.command)
        _enable_gc()
        return command.run(paths, arguments)
    require_memory()
    if arguments.prompt is not None:
        return _run_headless(arguments, arguments.prompt, paths)
    install_defaults(paths)
    return _run_interface(arguments, paths, handover)


def _import_command(name: str) -> Any:
    for each in extensions.find_commands():
        if each.name == name:
            return extensions.load_command(each)
    return import_module(f"yourtool.cli.{name}")


def _run_headless(arguments: Arguments, prompt: str, paths: Paths) -> int:
    given = _read_standard_input(waits=not prompt.strip())
    full_prompt = "\n\n".join(part for part in (prompt, given) if part.strip())
    headless = import_module("yourtool.headless")
    _enable_gc()
    task = headless.Task(
        prompt=full_prompt,
        output=arguments.output_format,
        session="" if arguments.continue_last else arguments.resume,
        schema=arguments.output_schema,
    )
    return headless.run(paths, build_run_options(arguments, interactive=False), task)


def _read_standard_input(*, waits: bool) -> str:
    """Return what standard input has; an input that stays silent is left, unless it is needed."""
    if sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        return ""
    source = sys.stdin.buffer
    if not select.select([source], [], [], _SILENT_SECONDS)[0]:
        silent = f"standard input is open, and nothing came for {_SILENT_SECONDS:.0f} s"
        if not waits:
            _print_error(f"{silent}; going on without it (`-p` without a prompt waits)")
            return ""
        _print_error(f"{silent}; waiting for the prompt")
    try:
        return source.read().decode("utf-8-sig", "replace")
    except OSError as error:
        problem = f"standard input cannot be read: {error.strerror}; `</dev/null` replaces it"
        raise UsageError(problem) from error


def _run_interface(arguments: Arguments, paths: Paths, handover: Handover | None) -> int:
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "the interface needs a terminal on standard input and output;"
            ' without one, use `yourtool -p "PROMPT"`'
        )
    report = load_report(paths)
    report.require_usable()
    config = report.config
    if config.ui.linear:
        if handover is not None:
            handover.release()
        return _run_linear(arguments, paths)
    if (term := os.environ.get("TERM", "")) in ("", "dumb", "unknown"):
        raise UsageError(
            f"the interface cannot run on a terminal of type `{term}` without `[ui] linear = true`;"
            " set `TERM` to the type of your terminal, for example `xterm-256color`,"
            ' or use `yourtool -p "PROMPT"`, which prints plain text'
        )
    require_data_directory(paths)
    watch_files(str(Path(__file__).parents[1]))
    sys.setswitchinterval(_SWITCH_SECONDS)
    shows_early_prompt = handover is not None and handover.is_open
    with keys_for_interface(handover) as (take_keys, shell_settings):
        app = _import_interface().YourtoolApp(
            _runtime_opener(arguments, paths),
            highlight=_get_highlighter,
            theme=config.theme,
            resume=arguments.resume,
            continue_last=arguments.continue_last,
        )
        app.first_prompt = arguments.first_prompt
        app.first_message = arguments.first_message
        app.apply_settings(config.ui)
        app.config_warnings = import_module("yourtool.cli.config").get_ui_warnings(paths, report)
        app.take_keys, app.shell_settings = take_keys, shell_settings
        if shows_early_prompt:
            app.replace_early_prompt()
        app.run(mouse=config.ui.mouse)
    if app.failed:
        os._exit(ExitCode.FAILED)  # skip cleanup: the parent process restores the terminal
    _print_last_words(app.last_words)
    return app.return_code or ExitCode.ANSWERED


def _run_linear(arguments: Arguments, paths: Paths) -> int:
    """Run the interface that appends lines; the terminal stays in its line mode."""
    require_data_directory(paths)
    asyncio, linear = import_module("asyncio"), extensions.load_line_interface()
    if linear is None:
        raise UsageError(
            "`[ui] linear = true` needs the extension `linear`, which is not in this installation"
        )
    _enable_gc()
    open_runtime = _runtime_opener(arguments, paths)

    async def talk() -> None:
        await linear.open_conversation(
            await open_runtime(),
            arguments.resume,
            continue_last=arguments.continue_last,
            first_prompt=arguments.first_prompt,
        )

    asyncio.run(talk())
    return ExitCode.ANSWERED


def _print_last_words(text: str) -> None:
    """Print the text that stays in the terminal, which may be closed."""
    with suppress(OSError), os.fdopen(1, "w", encoding="utf-8", closefd=False) as terminal:
        terminal.write(text)


def _get_highlighter(language: str) -> Any:
    """Return the highlighter of a language; the first block of code imports the library."""
    return import_module("yourtool.tui.lines.highlight").get_highlighter(language)


def _import_interface() -> Any:
    """Import the interface with a higher frame rate than Textual's default.

    Keys pressed while a reply streams wait for the next frame; frames without changes cost
    nothing. Textual reads the variable on import, and child processes must not inherit it.
    """
    is_set = _FPS_VARIABLE in os.environ
    if not is_set:
        os.environ[_FPS_VARIABLE] = "120"
    try:
        return import_module("yourtool.tui.app")
    finally:
        if not is_set:
            del os.environ[_FPS_VARIABLE]


def _runtime_opener(arguments: Arguments, paths: Paths) -> Callable[[], Awaitable[Any]]:
    """Return a function that opens the runtime; called after the first paint: imports are slow."""

    async def open_runtime() -> Any:
        asyncio = import_module("asyncio")  # loaded by now; slow for other commands
        runtime = await asyncio.to_thread(import_module, "yourtool.agent.runtime")
        options = build_run_options(arguments, interactive=True)
        try:
            return await runtime.Runtime.open(paths, options)
        finally:
            _enable_gc()
            prctl.return_free_memory()  # of the imports

    return open_runtime


def _enable_gc() -> None:
    """Enable garbage collection and exclude the objects that exist now, which are permanent."""
    if not gc.isenabled():  # freeze once: later calls would also freeze a caller's garbage
        gc.freeze()
    gc.enable()
