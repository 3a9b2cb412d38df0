"""Protected places after any sequence of changes."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.protection.repositories import build, look, write
from yourtool.permissions.protected_places import is_protected
from yourtool.tools.protection.protected import ProtectedPlaces

PATHS = (
    "AGENTS.md", "CLAUDE.md", ".vscode", ".vscode/tasks.json", ".vscode/a/b", ".github",
    ".github/workflows", ".github/workflows/ci.yml", ".github/plain.txt", ".husky",
    ".husky/pre-commit", ".git/hooks", ".git/hooks/pre-commit", ".git/info",
    ".git/info/attributes", ".git/config", "plain", "src/a.py", "src",
)  # fmt: skip
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(("write", "delete", "rename", "link", "chmod", "make directory")),
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
    ),
    min_size=1,
    max_size=6,
)


def change(root, kind, path, other):
    place = root / path
    match kind:
        case "write":
            write(root, path, f"{other}\n")
        case "delete":
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        case "rename":
            place.rename(root / other)
        case "link":
            place.symlink_to(other)
        case "chmod":
            if place.is_file() and path != ".git/config":
                place.chmod(place.stat().st_mode ^ 0o111)
        case _:
            place.mkdir()


def get_protected(found):
    """Return what must not change without a question."""
    return {
        path: entry
        for path, entry in found.items()
        if (is_protected(path) and not path.startswith(".git/"))
        or path.startswith((".git/hooks/", ".git/config", ".git/info/attributes"))
        if not path.endswith((".sample", "exclude")) and isinstance(entry, tuple)
    }


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    root = build(tmp_path_factory.mktemp("template") / "work")
    write(root, ".github/plain.txt", "plain\n")
    return root


@settings(max_examples=40, deadline=None)
@given(changes=CHANGES)
@pytest.mark.remaining
def test_any_changes_are_taken_back_and_can_be_made_again(template, changes):
    folder = Path(tempfile.mkdtemp())
    try:
        root = Path(shutil.copytree(template, folder / "work"))
        before = look(root)
        places = ProtectedPlaces(root)
        places.begin()
        for each in changes:
            with suppress(OSError):
                change(root, *each)
        made = look(root)
        outcome = places.end()
        assert all(each.is_taken_back for each in outcome.changes)
        assert get_protected(look(root)) == get_protected(before)
        places.apply(outcome.changes)
        assert get_protected(look(root)) == get_protected(made)
        assert look(root) == made
    finally:
        shutil.rmtree(folder)
