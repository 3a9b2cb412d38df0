"""The options and commands of the command line."""

import argparse
import re
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Never

from msgspec import Struct

from yourtool import __version__
from yourtool.config import Mode
from yourtool.errors import UsageError
from yourtool.models import EFFORTS, Effort

COMMANDS = ("sessions", "models", "route", "config", "doctor")
_UNIMPLEMENTED = {
    "yourtool sessions delete": "",
    "yourtool sessions check": "",
    "yourtool sessions rename": "",
    "yourtool permissions": "; `--allow` and `--deny` set rules for one run",
    "yourtool cost": "; `/cost` in the interface and `yourtool sessions list` show costs",
    "yourtool completion": "",
    "yourtool acp": "; `yourtool -p` runs a prompt without the interface",
    "yourtool auth": "; `/key` in the interface stores a key",
    "yourtool mcp": "",
    "yourtool trust": "",
    "yourtool import": "; `yourtool sessions import` imports an exported session",
}
"""Commands that users may expect, with the closest alternative."""
OUTPUT_FORMATS = ("text", "json", "stream-json")


class Arguments(Struct, frozen=True, kw_only=True):
    """A parsed command line; the defaults are those of an empty one."""

    command: str = ""
    """Empty for a run, in the interface or with `-p`."""
    action: str = ""
    """The action of a command, such as `list` in `sessions list`."""
    json: bool = False
    probe: bool = False
    """`models --probe`: query the providers and the usual local ports."""
    id: str = ""
    query: str = ""
    """The words of `sessions search`."""
    file: Path | None = None
    """File of `sessions export` or `import`; None or `-`: standard output or input."""
    export_format: Literal["markdown", "jsonl"] | None = None
    """Format of `sessions export`; None: derived from the file name."""
    force: bool = False
    """`sessions export --force`: overwrite an existing file."""
    at: str | None = None
    """Message id of `sessions fork --at`."""
    here_only: bool = False
    """`sessions list --here` and `search --here`: only sessions of the workspace."""
    prompt: str | None = None
    """Prompt of `-p` (None: interface; empty: standard input only) or of `route`."""
    continue_last: bool = False
    """`--continue`."""
    resume: str | None = None
    """Session id of `--resume`; empty: pick a session from a list."""
    model: str | None = None
    in_words: bool = False
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    workspace: Path
    add_dirs: tuple[Path, ...] = ()
    output_format: str = "text"
    max_turns: int | None = None
    max_cost: Decimal | None = None
    attachments: tuple[str, ...] = ()
    output_schema: Path | None = None
    effort: Effort | None = None
    session_dir: str | None = None
    no_color: bool = False


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse a command line; `--help` and `--version` print and exit.

    Raises:
        UsageError: an argument is invalid.
    """
    options = vars(_build_parser().parse_args(argv))
    arguments = Arguments(
        command=options.get("command") or "",
        action=options.get("action", ""),
        json=options.get("json", False),
        probe=options.get("probe", False),
        id=options.get("id", ""),
        query=" ".join(options.get("query", ())),
        file=options.get("file"),
        export_format=options.get("export_format"),
        force=options.get("force", False),
        at=options.get("at"),
        here_only=options.get("here_only", False),
        prompt=options.get("route_prompt", options["prompt"]),
        continue_last=options["continue_last"],
        resume=options["resume"],
        model=options["model"],
        in_words=options["in_words"],
        mode=Mode(options["mode"]) if options["mode"] else None,
        allow=tuple(options["allow"]),
        deny=tuple(options["deny"]),
        workspace=options["cwd"],
        add_dirs=tuple(options["add_dir"]),
        output_format=options["output_format"] or "text",
        max_turns=options["max_turns"],
        max_cost=options["max_cost"],
        attachments=tuple(options["attach"]),
        output_schema=options["output_schema"],
        effort=options["effort"],
        session_dir=options["session_dir"],
        no_color=options["no_color"],
    )
    _reject_conflicts(arguments, formatted=options["output_format"] is not None)
    return arguments


def _reject_conflicts(arguments: Arguments, *, formatted: bool) -> None:
    is_run = not arguments.command
    if arguments.continue_last and arguments.resume is not None:
        raise UsageError("`--continue` and `--resume` cannot be combined; `--resume ID` is enough")
    if is_run and arguments.prompt is None and formatted:
        raise UsageError("`--output-format` requires `-p`")
    if is_run and arguments.prompt is None and arguments.output_schema is not None:
        raise UsageError("`--output-schema` requires `-p`")
    if arguments.in_words and arguments.model is None:
        raise UsageError("`--in-words` requires `--model`, the model to switch to")
    if is_run and arguments.prompt is not None and arguments.resume == "":
        raise UsageError("`--resume` requires an id with `-p`; `yourtool sessions list` lists them")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines long and do not repeat the usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help; unlike argparse, do not suppress a `BrokenPipeError`."""
        if message:
            (file or sys.stderr).write(message)

    def error(self, message: str) -> Never:
        """Raise an error instead of exiting.

        Raises:
            UsageError: always.
        """
        if wrong := re.match(r"argument (\S+): invalid choice: '(.*)' \(", message, re.DOTALL):
            place, word = wrong.groups()
            command = f"{self.prog} {word}"
            if command in _UNIMPLEMENTED:
                raise UsageError(f"`{command}` is not implemented yet{_UNIMPLEMENTED[command]}")
            if place == "COMMAND":
                message = _unknown_command_message(word)
        raise UsageError(f"{message}\nTry `{self.prog} --help`.")


def _unknown_command_message(word: str) -> str:
    if near := get_close_matches(word, COMMANDS, n=1):
        return f"unknown command `{word}`; did you mean `{near[0]}`?"
    return f"unknown command `{word}`; use `-p` to pass a prompt"


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="yourtool",
        description="An interactive coding agent for the terminal. Without a command, opens the"
        " interface in the current directory.",
        epilog="exit codes: 0 answered, 1 failure, 2 usage, 3 tool call denied, 4 no model or key,"
        " 5 limit reached, 75 try again later, 130 interrupted, 141 output closed",
    )
    parser.add_argument("--version", action="version", version=f"yourtool {__version__}")
    _add_global_options(parser)
    parser.set_defaults(cwd=".")
    _add_session_options(parser)
    _add_approval_options(parser)
    _add_headless_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_sessions_actions(
        commands.add_parser("sessions", help="list, show, search and export sessions")
    )
    models = commands.add_parser("models", help="list models, prices and missing keys")
    models.add_argument(
        "--probe",
        action="store_true",
        help="query the providers and look for local model servers",
    )
    _add_command_options(models)
    route = commands.add_parser("route", help="show which model a prompt would use, and why")
    route.add_argument(
        "route_prompt", metavar="PROMPT", help="`-` reads JSON lines from standard input"
    )
    _add_command_options(route)
    config = commands.add_parser("config", help="show and check settings and their sources")
    config.add_argument("action", choices=("show", "path", "check"), metavar="show|path|check")
    _add_command_options(config)
    _add_command_options(
        commands.add_parser("doctor", help="check settings, keys, terminal and store")
    )
    return parser


def _add_sessions_actions(sessions: argparse.ArgumentParser) -> None:
    verbs = "list|show|search|export|import|fork"
    actions = sessions.add_subparsers(dest="action", required=True, metavar=verbs)

    def add(name: str, summary: str, *, takes_id: bool = False) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=summary, description=summary)
        if takes_id:
            action.add_argument("id", metavar="ID", help="a session id or a prefix of one")
        return action

    listing = add("list", "list the sessions of all directories, newest first")
    show = add("show", "print a session as text", takes_id=True)
    search = add("search", "search for messages that contain all words or word prefixes")
    search.add_argument("query", nargs="+", metavar="WORD")
    for action in (listing, search):
        action.add_argument(
            "--here", dest="here_only", action="store_true", help="only sessions of this directory"
        )
    export = add("export", "export a session with API keys removed", takes_id=True)
    export.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="default: standard output"
    )
    export.add_argument(
        "--format",
        dest="export_format",
        choices=("markdown", "jsonl"),
        help="only jsonl can be imported; default: jsonl for FILE.jsonl, else markdown",
    )
    export.add_argument("--force", action="store_true", help="overwrite an existing file")
    import_ = add("import", "import an exported session into this directory")
    import_.add_argument(
        "file", type=Path, metavar="FILE", help="JSON lines; `-` reads standard input"
    )
    fork = add("fork", "start a session as a copy of another", takes_id=True)
    fork.add_argument(
        "--at",
        metavar="MESSAGE",
        help="copy up to this prompt, or up to the end of this reply's turn; default: everything",
    )
    for action in (listing, show, search, export, import_, fork):
        _add_command_options(action)


def _add_global_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("global options").add_argument
    add("-m", "--model", metavar="ID", help="model id or alias")
    add("--cwd", type=_parse_directory, metavar="DIR", help="workspace directory")
    add("--session-dir", metavar="DIR", help="directory of the session store")
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
        "--add-dir",
        type=_parse_directory,
        action="append",
        default=[],
        metavar="DIR",
        help="additional directory that can be read",
    )
    add("--max-turns", type=_parse_count, metavar="N", help="stop after N model requests")
    add(
        "--max-cost",
        type=_parse_dollars,
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
    add(
        "--output-schema",
        type=Path,
        metavar="FILE",
        help="require a JSON answer that matches this JSON schema",
    )
    add(
        "--attach",
        action="append",
        default=[],
        metavar="FILE",
        help="attach an image, audio, PDF or text file to the first prompt; can be repeated",
    )


def _add_command_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command without overwriting those given before its name."""
    parser.argument_default = argparse.SUPPRESS
    parser.add_argument("--json", action="store_true", help="print JSON")
    _add_global_options(parser)


def _parse_directory(text: str) -> Path:
    try:
        path = Path(text).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        path = None
    if path is None or not path.is_dir():
        raise argparse.ArgumentTypeError(f"`{text}` is not a directory")
    return path


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is not a positive integer")
    return int(text)


def _parse_dollars(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not an amount in dollars such as `0.50`")
    return amount
