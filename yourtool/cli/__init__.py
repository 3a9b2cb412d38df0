"""The composition root: reads the command line and hands over to what was asked for.

Front ends and commands are imported when they are chosen, so that none pays for another.
"""

import asyncio
import errno
import gc
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from yourtool.cli.arguments import Arguments, read_arguments
from yourtool.cli.logfile import log_to_file
from yourtool.config import install_defaults, load_config
from yourtool.errors import UsageError, YourtoolError
from yourtool.memory import SHORTAGE, is_shortage
from yourtool.paths import Paths, require_data_directory, resolve_paths
from yourtool.run_result import ExitCode, exit_of
from yourtool.text import printable

_log = logging.getLogger(__name__)

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_FRAMES = "TEXTUAL_FPS"
"""How often Textual draws at most: https://textual.textualize.io/api/constants/"""


def main(argv: Sequence[str]) -> int:
    """Obey a command line and return the exit code; what goes wrong is told in a line or two."""
    try:
        try:
            return _main(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        return ExitCode.NO_READER
    except OSError as error:
        _complain(f"the output cannot be written: {error.strerror or error}")
        return ExitCode.FAILED


def _main(argv: Sequence[str]) -> int:
    paths: Paths | None = None
    try:
        paths = resolve_paths()
        log_to_file(paths)
        arguments = read_arguments(argv)
        return _obey(arguments, resolve_paths(arguments.session_dir))
    except YourtoolError as error:
        _complain(str(error))
        return exit_of(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if getattr(error, "errno", None) in _DISK_FULL:
            raise
        _log.exception("the program failed")
        where = f"; `{paths.log_file}` says why" if paths else ""
        _complain(SHORTAGE if is_shortage(error) else f"internal error{where}")
        return ExitCode.FAILED


def _complain(message: str) -> None:
    with suppress(OSError):  # nobody reads it, or the disk is full
        sys.stderr.write(f"yourtool: {printable(message)}\n")


def _obey(arguments: Arguments, paths: Paths) -> int:
    if arguments.no_color:
        os.environ["NO_COLOR"] = "1"
    if arguments.command:
        command = import_module(f"yourtool.cli.{arguments.command}")
        _loaded()
        return command.run(paths, arguments)
    install_defaults(paths)
    if arguments.prompt is not None:
        return _answer(arguments, arguments.prompt, paths)
    return _open_interface(arguments, paths)


def _answer(arguments: Arguments, prompt: str, paths: Paths) -> int:
    whole = "\n\n".join(part for part in (prompt, _standard_input()) if part.strip())
    if not whole:
        raise UsageError("there is no prompt: give one after `-p`, or on standard input")
    headless = import_module("yourtool.headless")
    _loaded()
    task = headless.Task(
        prompt=whole,
        output=arguments.output_format,
        session="" if arguments.proceed else arguments.resume,
        schema=arguments.output_schema,
    )
    return headless.run(paths, _run_options(arguments, interactive=False), task)


def _standard_input() -> str:
    if sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        return ""
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def _open_interface(arguments: Arguments, paths: Paths) -> int:
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "the interface needs a terminal on standard input and output;"
            ' without one, use `yourtool -p "PROMPT"`'
        )
    if (term := os.environ.get("TERM", "")) in ("", "dumb", "unknown"):
        raise UsageError(
            f"the interface cannot be drawn on a terminal of type `{term}`;"
            " set `TERM` to what it is, such as `xterm-256color`,"
            ' or use `yourtool -p "PROMPT"`, which prints plain text'
        )
    require_data_directory(paths)
    with import_module("yourtool.tui.typeahead").type_ahead() as typed_ahead:
        config = load_config(paths)
        app = _interface().YourtoolApp(
            _runtime_opener(arguments, paths),
            load_highlight=lambda: import_module("yourtool.tui.highlight").highlighter_of,
            theme=config.theme,
            resume=arguments.resume or None,
            continue_last=arguments.proceed,
            pick_session=arguments.resume == "",
        )
        app.typed_ahead = typed_ahead
        if config.ui.ascii:
            app.draw_plainly()
        app.run()
    if app.failed:
        os._exit(ExitCode.FAILED)  # not in order: the parent process restores the terminal
    return app.return_code or ExitCode.ANSWERED


def _interface() -> Any:
    """Import the interface and let it draw more often than the toolkit would.

    A key that comes while a reply streams waits for the next frame; frames without news cost
    nothing. The toolkit reads the variable when it is imported, and no child is to see it.
    """
    if _FRAMES in os.environ:
        return import_module("yourtool.tui.app")
    os.environ[_FRAMES] = "120"
    try:
        return import_module("yourtool.tui.app")
    finally:
        del os.environ[_FRAMES]


def _runtime_opener(arguments: Arguments, paths: Paths) -> Callable[[], Awaitable[Any]]:
    """Return what the interface calls after its first paint, for the imports take a while."""

    async def open_runtime() -> Any:
        options = await asyncio.to_thread(_run_options, arguments, interactive=True)
        try:
            return await import_module("yourtool.agent.runtime").Runtime.open(paths, options)
        finally:
            _loaded()

    return open_runtime


def _loaded() -> None:
    """Look for garbage from now on, but never again among what is there for good."""
    if not gc.get_freeze_count():  # a caller's garbage is not frozen with every call
        gc.freeze()
    gc.enable()


def _run_options(arguments: Arguments, *, interactive: bool) -> Any:
    return import_module("yourtool.agent.runtime").RunOptions(
        workspace=arguments.workspace,
        model=arguments.model,
        in_words=arguments.in_words,
        mode=arguments.mode,
        allow=arguments.allow,
        deny=arguments.deny,
        add_dirs=arguments.add_dirs,
        max_turns=arguments.max_turns,
        max_cost=arguments.max_cost,
        effort=arguments.effort,
        attachments=arguments.attachments,
        interactive=interactive,
    )
