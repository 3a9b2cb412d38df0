"""Ordinary commands in ordinary projects: the program does what a shell does."""

from collections.abc import Callable, Mapping

import msgspec
import pytest

from tests.day.commands import COMMANDS
from tests.day.projects import PROJECTS
from tests.day.runner import Cell, run_day
from tests.day.table import format_table
from tests.tools.sandbox.levels import require
from yourtool.settings.sandbox_config import SandboxLevel

KNOWN_DIFFERENCES: tuple[tuple[str, str], ...] = ()
"""Projects and commands that differ today."""
SHORT_PROJECTS = (
    "empty folder",
    "package of a monorepo",
    "linked worktree",
    "tracked protected places",
)
SHORT_COMMANDS = ("commit", "merge", "stash", "reset", "worktree", "configure", "find", "serve")


@pytest.fixture
def play(record_property) -> Callable[[str, Mapping[str, str]], list[Cell]]:
    """Runs commands in a project, and returns the cells that differ."""
    require(SandboxLevel.FULL)

    def run(project: str, commands: Mapping[str, str]) -> list[Cell]:
        cells = list(run_day(project, PROJECTS[project], commands))
        record_property("cells", msgspec.json.encode(cells).decode())
        return [
            cell
            for cell in cells
            if cell.verdict == "different" and (project, cell.command) not in KNOWN_DIFFERENCES
        ]

    return run


@pytest.mark.parametrize("project", SHORT_PROJECTS)
@pytest.mark.sample(4)
def test_command_in_the_sandbox_does_what_it_does_in_a_shell(play, project):
    different = play(project, {name: COMMANDS[name] for name in SHORT_COMMANDS})
    assert not different, "\n".join(format_table(different))


@pytest.mark.day
@pytest.mark.parametrize("project", PROJECTS)
def test_each_command_of_a_day_does_what_it_does_in_a_shell(play, project):
    different = play(project, COMMANDS)
    assert not different, f"{len(different)} commands differ; the table shows them"


def test_there_are_thirty_projects_and_thirty_commands():
    assert (len(PROJECTS), len(COMMANDS)) == (30, 30)
