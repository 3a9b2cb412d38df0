"""Which paths of a command are inside the workspace."""

import pytest

from yourtool.permissions import credential_search
from yourtool.permissions.credential_search import FilesBelow
from yourtool.permissions.shell import place as places
from yourtool.permissions.shell.place import Place


@pytest.fixture
def place(tmp_path):
    root = tmp_path.resolve() / "work"
    (root / "src/deep").mkdir(parents=True)
    for name in ("a.py", "b.py", "src/c.py", ".hidden.py"):
        (root / name).write_text("x\n")
    (root / "out.py").symlink_to("/etc/passwd")
    return Place(root, root)


@pytest.mark.parametrize("path", ["-", "/dev/null", "a.py", "src/", "*.txt", "src/*.py", "new.py"])
def test_path_in_the_workspace_is_readable(place, path):
    assert place.is_readable(path)


@pytest.mark.parametrize(
    "path", ["..", "/", "../x", ".env", "out.py", "*.py", "[ab].py", "sr?/c.py", "no/*.py", "../*"]
)
@pytest.mark.req("R-CONF-04")
def test_path_that_may_lead_elsewhere_or_to_a_secret_is_not_readable(place, path):
    assert not place.is_readable(path)


def test_glob_reads_what_the_shell_expands_it_to(place):
    (place.root / "out.py").unlink()
    assert place.is_readable("*.py")
    (place.root / ".env").write_text("x\n")
    assert place.is_readable("*")
    assert not place.is_readable(".*")
    assert not place.is_readable("[.]env")


def test_file_that_may_exist_is_not_free_to_write(place):
    (place.root / "loop").symlink_to("loop")
    assert place.is_own_file("new.py") and place.is_own_file("a.py")
    assert not any(place.is_own_file(each) for each in ("loop", "x" * 300, f"{'x' * 300}/a"))


def test_tree_is_unreadable_if_a_file_at_any_depth_may_contain_credentials(place, monkeypatch):
    assert place.find_unreadable(FilesBelow(".")) is None
    (place.root / "src/deep/.env").write_text("x\n")
    assert "`src/deep/.env`" in place.find_unreadable(FilesBelow("."))
    assert "`src/deep/.env`" in place.find_unreadable(FilesBelow("s*"))
    assert place.find_unreadable(FilesBelow("a*")) is None
    assert place.find_unreadable(FilesBelow(".", "visible")) is None
    assert place.find_unreadable(FilesBelow(".", names=("*.py",))) is None
    for outside in ("..", "/", "out.py", "s*/deep"):
        assert place.find_unreadable(FilesBelow(outside))
    monkeypatch.setattr(credential_search, "_MAX_FILES", 5)
    assert "more than 5 files" in place.find_unreadable(FilesBelow("."))


def test_link_leads_out_at_any_depth_or_where_there_are_too_many_files(place, monkeypatch):
    assert place.has_link_out(".")
    assert not place.has_link_out("src")
    assert not place.has_link_out("a.py")
    monkeypatch.setattr(places, "_MAX_FILES", 2)
    assert place.has_link_out("src")
    monkeypatch.setattr(places, "_MAX_FILES", 3)
    assert not place.has_link_out("src")
    (place.root / "src/deep/up").symlink_to("../../..")
    assert place.has_link_out("src")


@pytest.mark.parametrize("name", ["..", "/", "-", "-P", "a.py", "missing", "link", "link/deep"])
def test_directory_outside_the_workspace_or_behind_a_link_is_not_entered(place, name):
    (place.root / "link").symlink_to("src")
    (place.root / "-P").mkdir()
    assert place.enter(name) is None


def test_directory_of_the_workspace_is_entered_and_left(place):
    inner = place.enter("src/deep")
    assert inner is not None
    assert inner.enter("..") == Place(place.root, place.root / "src")
    assert inner.enter("../..") == place
    assert inner.enter("../../..") is None
