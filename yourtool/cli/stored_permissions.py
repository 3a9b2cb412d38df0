"""`yourtool permissions`: stored rules and stored decisions.

The actions are `list`, `edit`, `remove` and `replay`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import asdict

from yourtool.agent.commands.permissions.permission_list import (
    Permission,
    PermissionLister,
    find_removable,
)
from yourtool.agent.history.stored_decisions import ReplayReport, find_last_uses, replay_decisions
from yourtool.agent.session.project.project_trust import trust_store
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines, print_table
from yourtool.errors import UsageError
from yourtool.foundation.files import is_file
from yourtool.foundation.text import printable
from yourtool.paths import Paths, require_data_directory
from yourtool.permissions.grants import FILE_NAME, Grants, remove_entry
from yourtool.permissions.rule_file import RuleFile, read_rule_file
from yourtool.permissions.rules import RuleSet
from yourtool.permissions.trust import CONTAINED_COMMANDS
from yourtool.run_result import ExitCode
from yourtool.settings.first_files import install_defaults
from yourtool.settings.problems import Problem
from yourtool.store.base import SessionStore
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore
from yourtool.tools.builtin import default_toolbox
from yourtool.tui.input.external_editor import find_editor

T = TypeVar("T")

_MAX_SUBJECT = 80
"""Characters of a command in the list of changed decisions; `--json` has all."""


def run(paths: Paths, arguments: Arguments) -> int:
    """Run an action of `yourtool permissions`."""
    kinds = default_toolbox().subject_kinds
    grants = Grants(paths.home / FILE_NAME, arguments.workspace, kinds)
    match arguments.action:
        case "edit":
            return _edit(paths, grants, as_json=arguments.json)
        case "remove":
            if arguments.rule == CONTAINED_COMMANDS:
                return _forget_contained(paths, arguments.workspace, as_json=arguments.json)
            return _remove(grants, arguments.rule, as_json=arguments.json)
        case "replay":
            return _replay(paths, grants, arguments)
        case _:
            return _list(paths, grants, as_json=arguments.json)


def _list(paths: Paths, grants: Grants, *, as_json: bool) -> int:
    require_data_directory(paths)
    files = grants.read(), grants.read_project()
    uses = asyncio.run(_with_store(paths, find_last_uses))
    lister = PermissionLister(grants.kinds, uses)
    found = [each for file in files for each in lister.of_file(file, grants.workspace)]
    found += lister.of_folders(trust_store(paths))
    if as_json:
        print_json([{**asdict(each), "origin": each.origin} for each in found])
    elif not found:
        print_lines("There are no rules yet. An approval prompt adds one with “always”.")
    for each in () if as_json else found:
        print_lines(f"{each.effect} {each.rule}", *_describe(each))
    _print_problems(files)
    return ExitCode.ANSWERED


def _describe(permission: Permission) -> Iterable[str]:
    for label, text in permission.facts:
        for at, line in enumerate(text.split("\n")):
            yield f"    {'' if at else label:<11} {line}"


def _remove(grants: Grants, wanted: str, *, as_json: bool) -> int:
    found = find_removable(grants.read(), wanted)
    match found:
        case [entry]:
            removed = remove_entry(grants.file, entry, grants.kinds).entry
        case []:
            raise UsageError(
                f"`{grants.file}` has no rule `{wanted}`; `yourtool permissions list` lists them"
            )
        case _:
            lines = ", ".join(str(each.line) for each in found)
            raise UsageError(
                f"`{grants.file}` has `{wanted}` in the lines {lines}; name one of the lines"
            )
    if as_json:
        place = {"workspace": removed.workspace, "line": removed.line}
        print_json({"effect": removed.effect, "rule": str(removed.rule), **place})
    else:
        where = removed.workspace or "every workspace"
        print_lines(f"Removed `{removed.rule}` from `{removed.effect}` in {where}.")
    return ExitCode.ANSWERED


def _forget_contained(paths: Paths, workspace: Path, *, as_json: bool) -> int:
    """Ask again about the commands of a folder that stay in the sandbox."""
    store = trust_store(paths)
    if (folder := store.forget_contained(workspace)) is None:
        raise UsageError(
            f"`{store.file}` has no `{CONTAINED_COMMANDS}` for `{workspace}`; `yourtool permissions"
            " list` has the folders, and `--cwd DIR` names one"
        )
    if as_json:
        place = {"workspace": str(folder), "line": None}
        print_json({"effect": "allow", "rule": CONTAINED_COMMANDS, **place})
    else:
        print_lines(f"Removed `{CONTAINED_COMMANDS}` from `allow` in {folder}.")
    return ExitCode.ANSWERED


def _edit(paths: Paths, grants: Grants, *, as_json: bool) -> int:
    install_defaults(paths)
    command = [*find_editor(os.environ), str(grants.file)]
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise UsageError(
            f"The editor `{command[0]}` could not be started: {error.strerror}. Set `VISUAL`."
        ) from error
    problems = grants.read().problems
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    elif not problems:
        print_lines(f"{grants.file}: no problems")
    else:
        _print_problems([grants.read()])
    if code:
        raise UsageError(f"The editor `{command[0]}` ended with status {code}.")
    return ExitCode.USAGE if problems else ExitCode.ANSWERED


def _replay(paths: Paths, grants: Grants, arguments: Arguments) -> int:
    require_data_directory(paths)
    source = arguments.file or grants.file
    if arguments.file is not None and not is_file(source):
        raise UsageError(f"`{source}` is not a file")
    stored = read_rule_file(source, grants.kinds)
    projects: list[RuleFile] = []

    def find_rules(workspace: str) -> RuleSet:
        project = Grants(grants.file, Path(workspace), grants.kinds).read_project()
        projects.append(project)
        return stored.rules(workspace) | project.rules(workspace)

    report = asyncio.run(_with_store(paths, lambda store: replay_decisions(store, find_rules)))
    if arguments.json:
        print_json(report)
    else:
        _print_report(report)
    _print_problems([stored, *projects])
    return ExitCode.ANSWERED


def _print_report(report: ReplayReport) -> None:
    changes = report.changes
    print_lines(f"{len(changes):,} of {report.decisions:,} decisions would change.")
    if changes:
        print_table(
            [
                (
                    each.session_id,
                    f"{each.at.astimezone():%Y-%m-%d %H:%M}",
                    each.tool,
                    f"{each.old} → {each.new}",
                    " ".join(each.subjects)[:_MAX_SUBJECT],
                    ", ".join(each.new_rules or each.old_rules) or each.reason,
                )
                for each in changes
            ]
        )
    if report.hidden:
        print_lines(
            f"Not decided again, because a key was hidden in them: {report.hidden:,} calls."
        )
    for session_id, count in report.unrecorded.items():
        calls = "1 call" if count == 1 else f"{count:,} calls"
        print_lines(f"{session_id}: {calls} of an older version, without a stored decision")


async def _with_store(paths: Paths, use: Callable[[SessionStore], Awaitable[T]]) -> T:
    store = SqliteStore(Database(paths.database))
    try:
        return await use(store)
    finally:
        await store.close()


def _print_problems(files: Sequence[RuleFile]) -> None:
    problems: list[Problem] = [problem for file in files for problem in file.problems]
    lines = dict.fromkeys(f"yourtool: {printable(str(problem))}\n" for problem in problems)
    sys.stderr.write("".join(lines))
