"""Project settings: hooks and checks after edits."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from yourtool.agent.session.project.project_files import ProjectFile, read_project_files
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.errors import ToolError
from yourtool.paths import Paths
from yourtool.permissions.trust import CHECKS
from yourtool.settings.agent_config import CheckConfig
from yourtool.settings.config import ConfigReport
from yourtool.settings.hook_config import HookConfig
from yourtool.settings.problems import Problem
from yourtool.settings.tables import (
    Fault,
    TableKey,
    build_tables,
    format_key,
    iter_leaves,
    parse_toml,
)
from yourtool.settings.toml_places import line_of
from yourtool.tools.search.name_filter import NameFilter


class ProjectConfig(Struct, frozen=True):
    """Everything that the file of a project can set."""

    checks: dict[str, CheckConfig] = {}
    hooks: tuple[HookConfig, ...] = ()


def find_checks(
    own: Mapping[str, CheckConfig], workspace: Path, paths: Paths
) -> Mapping[str, CheckConfig]:
    """Return the checks by name; a project does not replace one of the user.

    It reads exactly the content that the user trusts, so a changed file configures nothing.

    Raises:
        ToolError: the file of a project is invalid.
    """
    found = dict(own)
    for file in ProjectTrust(workspace, paths).examine().used_files:
        if file.kind is CHECKS:
            config, problems = parse_project_config(file)
            if problems:
                raise ToolError(str(problems[0]))
            for name, check in config.checks.items():
                found.setdefault(name, check)
    return found


def find_check_problems(report: ConfigReport, where: str, workspace: Path) -> tuple[Problem, ...]:
    """Return the mistakes in checks that the settings do not show, and all those of a project.

    `where`: the file of the settings. The project needs no trust, because nothing of it is used.
    """
    listed = {each.key for each in report.problems}
    own = _find_mistakes(report.config.checks, report.text, where)
    files = (each for each in read_project_files(workspace) if each.kind is CHECKS)
    return (
        *(each for each in own if each.key not in listed),
        *(problem for file in files for problem in parse_project_config(file)[1]),
    )


def parse_project_config(file: ProjectFile) -> tuple[ProjectConfig, tuple[Problem, ...]]:
    """Return the valid settings of a file of a project, and its mistakes."""
    try:
        values = parse_toml(file.text)
    except ValueError as error:
        return ProjectConfig(), (Problem(where=file.name, message=f"not TOML: {error}"),)
    found, problems = dict[TableKey, Any](), list[Problem]()
    for key, outcome in iter_leaves(values, ProjectConfig):
        if isinstance(outcome, Fault):
            line = line_of(file.text, key)
            problems.append(
                Problem(
                    where=file.name,
                    line=line,
                    key=format_key(key),
                    message=outcome.message,
                    nearest=outcome.nearest,
                )
            )
        else:
            found[key] = outcome
    config = msgspec.convert(build_tables(found), ProjectConfig)
    listed = {each.key for each in problems}
    mistakes = _find_mistakes(config.checks, file.text, file.name)
    return config, (*problems, *(each for each in mistakes if each.key not in listed))


def _find_mistakes(checks: Mapping[str, CheckConfig], text: str, where: str) -> Iterator[Problem]:
    """Yield the checks that name no program, and the globs that match nothing."""
    for name, check in checks.items():
        if not check.run or not check.run[0].strip():
            key, example = ("checks", name, "run"), '`run = ["ruff", "check", "{files}"]`'
            message = f"names no program; an example: {example}"
            yield Problem(
                where=where, line=line_of(text, key), key=format_key(key), message=message
            )
        for glob in check.files:
            try:
                NameFilter(glob)
            except ToolError:
                key = ("checks", name, "files")
                message = f"`{glob}` is no glob of files in the project, such as `src/**/*.py`"
                yield Problem(
                    where=where, line=line_of(text, key), key=format_key(key), message=message
                )
