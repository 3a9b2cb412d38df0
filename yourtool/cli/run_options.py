"""Options of a run.

They set the model, session, approval, limits and output.
"""

import argparse
import stat
from decimal import Decimal, InvalidOperation
from pathlib import Path

from yourtool.models import EFFORTS
from yourtool.settings.config import Mode

OUTPUT_FORMATS = ("text", "json", "stream-json")


def complete_path(action: argparse.Action) -> None:
    """Let shells complete the value of an argument, whose placeholder is `FILE` or `DIR`.

    The attribute is that of `shtab`, which argparse does not declare.
    """
    vars(action)["complete"] = "directory" if action.metavar == "DIR" else "file"


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run, in their groups."""
    add_global_options(parser)
    parser.set_defaults(cwd=".")
    _add_session_options(parser)
    _add_approval_options(parser)
    _add_headless_options(parser)


def add_global_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has, too."""
    add = parser.add_argument_group("global options").add_argument
    add("-m", "--model", metavar="ID", help="model id or alias")
    complete_path(add("--cwd", type=_parse_directory, metavar="DIR", help="workspace directory"))
    complete_path(add("--session-dir", metavar="DIR", help="directory of the session store"))
    add("--no-color", action="store_true", help="disable colours, as NO_COLOR does")


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("session").add_argument
    add(
        "-c",
        "--continue",
        dest="continue_last",
        action="store_true",
        help="continue the last session of this directory",
    )
    add(
        "-r",
        "--resume",
        nargs="?",
        const="",
        metavar="ID",
        help="resume a session; without an id, pick one from a list",
    )
    add(
        "--at",
        dest="first_message",
        default="",
        metavar="MESSAGE",
        help="with --resume ID: show this message, which a search found",
    )
    add(
        "--in-words",
        action="store_true",
        help="with -m: send placeholders for media that the model does not support",
    )
    add(
        "--effort",
        choices=EFFORTS,
        metavar="LEVEL",
        help=f"reasoning effort, if the model supports it: {', '.join(EFFORTS)}",
    )


def _add_approval_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("approval and limits").add_argument
    add(
        "--mode",
        choices=tuple(mode.value for mode in Mode),
        help="approval mode",
    )
    add("--allow", action="append", default=[], metavar="RULE", help="allow without approval")
    add("--deny", action="append", default=[], metavar="RULE", help="deny; overrides --allow")
    add(
        "--no-sandbox",
        action="store_true",
        help="run commands of the model without the sandbox, in this run",
    )
    complete_path(
        add(
            "--add-dir",
            type=_parse_directory,
            action="append",
            default=[],
            metavar="DIR",
            help="additional directory that can be read",
        )
    )
    complete_path(
        add(
            "--mcp-config",
            type=Path,
            metavar="FILE",
            help="further MCP servers, in the format of `.mcp.json`",
        )
    )
    add("--max-turns", type=parse_count, metavar="N", help="stop after N model requests")
    add(
        "--max-cost",
        type=parse_dollars,
        metavar="USD",
        help="stop before the cost exceeds this amount",
    )


def _add_headless_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("headless mode").add_argument
    add(
        "-p",
        "--prompt",
        nargs="?",
        const="",
        metavar="PROMPT",
        help="run one prompt and print the answer; standard input is appended to the prompt",
    )
    add("--output-format", choices=OUTPUT_FORMATS, help="format of the output; default: text")
    complete_path(
        add(
            "--output-schema",
            type=Path,
            metavar="FILE",
            help="require a JSON answer that matches this JSON schema",
        )
    )
    complete_path(
        add(
            "--attach",
            action="append",
            default=[],
            metavar="FILE",
            help="attach an image, audio, PDF or text file to the first prompt; can be repeated",
        )
    )


def _parse_directory(text: str) -> Path:
    try:
        path = Path(text).expanduser().resolve(strict=True)
        if stat.S_ISDIR(path.stat().st_mode):
            return path
    except PermissionError as error:
        raise argparse.ArgumentTypeError(f"`{text}` cannot be reached: {error.strerror}") from error
    except (OSError, RuntimeError, ValueError):
        pass
    raise argparse.ArgumentTypeError(f"`{text}` is not a directory, or was removed")


def parse_count(text: str) -> int:
    """Return a positive integer.

    Raises:
        argparse.ArgumentTypeError: it is not one.
    """
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is not a positive integer")
    return int(text)


def parse_dollars(text: str) -> Decimal:
    """Return an amount in US dollars.

    Raises:
        argparse.ArgumentTypeError: it is not an amount.
    """
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not an amount in dollars such as `0.50`")
    return amount


def add_command_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command without overwriting those given before its name."""
    parser.argument_default = argparse.SUPPRESS
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_global_options(parser)
