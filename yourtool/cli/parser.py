"""The parser of the command line: its commands, options and errors."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Never

from yourtool import __version__
from yourtool.config import Mode
from yourtool.errors import UsageError
from yourtool.models import EFFORTS

_UNIMPLEMENTED = {
    "yourtool cost": "; `/cost` in the interface and `yourtool sessions list` show costs",
    "yourtool completion": "",
    "yourtool acp": "; `yourtool -p` runs a prompt without the interface",
    "yourtool mcp": "",
    "yourtool import": "; `yourtool sessions import` imports an exported session",
}
"""Commands that users may expect, with the closest alternative."""
_CLOSENESS = 0.7
"""Minimum similarity of a word to a command to be reported as a mistyped command."""
AUTH_ACTIONS = "list|set|remove|test"
OUTPUT_FORMATS = ("text", "json", "stream-json")


class Parser(argparse.ArgumentParser):
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
                message = f"`{word}` is one word too many; quote a prompt of several words"
        raise UsageError(f"{message}\nTry `{self.prog} --help`.")


def split_prompt(argv: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the arguments without the prompt, and the prompt if there is one.

    The prompt is the first word that is neither an option nor its value, unless it is the name of
    a command; after `--` it always is. A single word that is almost the name of a command is
    rejected, because a message to a model costs money.

    Raises:
        UsageError: the prompt looks like the name of a command.
    """
    scanner = Parser(prog="yourtool", add_help=False)
    _add_run_options(scanner)
    scanner.add_argument("-h", "--help", "--version", action="store_true")
    scanner.add_argument("words", nargs=argparse.REMAINDER)
    words: list[str] = scanner.parse_known_args(argv)[0].words
    match words:
        case ["--"]:
            return list(argv[:-1]), None
        case ["--", prompt, *rest]:
            rest = ["--", *rest] if rest else []
        case [prompt, *rest] if prompt not in (*COMMANDS, "--"):
            _reject_mistyped_command(prompt)
        case _:
            return list(argv), None
    return [*argv[: len(argv) - len(words)], *rest], prompt


def _reject_mistyped_command(word: str) -> None:
    if (command := f"yourtool {word}") in _UNIMPLEMENTED:
        raise UsageError(f"`{command}` is not implemented yet{_UNIMPLEMENTED[command]}")
    near = get_close_matches(word.lower(), COMMANDS, n=1, cutoff=_CLOSENESS)
    if near and not any(map(str.isspace, word)):
        raise UsageError(
            f"unknown command `{word}`; did you mean `{near[0]}`?\n"
            f"`yourtool -- {word}` sends it as a prompt."
        )


def build_parser(argv: Sequence[str]) -> Parser:
    """Return the parser of all arguments but the prompt.

    Only the commands that `argv` names have arguments: to build all takes a hundredth of a start.
    """
    parser = Parser(
        prog="yourtool",
        usage="yourtool [OPTIONS] [PROMPT]\n       yourtool [OPTIONS] COMMAND …",
        description="An interactive coding agent for the terminal. Without a command, opens the"
        " interface in the current directory and sends PROMPT, if given; `--` before it"
        " allows any text.",
        epilog="exit codes: 0 answered, 1 failure, 2 usage, 3 tool call denied, 4 no model or key,"
        " 5 limit reached, 75 try again later, 130 interrupted, 141 output closed",
    )
    parser.add_argument("--version", action="version", version=f"yourtool {__version__}")
    _add_run_options(parser)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog="yourtool"
    )
    for name, (summary, add_arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name in argv:
            add_arguments(command)
    return parser


def _add_run_options(parser: Parser) -> None:
    _add_global_options(parser)
    parser.set_defaults(cwd=".")
    _add_session_options(parser)
    _add_approval_options(parser)
    _add_headless_options(parser)


def _add_sessions_actions(sessions: argparse.ArgumentParser) -> None:
    verbs = "list|show|search|export|import|fork|rename|delete|check|salvage|replay|tree"
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
    listing.add_argument("--workers", action="store_true", help="also those of delegated tasks")
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
    tree = add("tree", "print the branches of a session", takes_id=True)
    tree.add_argument("--at", metavar="N", help="continue the session at entry N")
    tree.add_argument("--steps", action="store_true", help="also calls and results")
    rename = add("rename", "give a session a title", takes_id=True)
    rename.add_argument("title", metavar="TITLE", help="empty: the first line of the session")
    delete = add("delete", "delete a session permanently", takes_id=True)
    replay = add("replay", "play a session again, offline, with its stored replies and results")
    replay.add_argument(
        "source", metavar="FILE | ID", help="an exported session, or the id of a stored one"
    )
    check = add("check", "look for damage in stored sessions")
    check.add_argument("id", nargs="?", default="", metavar="ID", help="default: all sessions")
    check.add_argument(
        "--fix", action="store_true", help="store what is sound of a damaged session as a new one"
    )
    salvage = add("salvage", "replace a damaged database by one with every row that can be read")
    changes = (import_, fork, rename, delete)
    for action in (listing, show, search, export, *changes, check, salvage, replay, tree):
        _add_command_options(action)


def _add_permissions_actions(permissions: argparse.ArgumentParser) -> None:
    actions = permissions.add_subparsers(
        dest="action", required=True, metavar="list|check|edit|remove|replay"
    )

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=summary, description=summary)

    listing = add("list", "list the rules: their origin, last use, and what they cover")
    edit = add("edit", "open your rules in `$VISUAL` or `$EDITOR`, and check them")
    remove = add("remove", "remove one of your rules")
    remove.add_argument("rule", metavar="RULE", help="a rule as in the list, or its line")
    replay = add("replay", "list the stored decisions that today's rules would change")
    replay.add_argument(
        "--with", dest="file", type=Path, metavar="FILE", help="rules instead of yours"
    )
    for action in (listing, edit, remove, replay):
        _add_command_options(action)
    check = add("check", "show whether a command would run, need an approval, or be denied")
    _add_command_options(check)
    check.add_argument("--allow", action="append", metavar="RULE", help="allow without approval")
    check.add_argument("--deny", action="append", metavar="RULE", help="deny; overrides --allow")
    check.add_argument(
        "query", metavar="COMMAND", nargs=1, help="`-` reads JSON lines from standard input"
    )


def _add_models_arguments(models: argparse.ArgumentParser) -> None:
    models.add_argument(
        "--probe",
        action="store_true",
        help="query the providers and look for local model servers",
    )
    _add_command_options(models)


def _add_route_arguments(route: argparse.ArgumentParser) -> None:
    route.add_argument(
        "route_prompt", metavar="PROMPT", help="`-` reads JSON lines from standard input"
    )
    _add_command_options(route)


def _add_trust_arguments(trust: argparse.ArgumentParser) -> None:
    trust.add_argument(
        "words",
        nargs="*",
        metavar="DIR | list | remove DIR",
        help="trust a folder (default: the current one), list all, or forget one",
    )
    _add_command_options(trust)


def _add_auth_arguments(auth: argparse.ArgumentParser) -> None:
    auth.add_argument("action", choices=("list", "set", "remove", "test"), metavar=AUTH_ACTIONS)
    auth.add_argument("words", nargs="*", metavar="PROVIDER", help="such as `anthropic`")
    auth.add_argument(
        "--keychain",
        dest="in_keychain",
        action="store_true",
        help="with `set`: store the key in the system's keychain, not in a file",
    )
    _add_command_options(auth)


def _add_config_arguments(config: argparse.ArgumentParser) -> None:
    config.add_argument("action", choices=("show", "path", "check"), metavar="show|path|check")
    _add_command_options(config)


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


COMMANDS: Mapping[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "sessions": ("list, show, search and export sessions", _add_sessions_actions),
    "models": ("list models, prices and missing keys", _add_models_arguments),
    "route": ("show which model a prompt would use, and why", _add_route_arguments),
    "trust": ("trust a folder: its files may configure yourtool", _add_trust_arguments),
    "auth": ("list, store, remove and test API keys", _add_auth_arguments),
    "permissions": ("list, check, edit and remove rules for tool calls", _add_permissions_actions),
    "config": ("show and check settings and their sources", _add_config_arguments),
    "doctor": ("check settings, keys, terminal and store", _add_command_options),
}
"""The commands with their summaries and arguments."""
