"""Protected places are restored while another process replaces names with links."""

import subprocess
import sys
from contextlib import suppress

import pytest

from tests.tools.protection import swapping
from tests.tools.protection.repositories import build, look, write
from yourtool.errors import ToolError
from yourtool.tools.protection.protected import ProtectedPlaces


def build_outside(root):
    for name in ("AGENTS.md", ".git-config"):
        write(root, name, "of somebody else\n")
    for name in (".vscode", ".github/workflows", ".husky", ".git-hooks", ".git-info"):
        for inner in ("tasks.json", "ci.yml", "pre-commit", "attributes"):
            write(root, f"{name}/{inner}", "of somebody else\n")
    return look(root)


@pytest.mark.parametrize(
    "rounds", [pytest.param(60, id="short"), pytest.param(1000, marks=pytest.mark.soak)]
)
@pytest.mark.remaining
def test_nothing_outside_changes_while_links_are_swapped_in(tmp_path, rounds):
    root, outside = build(tmp_path / "work"), tmp_path / "outside"
    before = build_outside(outside)
    places = ProtectedPlaces(root)
    places.begin()
    arguments = (sys.executable, swapping.__file__, str(root), str(outside))
    taken_back = 0
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as hostile:
        try:
            hostile.stdout.readline()
            for _ in range(rounds):
                places.begin()
                places.check_running()
                outcome = places.end()
                taken_back += sum(each.is_taken_back for each in outcome.changes)
                for change in outcome.changes:
                    with suppress(ToolError):
                        places.apply([change])
        finally:
            hostile.kill()
    assert look(outside) == before
    assert taken_back
    places.end()
    assert look(outside) == before
    assert look(outside) == before
    assert not list(root.rglob(".yourtool-*"))
