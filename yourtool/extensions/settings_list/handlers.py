"""Slash commands about settings and state."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool import __version__
from yourtool.agent.commands.base import CommandHandler, CommandResults, Report, Section
from yourtool.agent.commands.modes import MODE_DESCRIPTIONS
from yourtool.agent.hooks.hook import Hook, build_hook
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.agent.session.project.session_hooks import find_trusted_programs, read_project_hooks
from yourtool.cli import doctor
from yourtool.cli.config import list_files
from yourtool.events.deltas import Notice
from yourtool.extensions.settings_list.setting_list import SettingList
from yourtool.foundation.amounts import format_spending
from yourtool.paths import Paths
from yourtool.permissions.trust import CHECKS, Trust
from yourtool.settings.config import config_file, load_report
from yourtool.settings.toml_places import line_of

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_NO_HOOKS = "There are none. `[[hooks]]` in config.toml adds them; the guide is docs/hooks.md."


def show_settings(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/config`: list the settings and change them; an argument marks one."""
    return SettingList(session, runtime).show(argument)


def toggle_vim(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/vim`: switch `[ui] vim` on or off, in the file too."""
    return SettingList(session, runtime).toggle("ui.vim")


async def show_hooks(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/hooks`: list the hooks with their source and state."""
    rows = await asyncio.to_thread(lambda: tuple(_iter_hooks(runtime.paths, session.workspace)))
    yield Report("Hooks", (Section("Hooks", rows or (("–", _NO_HOOKS),)),))


async def show_status(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/status`: show what this session runs with."""
    state, paths = session.state, runtime.paths
    cost = format_spending(state.cost_usd, unpriced=state.unpriced)
    rows = (
        ("version", __version__),
        ("session", f"{session.id}\n{state.title or '(no title)'}"),
        ("model", session.model.id),
        ("folder", str(session.project)),
        *((("copy", str(session.workspace)),) if session.workspace != session.project else ()),
        ("mode", f"{session.mode.value}: {MODE_DESCRIPTIONS[session.mode]}"),
        ("sandbox", session.sandbox_level or "measured before the first command"),
        ("cost", f"{cost}, {state.turn_count} turns"),
    )
    report, files = await asyncio.to_thread(
        lambda: (load_report(paths), list_files(paths, session.project))
    )
    places = (*files, *(str(each) for each in report.problems), f"log: {paths.log_file}")
    settings = Section("Settings files", tuple(("", each) for each in places))
    yield Report("Status", (Section("This session", rows), settings))


async def show_doctor(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/doctor`: run the checks of `yourtool doctor`."""
    yield Notice(level="info", text="Checking …")
    checks = await asyncio.to_thread(
        lambda: tuple(doctor.run_checks(runtime.paths, session.project))
    )
    areas = dict.fromkeys(each.area for each in checks)
    yield Report("Doctor", tuple(_build_area(area, checks) for area in areas))


def _build_area(area: str, checks: Sequence[doctor.Check]) -> Section:
    return Section(
        area,
        tuple(
            (f"{doctor.MARKS[each.status]} {each.name}", each.detail)
            for each in checks
            if each.area == area
        ),
    )


def _iter_hooks(paths: Paths, workspace: Path) -> Iterator[tuple[str, str]]:
    """Yield a row for each hook and for each file whose hooks do not run."""
    report, file = load_report(paths), config_file(paths)
    trust = ProjectTrust(workspace, paths).examine()
    programs = find_trusted_programs(trust)
    for number, config in enumerate(report.config.hooks, 1):
        hook = build_hook(config, "user")
        place = f"{file}:{line_of(report.text, ('hooks', str(number)))}"
        problem = programs.find_problem(hook, workspace)
        yield _describe(hook, place, f"does not run: {problem}" if problem else "runs")
    for problem in report.problems:
        if problem.key.partition(".")[0] == "hooks":
            yield "mistake", f"{problem}\nno hook of this file runs"
    hooks, mistakes = read_project_hooks(trust)
    for hook in hooks:
        problem = programs.find_problem(hook, workspace)
        yield _describe(hook, "the project", f"does not run: {problem}" if problem else "runs")
    yield from (("mistake", each) for each in mistakes)
    for each in trust.files:
        if each.kind is CHECKS and trust.status is not Trust.TRUSTED:
            yield each.name, "its hooks do not run: the folder is not trusted; `/trust` shows it"


def _describe(hook: Hook, place: str, state: str) -> tuple[str, str]:
    name = f"{hook.config.event} {hook.config.matcher}".rstrip()
    return name, f"{hook.name}\n{state}; {place}"


HANDLERS: Mapping[str, CommandHandler] = {
    "config": show_settings,
    "vim": toggle_vim,
    "hooks": show_hooks,
    "status": show_status,
    "doctor": show_doctor,
}
