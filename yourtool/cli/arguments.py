"""The command line as a table: options of a run, and the commands there are."""

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
_NOT_YET = {
    "yourtool sessions delete": "",
    "yourtool sessions check": "",
    "yourtool sessions rename": "",
    "yourtool permissions": "; `--allow` and `--deny` take rules for a run",
    "yourtool cost": "; `/cost` in the interface and `yourtool sessions list` show costs",
    "yourtool completion": "",
    "yourtool acp": "; `yourtool -p` answers a prompt without the interface",
    "yourtool auth": "; `/key` in the interface stores a key",
    "yourtool mcp": "",
    "yourtool trust": "",
    "yourtool import": "; `yourtool sessions import` takes an exported session",
}
"""Commands that people may look for, and what there is instead."""
FORMATS = ("text", "json", "stream-json")


class Arguments(Struct, frozen=True, kw_only=True):
    """What was asked for; defaults are those of an empty command line."""

    command: str = ""
    """Empty: a run, in the interface or with `-p`."""
    action: str = ""
    """`list` of `sessions list`."""
    json: bool = False
    probe: bool = False
    """Of `models`: ask the providers and the usual ports of this machine."""
    id: str = ""
    words: str = ""
    """Of `sessions search`."""
    file: Path | None = None
    """Of `sessions export` and `import`; None or `-`: standard output or input."""
    form: Literal["markdown", "jsonl"] | None = None
    """Of `sessions export`; None: as the name of the file says."""
    force: bool = False
    """Of `sessions export`: over a file that exists."""
    at: str | None = None
    """The message of `sessions fork`."""
    here: bool = False
    """Of `sessions list` and `search`: those of the workspace alone."""
    prompt: str | None = None
    """Of `-p` (None: the interface; empty: only standard input) and of `route`."""
    proceed: bool = False
    """`--continue`."""
    resume: str | None = None
    """Of `--resume`; empty: pick one."""
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


def read_arguments(argv: Sequence[str]) -> Arguments:
    """Read a command line; `--help` and `--version` print and leave.

    Raises:
        UsageError: it cannot be obeyed.
    """
    given = vars(_parser().parse_args(argv))
    arguments = Arguments(
        command=given.get("command") or "",
        action=given.get("action", ""),
        json=given.get("json", False),
        probe=given.get("probe", False),
        id=given.get("id", ""),
        words=" ".join(given.get("words", ())),
        file=given.get("file"),
        form=given.get("form"),
        force=given.get("force", False),
        at=given.get("at"),
        here=given.get("here", False),
        prompt=given.get("route_prompt", given["prompt"]),
        proceed=given["proceed"],
        resume=given["resume"],
        model=given["model"],
        in_words=given["in_words"],
        mode=Mode(given["mode"]) if given["mode"] else None,
        allow=tuple(given["allow"]),
        deny=tuple(given["deny"]),
        workspace=given["cwd"],
        add_dirs=tuple(given["add_dir"]),
        output_format=given["output_format"] or "text",
        max_turns=given["max_turns"],
        max_cost=given["max_cost"],
        attachments=tuple(given["attach"]),
        output_schema=given["output_schema"],
        effort=given["effort"],
        session_dir=given["session_dir"],
        no_color=given["no_color"],
    )
    _check(arguments, formatted=given["output_format"] is not None)
    return arguments


def _check(arguments: Arguments, *, formatted: bool) -> None:
    is_run = not arguments.command
    if arguments.proceed and arguments.resume is not None:
        raise UsageError("`--continue` and `--resume` cannot be combined; `--resume ID` is enough")
    if is_run and arguments.prompt is None and formatted:
        raise UsageError("`--output-format` needs `-p`: the interface has no format")
    if is_run and arguments.prompt is None and arguments.output_schema is not None:
        raise UsageError("`--output-schema` needs `-p`: the interface answers in prose")
    if arguments.in_words and arguments.model is None:
        raise UsageError("`--in-words` needs `--model`: it applies to the model that you switch to")
    if is_run and arguments.prompt is not None and arguments.resume == "":
        raise UsageError("`--resume` needs an id with `-p`; `yourtool sessions list` shows them")


class _Parser(argparse.ArgumentParser):
    """Complains in two lines and never with the whole usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help; unlike the original, let the caller see that nobody reads it."""
        if message:
            (file or sys.stderr).write(message)

    def error(self, message: str) -> Never:
        """Raise instead of leaving.

        Raises:
            UsageError: always.
        """
        if wrong := re.match(r"argument (\S+): invalid choice: '(.*)' \(", message, re.DOTALL):
            place, word = wrong.groups()
            command = f"{self.prog} {word}"
            if command in _NOT_YET:
                raise UsageError(f"`{command}` does not exist yet{_NOT_YET[command]}")
            if place == "COMMAND":
                message = _no_command(word)
        raise UsageError(f"{message}\n`{self.prog} --help` shows what there is.")


def _no_command(word: str) -> str:
    if near := get_close_matches(word, COMMANDS, n=1):
        return f"there is no command `{word}`; did you mean `{near[0]}`?"
    return f"there is no command `{word}`; a prompt is given with `-p`"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="yourtool",
        description="An interactive coding agent for the terminal. Without a command it opens the"
        " interface in the current directory.",
        epilog="exit codes: 0 answered, 1 failure, 2 usage, 3 consent denied, 4 no model or key,"
        " 5 limit reached, 75 try again later, 130 interrupted, 141 output closed",
    )
    parser.add_argument("--version", action="version", version=f"yourtool {__version__}")
    _add_places(parser)
    parser.set_defaults(cwd=".")
    _add_session_options(parser)
    _add_consent_options(parser)
    _add_answer_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_sessions(commands.add_parser("sessions", help="what was said, and copies of it"))
    models = commands.add_parser("models", help="the models, and what each one needs")
    models.add_argument(
        "--probe",
        action="store_true",
        help="ask the providers, and look for servers on this machine",
    )
    _add_common(models)
    route = commands.add_parser("route", help="say which model would take a prompt, and why")
    route.add_argument("route_prompt", metavar="PROMPT", help="`-`: JSON lines from standard input")
    _add_common(route)
    config = commands.add_parser("config", help="the settings and where they come from")
    config.add_argument("action", choices=("show", "path", "check"), metavar="show|path|check")
    _add_common(config)
    _add_common(commands.add_parser("doctor", help="look at settings, keys, terminal and store"))
    return parser


def _add_sessions(sessions: argparse.ArgumentParser) -> None:
    verbs = "list|show|search|export|import|fork"
    actions = sessions.add_subparsers(dest="action", required=True, metavar=verbs)

    def add(name: str, about: str, *, of: bool = False) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=about, description=about)
        if of:
            action.add_argument("id", metavar="ID", help="a session id, or the beginning of one")
        return action

    every = add("list", "the sessions of every directory, newest first")
    show = add("show", "one session as text", of=True)
    search = add("search", "messages in which all words stand, or words that begin like them")
    search.add_argument("words", nargs="+", metavar="WORD")
    for action in (every, search):
        action.add_argument("--here", action="store_true", help="only those of this directory")
    export = add("export", "write a session to a file, without keys", of=True)
    export.add_argument("file", nargs="?", type=Path, metavar="FILE", help="none: standard output")
    export.add_argument(
        "--format",
        dest="form",
        choices=("markdown", "jsonl"),
        help="jsonl can be imported; default: jsonl for a FILE.jsonl, else markdown",
    )
    export.add_argument("--force", action="store_true", help="write over a file that exists")
    take = add("import", "store an exported session as one of this directory")
    take.add_argument("file", type=Path, metavar="FILE", help="as JSON lines; `-`: standard input")
    fork = add("fork", "begin a session with what was said in another", of=True)
    fork.add_argument(
        "--at",
        metavar="MESSAGE",
        help="before this prompt, or after the turn of this reply; default: everything",
    )
    for action in (every, show, search, export, take, fork):
        _add_common(action)


def _add_places(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("everywhere").add_argument
    add("-m", "--model", metavar="ID", help="the model, by id or alias")
    add("--cwd", type=_directory, metavar="DIR", help="the workspace")
    add("--session-dir", metavar="DIR", help="where sessions are stored")
    add("--no-color", action="store_true", help="plain output, as with NO_COLOR")


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("session").add_argument
    add(
        "-c",
        "--continue",
        dest="proceed",
        action="store_true",
        help="go on with the last session of this directory",
    )
    add(
        "-r",
        "--resume",
        nargs="?",
        const="",
        metavar="ID",
        help="go on with that session; without an id, pick one",
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
        help=f"how long to think, where the model has levels: {', '.join(EFFORTS)}",
    )


def _add_consent_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("consent and limits").add_argument
    add(
        "--mode",
        choices=tuple(mode.value for mode in Mode),
        help="what needs consent before it is done",
    )
    add("--allow", action="append", default=[], metavar="RULE", help="do it without asking")
    add("--deny", action="append", default=[], metavar="RULE", help="never do it; beats --allow")
    add(
        "--add-dir",
        type=_directory,
        action="append",
        default=[],
        metavar="DIR",
        help="another directory that may be read",
    )
    add("--max-turns", type=_count, metavar="N", help="stop after N model requests")
    add("--max-cost", type=_dollars, metavar="USD", help="stop before it costs more")


def _add_answer_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("without the interface").add_argument
    add(
        "-p",
        "--prompt",
        nargs="?",
        const="",
        metavar="PROMPT",
        help="answer one prompt; standard input is appended to it",
    )
    add("--output-format", choices=FORMATS, help="how the answer is written; default: text")
    add(
        "--output-schema",
        type=Path,
        metavar="FILE",
        help="hold the answer to this JSON schema; it is the JSON text then",
    )
    add(
        "--attach",
        action="append",
        default=[],
        metavar="FILE",
        help="an image, recording, PDF or text document for the (first) prompt; may be repeated",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Add what every command takes; options given before its name are not overwritten."""
    parser.argument_default = argparse.SUPPRESS
    parser.add_argument("--json", action="store_true", help="print JSON")
    _add_places(parser)


def _directory(text: str) -> Path:
    try:
        path = Path(text).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        path = None
    if path is None or not path.is_dir():
        raise argparse.ArgumentTypeError(f"`{text}` is not a directory")
    return path


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return int(text)


def _dollars(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not an amount such as `0.50`")
    return amount
