"""The recorded requests of each task: a file that only smaller numbers change."""

import tomllib
from pathlib import Path

from msgspec import Struct

from tests.e2e.clumsy_models import KINDS
from tests.e2e.task_projects import PROJECTS

FILE = Path(__file__).with_suffix(".toml")
_HEAD = """\
# Requests that each task of `clumsy_models.py` takes: `before` with the program as it was before
# edits and arguments tolerated mistakes, `now` at most. `python -m tests.e2e.craft_page` writes it.
"""


class Requests(Struct, frozen=True):
    """The requests of one task."""

    before: int
    now: int


def read_requests() -> dict[tuple[str, str], Requests]:
    """Return the recorded numbers by kind and language."""
    return {
        (kind, project.language): Requests(**tasks[project.language])
        for kind, tasks in tomllib.loads(FILE.read_text("utf-8")).items()
        for project in PROJECTS
    }


def write_requests(found: dict[tuple[str, str], Requests]) -> None:
    """Record the numbers of every task."""
    parts = [_HEAD]
    for kind in KINDS:
        parts.append(f"\n[{kind}]\n")
        for project in PROJECTS:
            row = found[kind, project.language]
            parts.append(f"{project.language} = {{ before = {row.before}, now = {row.now} }}\n")
    FILE.write_text("".join(parts), "utf-8")
