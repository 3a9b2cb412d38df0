"""Command-line parser."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Never

from yourtool import __version__, extensions
from yourtool.cli.command_rows import with_extensions
from yourtool.cli.run_options import add_command_options, add_run_options, complete_path
from yourtool.cli.session_commands.sessions_parser import add_sessions_actions
from yourtool.errors import UsageError
from yourtool.foundation.suggestions import CLOSE, find_closest
from yourtool.settings.peer_words import describe_peer_word

AUTH_ACTIONS = "list|set|remove|test"
SHELLS = ("bash", "zsh", "tcsh", "fish")
"""Shells that `yourtool completion` has a script for."""


def _keep(text: str | None) -> str | None:
    return text


# For each heading, argparse looks on the disk for a translation, of which Python has none.
setattr(argparse, "_", _keep)  # noqa: B010 - a name of the module


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
            if place == "COMMAND":
                message = f"`{word}` is one word too many; quote a prompt of several words"
        elif unknown := re.match(r"unrecognized arguments: ([^\s=]+)", message):
            message = describe_peer_word("option", unknown[1]) or message
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
    add_run_options(scanner)
    scanner.set_defaults(cwd=None)  # `--version` needs no directory
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
    if any(map(str.isspace, word)):
        return
    if problem := describe_peer_word("command", word):
        raise UsageError(f"{problem}\n`yourtool -- {word}` sends it as a prompt.")
    if folder := extensions.find_removed(word):
        raise UsageError(
            f"unknown command `{word}`: the extension `{folder}` is not in this installation\n"
            f"`yourtool -- {word}` sends it as a prompt."
        )
    near = find_closest(word.lower(), COMMANDS, CLOSE)
    if near:
        raise UsageError(
            f"unknown command `{word}`; did you mean `{near}`?\n"
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
    add_run_options(parser)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog="yourtool"
    )
    for name, (summary, add_arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name in argv:
            add_arguments(command)
    return parser


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
    complete_path(
        replay.add_argument(
            "--with", dest="file", type=Path, metavar="FILE", help="rules instead of yours"
        )
    )
    for action in (listing, edit, remove, replay):
        add_command_options(action)
    check = add("check", "show whether a command would run, need an approval, or be denied")
    add_command_options(check)
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
    if (trials := extensions.load_model_trials()) is not None:
        trials.add_arguments(models)
    add_command_options(models)


def _add_route_arguments(route: argparse.ArgumentParser) -> None:
    route.add_argument(
        "route_prompt",
        nargs="?",
        metavar="PROMPT | replay",
        help="`-` reads JSON lines from standard input; `replay` decides again about stored turns",
    )
    route.add_argument(
        "--session",
        dest="id",
        default="",
        metavar="ID",
        help="show what a swap of this session to `--model` would change",
    )
    if (replay := extensions.load_route_replay()) is not None:
        replay.add_arguments(route)
    add_command_options(route)


def _add_cost_arguments(cost: argparse.ArgumentParser) -> None:
    cost.add_argument(
        "--by",
        dest="cost_by",
        choices=("model", "day", "session", "role", "bucket"),
        default="model",
        help="default: model; role: what a request was for; bucket: kinds of tokens",
    )
    cost.add_argument(
        "--reprice",
        nargs="?",
        const="",
        metavar="VERSION|FILE",
        help="compare with today's prices, those of a stored table, or of a `prices.toml`",
    )
    cost.add_argument(
        "--as-model", metavar="MODEL", help="compare with what another model would have cost"
    )
    _add_since(cost)
    add_command_options(cost)


def _add_since(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since", default="", metavar="T", help="a date or time, or for example `24h`, `7d`, `2w`"
    )


def _add_trust_arguments(trust: argparse.ArgumentParser) -> None:
    trust.add_argument(
        "words",
        nargs="*",
        metavar="DIR | list | remove DIR",
        help="trust a folder (default: the current one), list all, or forget one",
    )
    add_command_options(trust)


def _add_auth_arguments(auth: argparse.ArgumentParser) -> None:
    auth.add_argument("action", choices=("list", "set", "remove", "test"), metavar=AUTH_ACTIONS)
    auth.add_argument("words", nargs="*", metavar="PROVIDER", help="such as `anthropic`")
    auth.add_argument(
        "--keychain",
        dest="in_keychain",
        action="store_true",
        help="with `set`: store the key in the system's keychain, not in a file",
    )
    add_command_options(auth)


def _add_mcp_actions(mcp: argparse.ArgumentParser) -> None:
    actions = mcp.add_subparsers(
        dest="action", required=True, metavar="list|show|add|remove|accept|login|call"
    )

    def add(name: str, summary: str, *, takes_name: bool = True) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=summary, description=summary)
        if takes_name:
            action.add_argument("id", metavar="NAME", help="the name of a server")
        add_command_options(action)
        return action

    add("list", "list all servers with the price of their tools", takes_name=False)
    add("show", "show a server: its definition, state, tools, and what their schemas lost")
    adding = add("add", "add a server to your own `mcp.json`")
    adding.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    adding.add_argument("--header", action="append", default=[], metavar="NAME:VALUE")
    adding.add_argument("words", nargs="+", metavar="COMMAND [ARG …] | URL", help="after `--`")
    add("remove", "remove a server from your own `mcp.json`")
    add("accept", "accept a server of a project, or changed tools, as `show` prints them")
    add("login", "log in at a server: print an address, and take the one where the login ends")
    calling = add("call", "call a tool and print its result")
    calling.add_argument("words", nargs="+", metavar="TOOL [JSON]", help="arguments as an object")


def _add_config_arguments(config: argparse.ArgumentParser) -> None:
    config.add_argument("action", choices=("show", "path", "check"), metavar="show|path|check")
    add_command_options(config)


def _add_completion_arguments(completion: argparse.ArgumentParser) -> None:
    completion.add_argument(
        "shell",
        nargs="?",
        choices=SHELLS,
        metavar="|".join(SHELLS),
        help="default: the shell that `SHELL` names",
    )
    add_command_options(completion)


COMMANDS = with_extensions(
    {
        "sessions": ("list, show, search and export sessions", add_sessions_actions),
        "agents": ("show what all sessions do, and open one", add_command_options),
        "models": ("list models, prices and missing keys", _add_models_arguments),
        "route": ("show which model a prompt would use, and why", _add_route_arguments),
        "cost": ("show what requests cost, by model, day, session or role", _add_cost_arguments),
        "trust": ("trust a folder: its files may configure yourtool", _add_trust_arguments),
        "auth": ("list, store, remove and test API keys", _add_auth_arguments),
        "permissions": (
            "list, check, edit and remove rules for tool calls",
            _add_permissions_actions,
        ),
        "mcp": ("list, show, add, remove and call MCP servers", _add_mcp_actions),
        "config": ("show and check settings and their sources", _add_config_arguments),
        "doctor": ("check settings, keys, terminal and store", add_command_options),
        "completion": ("print a script with which a shell completes", _add_completion_arguments),
    },
    extensions.find_commands(),
)
"""The commands with their summaries and arguments."""
