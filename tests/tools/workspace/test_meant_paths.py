"""Files whose names look like the one that was asked for."""

import unicodedata

import pytest

from tests.tools.contexts import answer
from yourtool.agent.input.attachments import read_attachment
from yourtool.foundation.similar_names import find_meant
from yourtool.tools.search.search import glob
from yourtool.tools.workspace.meant_paths import correct_arguments, find_meant_path
from yourtool.tools.workspace.workspace import Workspace

SHOT = "Screenshot at 3.04.05\u202fPM.txt"
NFD = unicodedata.normalize("NFD", "café.txt")
CASES = [
    (SHOT, "Screenshot at 3.04.05 PM.txt", True),
    ("a\u00a0b.txt", "a b.txt", True),
    ("a b.txt", "a\u00a0b.txt", True),
    (NFD, "café.txt", True),
    ("café.txt", NFD, True),
    ("name.txt ", "name.txt", True),
    ("zero\u200bwidth", "zerowidth", True),
    ("two  spaces", "two spaces", True),
    ("README.md", "readme.md", False),
    ("it\u2019s.txt", "it's.txt", False),
    ("a\u2013b.txt", "a-b.txt", False),
    ("\uff21.txt", "A.txt", False),
    ("\u0441onfig.py", "config.py", False),
    ("Straße.txt", "strasse.txt", False),
]


@pytest.mark.parametrize(("name", "asked", "is_invisible"), CASES)
def test_one_name_that_looks_the_same_is_meant(root, name, asked, is_invisible):
    (root / name).write_text("x")
    (root / "other").write_text("x")
    workspace = Workspace(root)
    assert find_meant_path(asked, workspace) == name
    assert find_meant_path(name, workspace) is None
    assert find_meant_path(asked, workspace, may_create=True) == (name if is_invisible else None)


def test_none_of_several_names_is_meant():
    assert find_meant("a b", ["a\u00a0b", "a\u202fb"]) is None
    assert find_meant("readme", ["README", "Readme"]) is None
    assert find_meant("a b", ["a\u00a0b", "A B"]) == "a\u00a0b"
    assert find_meant("a", ["b"]) is None


def test_directories_of_a_path_are_found_too(root):
    (root / "My\u00a0Files/Sub").mkdir(parents=True)
    (root / "My\u00a0Files/Sub" / NFD).write_text("x")
    workspace = Workspace(root)
    assert find_meant_path("My Files/sub/café.txt", workspace) == f"My\u00a0Files/Sub/{NFD}"
    assert find_meant_path("My Files/new.txt", workspace) is None
    created = find_meant_path("My Files/new.txt", workspace, may_create=True)
    assert created == "My\u00a0Files/new.txt"
    assert find_meant_path("../ws", workspace) is None


def test_paths_of_a_patch_are_found(root):
    (root / NFD).write_text("x")
    patch = "*** Begin Patch\n*** Update File: café.txt\n@@\n-x\n+y\n*** End Patch"
    values, notes = correct_arguments({"patch": patch}, Workspace(root), may_create=False)
    assert values["patch"] == patch.replace("café.txt", NFD)
    assert notes == ["`caf\\xe9.txt` does not exist; `cafe\\u0301.txt` was used."]


def test_link_that_leaves_the_workspace_is_not_followed(root, tmp_path):
    (tmp_path / "outside").write_text("x")
    (root / "Link").symlink_to(tmp_path / "outside")
    workspace = Workspace(root)
    assert find_meant_path("link", workspace) in (None, "Link")
    (root / "Dir").symlink_to(tmp_path)
    assert find_meant_path("dir/Outside", workspace) is None


def test_own_directories_stay_closed(root):
    (root / "own").mkdir()
    (root / "own/Keys").write_text("x")
    workspace = Workspace(root, own_directories=(root / "own",))
    assert find_meant_path("own/keys", workspace) is None


def test_attachment_is_found_by_a_name_that_looks_the_same(tmp_path):
    (tmp_path / SHOT).write_text("one\n")
    found = read_attachment(SHOT.replace("\u202f", " "), tmp_path)
    assert "\\u202f" in found.notice


async def test_name_with_brackets_means_itself_in_a_glob(context, root):
    for name in ("[id].tsx", "i.tsx", "[...slug].tsx", "s.tsx", "#x.txt"):
        (root / name).touch()
    (root / "[id]").mkdir()
    (root / "[id]/page.tsx").touch()
    assert await answer(glob, context, pattern="[id].tsx") == "[id].tsx"
    assert await answer(glob, context, pattern="[...slug].tsx") == "[...slug].tsx"
    assert await answer(glob, context, pattern="[id]/*.tsx") == "[id]/page.tsx"
    assert await answer(glob, context, pattern="[si].tsx") == "i.tsx\ns.tsx"
    assert await answer(glob, context, pattern="#x.txt") == "#x.txt"
