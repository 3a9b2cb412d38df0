"""Custom commands from Markdown files.

`review.md` is `/review`, and `git/review.md` is `/git:review`. A command that ships with the
program cannot be replaced. Those of a project are files that configure.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import CommandResults, SendPrompt, SlashCommand
from yourtool.agent.session.project import front_matter
from yourtool.agent.session.project.project_files import (
    MAX_BYTES,
    ProjectFile,
    find_named_files,
    read_capped_file,
)
from yourtool.foundation.text import printable
from yourtool.paths import resolve_paths
from yourtool.permissions.trust import COMMANDS

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}(:[A-Za-z0-9][A-Za-z0-9_-]{0,40})?")
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
_MAX_SUMMARY, _MAX_HINT = 100, 40


def read_custom_commands(
    files: Iterable[ProjectFile],
) -> tuple[Mapping[str, SlashCommand], tuple[str, ...]]:
    """Return the commands of the user and those among the trusted files of a project; blocks.

    Also returns which ones are not valid, and why. A command of the project replaces one of the
    user.
    """
    found, problems = dict[str, SlashCommand](), list[str]()
    for source, name, text in (*_read_user_commands(), *_iter_commands(files)):
        try:
            if not _NAME.fullmatch(name):
                raise front_matter.FrontMatterError("its name is not of letters, digits, - and _")
            found[name] = _build_command(name, source, text)
        except front_matter.FrontMatterError as error:
            problems.append(f"The command `{printable(name)}` is not used: {error}.")
    return dict(sorted(found.items())), tuple(problems)


def _read_user_commands() -> Iterator[tuple[str, str, str]]:
    folder = resolve_paths().home / "commands"
    for path in find_named_files(folder, COMMANDS):
        if (data := read_capped_file(path)) is not None:
            name = path.relative_to(folder).with_suffix("").as_posix().replace("/", ":")
            yield "yours", name, data[:MAX_BYTES].decode("utf-8-sig", "replace")


def _iter_commands(files: Iterable[ProjectFile]) -> Iterator[tuple[str, str, str]]:
    for file in files:
        if file.kind is COMMANDS:
            path = file.path.with_suffix("").as_posix()
            inner = (path.rpartition(f"/{folder}/")[2] for folder in COMMANDS.folders)
            yield "project", min(inner, key=len).replace("/", ":"), file.text


def _build_command(name: str, source: str, text: str) -> SlashCommand:
    fields, body = front_matter.split_front_matter(text)
    about = _get_line(fields or {}, "description") or next(iter(body.split("\n", 1)), "")
    hint = _get_line(fields or {}, "argument-hint")
    if not body.strip():
        raise front_matter.FrontMatterError("it has no text")
    return SlashCommand(
        name=name,
        run=partial(_send, body.strip()),
        argument=hint[:_MAX_HINT] or "[TEXT]",
        summary=f"{_clean(about)[:_MAX_SUMMARY]} ({source})",
        is_multiline=True,
        during_turn=False,
    )


def _get_line(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name, "")
    return _clean(value) if isinstance(value, str) else ""


def _clean(text: str) -> str:
    return " ".join(printable(text).split())


async def _send(
    body: str, _session: "Session", _runtime: "Runtime", argument: str
) -> CommandResults:
    yield SendPrompt(fill_in(body, argument))


def fill_in(body: str, argument: str) -> str:
    """Return the text of a command: `$ARGUMENTS` is the whole argument, `$1` its first word.

    Without either, the argument follows the text. The argument is never searched for placeholders.
    """
    try:
        words = shlex.split(argument)
    except ValueError:  # an open quote
        words = argument.split()

    def get_value(match: re.Match[str]) -> str:
        if match[1] == "ARGUMENTS":
            return argument
        position = int(match[1])
        return words[position - 1] if position <= len(words) else ""

    text, count = _PLACEHOLDER.subn(get_value, body)
    return f"{text}\n\n{argument}" if argument and not count else text
