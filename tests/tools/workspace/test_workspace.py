import contextlib
import os
import shutil
import socket
import stat
import sys
from pathlib import Path

import pytest

from tests.tools.openers import OPENERS
from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.protected_places import is_protected
from yourtool.tools.workspace.directory_opening import open_by_components
from yourtool.tools.workspace.replacing import ABSENT, digest
from yourtool.tools.workspace.workspace import Workspace


@pytest.fixture(params=OPENERS)
def workspace(request, root):
    return Workspace(root, opener=request.param)


def count_descriptors():
    return len(list(Path("/dev/fd").iterdir()))


def get_refusal(workspace, path, *said, writing=False):
    with pytest.raises(ToolError) as caught:
        workspace.check(path, writing=writing)
    for text in said:
        assert text in str(caught.value)
    return caught.value.failure


@pytest.mark.parametrize("path", ["..", "a/../..", "/etc/passwd", "~", "~/x", "/proc/self/root/x"])
@pytest.mark.req("R-TOOL-06")
def test_path_outside_the_workspace_is_rejected_with_a_remedy(workspace, path):
    assert get_refusal(workspace, path, path, "--add-dir") is ToolFailure.PERMISSION_DENIED


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "is empty"),
        ("a\0b", "NUL"),
        ("\ud800", "cannot be encoded"),
        ("x/" * 3000, "4,096"),
        ("x" * 300, "too long"),
    ],
)
@pytest.mark.req("R-TOOL-06")
def test_invalid_path_is_rejected(workspace, path, said):
    get_refusal(workspace, path, said)


@pytest.mark.req("R-TOOL-06")
def test_link_out_of_the_workspace_is_rejected_at_any_position(workspace, root, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_text("x")
    (root / "up").symlink_to("..")
    (root / "there").symlink_to(tmp_path / "secret")
    (root / "file").symlink_to(tmp_path / "secret" / "file")
    (root / "gone").symlink_to(tmp_path / "nothing")
    for path in ("up/secret/file", "there", "there/file", "file", "gone", "up"):
        assert get_refusal(workspace, path, path) is ToolFailure.PERMISSION_DENIED


@pytest.mark.req("R-TOOL-06")
def test_link_within_the_workspace_is_followed(workspace, root):
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_bytes(b"x")
    (root / "link").symlink_to("a/b")
    (root / "absolute").symlink_to(root / "a")
    (root / "a" / "back").symlink_to("../a/b")
    (root / "a" / "same").symlink_to("b/file")
    paths = ("link/file", "absolute/b/file", "a/back/../b/file", f"{root}/link/./file", "a/same")
    for path in paths:
        assert workspace.read(path, limit=9) == b"x"
        assert workspace.locate(path) == "a/b/file"


@pytest.mark.parametrize(("links", "is_allowed"), [(40, True), (41, False)])
@pytest.mark.req("R-TOOL-06")
def test_chain_of_forty_links_is_the_longest_that_is_followed(workspace, root, links, is_allowed):
    (root / "0").write_bytes(b"x")
    for number in range(links):
        (root / str(number + 1)).symlink_to(str(number))
    if is_allowed:
        assert workspace.read(str(links), limit=9) == b"x"
    else:
        get_refusal(workspace, str(links), "loop of symbolic links")


@pytest.mark.req("R-TOOL-06")
def test_symlinked_root_is_allowed(root, tmp_path):
    (root / "file").write_bytes(b"x")
    (tmp_path / "alias").symlink_to(root)
    workspace = Workspace(tmp_path / "alias")
    for path in ("file", f"{tmp_path}/alias/file", f"{root}/file"):
        assert workspace.read(path, limit=9) == b"x"


@pytest.mark.req("R-TOOL-06")
def test_circular_links_are_rejected(workspace, root):
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    get_refusal(workspace, "a", "loop of symbolic links")


@pytest.mark.req("R-TOOL-06")
def test_only_regular_files_are_opened(workspace, root):
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        with contextlib.chdir(root):
            server.bind("socket")
        for name, kind in (("pipe", "named pipe"), ("socket", "socket"), (".", "directory")):
            with pytest.raises(ToolError, match=kind):
                workspace.read(name, limit=9)


@pytest.mark.skipif(sys.platform != "linux", reason="the device is Linux's")
@pytest.mark.req("R-TOOL-06")
def test_device_in_a_readable_directory_is_not_opened(root):
    workspace = Workspace(root, (Path("/dev"),))
    with pytest.raises(ToolError, match="device"):
        workspace.read("/dev/zero", limit=9)


def test_additional_directories_are_opened_read_only(root, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_bytes(b"x")
    workspace = Workspace(root, (tmp_path / "other",))
    assert workspace.readable == (tmp_path.resolve() / "other",)
    assert workspace.read(f"{tmp_path}/other/file", limit=9) == b"x"
    assert workspace.locate(f"{tmp_path}/other/file") == f"{tmp_path}/other/file"
    assert get_refusal(workspace, f"{tmp_path}/other/file", "not changed", writing=True) is (
        ToolFailure.PERMISSION_DENIED
    )
    with pytest.raises(ToolError, match="may be read but not changed"):
        workspace.write(f"{tmp_path}/other/file", b"y", expected=digest(b"x"))


@pytest.mark.req("R-TOOL-02")
def test_missing_file_error_suggests_similar_names(workspace, root):
    (root / "src").mkdir()
    (root / "src" / "README.md").write_text("x")
    with pytest.raises(ToolError, match=r"`src/readme.txt` does not exist.*`src/README.md`"):
        workspace.read("src/readme.txt", limit=9)
    with pytest.raises(ToolError, match=r"`zzz/q` does not exist; list `\.`"):
        workspace.read("zzz/q", limit=9)


@pytest.mark.req("R-TOOL-02")
def test_file_is_not_accepted_as_a_directory_or_vice_versa(workspace, root):
    (root / "file").write_text("x")
    for work in (lambda: workspace.read("file/x", limit=9), lambda: workspace.check("file/../y")):
        with pytest.raises(ToolError, match=r"not a directory.*list_dir"):
            work()
    with pytest.raises(ToolError, match="`file` is a file, not a directory; use `read_file`"):
        workspace.entries("file")
    with pytest.raises(ToolError, match="the limit of this tool"):
        workspace.read("file", limit=0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.req("R-TOOL-02")
def test_unreadable_file_is_reported(workspace, root):
    (root / "file").write_text("x")
    (root / "file").chmod(0)
    with pytest.raises(ToolError, match="`file` could not be read: permission denied"):
        workspace.read("file", limit=9)


@pytest.mark.req("R-TOOL-08")
def test_write_preserves_the_mode_and_the_link(workspace, root):
    (root / "file").write_bytes(b"x")
    (root / "file").chmod(0o751)
    (root / "link").symlink_to("file")
    workspace.write("link", b"new", expected=digest(b"x"))
    assert (root / "link").is_symlink()
    assert (root / "file").read_bytes() == b"new"
    assert stat.S_IMODE((root / "file").stat().st_mode) == 0o751


@pytest.mark.req("R-TOOL-08")
def test_new_file_is_created_with_the_umask_and_its_directories(workspace, root):
    before = os.umask(0o027)
    try:
        workspace.write("a/b/file", b"x", expected=ABSENT)
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "a" / "b" / "file").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.req("R-TOOL-08")
def test_write_preserves_the_owner(workspace, root):
    (root / "file").write_bytes(b"x")
    os.chown(root / "file", 12345, 23456)
    workspace.write("file", b"new", expected=digest(b"x"))
    status = (root / "file").stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)


@pytest.mark.req("R-TOOL-06")
def test_write_to_a_hard_link_does_not_change_the_outside_file(workspace, root, tmp_path):
    (tmp_path / "outside").write_bytes(b"x")
    (root / "file").hardlink_to(tmp_path / "outside")
    workspace.write("file", b"new", expected=digest(b"x"))
    assert (tmp_path / "outside").read_bytes() == b"x"
    assert (root / "file").read_bytes() == b"new"


@pytest.mark.req("R-TOOL-08")
def test_failed_write_leaves_no_file(workspace, root):
    (root / "file").write_bytes(b"x")
    with pytest.raises(ToolError, match=r"changed during.*read_file"):
        workspace.write("file", b"new", expected=digest(b"y"))
    with pytest.raises(ToolError, match="changed during"):
        workspace.write("other", b"new", expected=digest(b"y"))
    assert [path.name for path in root.iterdir()] == ["file"]
    assert (root / "file").read_bytes() == b"x"


@pytest.mark.req("R-TOOL-06")
def test_delete_removes_only_the_file_that_is_expected(workspace, root, tmp_path):
    (tmp_path / "outside").write_bytes(b"x")
    (root / "file").hardlink_to(tmp_path / "outside")
    (root / "dir").mkdir()
    (root / "out").symlink_to(tmp_path)
    for path, said in (
        ("file", "changed during"), ("missing", "does not exist"), ("dir", "is a directory"),
        ("../outside", "--add-dir"), ("out/outside", "--add-dir"), (".", "is a directory"),
    ):  # fmt: skip
        with pytest.raises(ToolError, match=said):
            workspace.delete(path, expected=digest(b"y"))
    assert sorted(path.name for path in root.iterdir()) == ["dir", "file", "out"]
    workspace.delete("file", expected=digest(b"x"))
    assert not (root / "file").exists()
    assert (tmp_path / "outside").read_bytes() == b"x"


@pytest.mark.req("R-TOOL-06")
def test_file_that_becomes_a_link_just_before_it_is_deleted_stays(workspace, root):
    (root / "file").write_bytes(b"x")
    (root / "other").write_bytes(b"x")

    @contextlib.contextmanager
    def swap(found):
        assert found.before_mode is not None
        (root / "file").unlink()
        (root / "file").symlink_to("other")
        yield

    with pytest.raises(ToolError, match="could not be deleted"):
        workspace.delete("file", expected=digest(b"x"), announce=swap)
    assert (root / "file").is_symlink()
    assert (root / "other").read_bytes() == b"x"


def test_links_are_recognized_by_their_last_name(workspace, root):
    (root / "dir").mkdir()
    (root / "dir" / "file").write_bytes(b"x")
    (root / "link").symlink_to("dir/file")
    (root / "folder").symlink_to("dir")
    found = {
        path: workspace.is_link(path)
        for path in ("link", "./link", f"{root}/link", "folder", "folder/", "folder/file",
                     "dir/file", "missing", "missing/x", "dir/file/x")
    }  # fmt: skip
    links = {"link", "./link", f"{root}/link", "folder", "folder/"}
    assert found == {path: path in links for path in found}


def test_new_file_can_have_the_mode_of_another(workspace, root):
    (root / "file").write_bytes(b"x")
    (root / "file").chmod(0o640)
    mode = workspace.permissions("file")
    assert mode == 0o640
    workspace.write("new", b"y", expected=ABSENT, mode=0o751)
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o751


def test_entries_have_the_kind_of_each_name(workspace, root):
    (root / "dir").mkdir()
    (root / "file").write_bytes(b"abc")
    (root / "link").symlink_to("/nowhere")
    kinds = {entry.name: (entry.kind, entry.target) for entry in workspace.entries(".")}
    assert kinds == {"dir": ("directory", ""), "file": ("file", ""), "link": ("link", "/nowhere")}


def test_protected_path_is_recognized_behind_a_link(workspace, root):
    (root / ".git").mkdir()
    (root / "innocent").symlink_to(".git")
    assert is_protected(workspace.locate("innocent/config"))


def replace_root(root, kind):
    """Move the workspace away, and put something else in its place."""
    moved = root.rename(root.with_name("moved"))
    match kind:
        case "link":
            root.symlink_to("elsewhere")
            root.with_name("elsewhere").mkdir()
            (root / "file").write_bytes(b"other")
        case "directory":
            root.mkdir()
            (root / "file").write_bytes(b"other")
    return moved


@pytest.mark.parametrize("kind", ["nothing", "link", "directory"])
@pytest.mark.req("R-TOOL-06")
def test_file_tools_stay_in_a_workspace_that_is_renamed(workspace, root, kind):
    (root / "file").write_bytes(b"x")
    (root / "a").mkdir()
    moved = replace_root(root, kind)
    for path in ("file", f"{root}/file", "a/../file"):
        assert workspace.read(path, limit=9) == b"x"
    workspace.write("a/new", b"y", expected=ABSENT)
    assert (moved / "a/new").read_bytes() == b"y"
    assert [entry.name for entry in workspace.entries(".")] == ["a", "file"]


@pytest.mark.parametrize("kind", ["nothing", "link", "directory"])
@pytest.mark.req("R-TOOL-06")
def test_no_command_starts_in_a_workspace_that_is_not_in_its_place(workspace, root, kind):
    assert os.path.samestat(os.fstat(workspace.root_descriptor()), root.stat())
    replace_root(root, kind)
    with pytest.raises(ToolError, match=r"is not at this path any more.*put it back"):
        workspace.root_descriptor()


@pytest.mark.req("R-TOOL-06")
def test_deleted_workspace_is_named_as_the_problem(workspace, root):
    root.rmdir()
    for work in (
        lambda: workspace.read("file", limit=9),
        lambda: workspace.write("a/file", b"x", expected=ABSENT),
        lambda: workspace.entries("."),
        workspace.root_descriptor,
    ):
        with pytest.raises(
            ToolError, match=f"`{root}`, which was opened at the start, was deleted"
        ):
            work()


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.req("R-TOOL-06")
def test_additional_directory_is_the_one_of_the_start(opener, root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_bytes(b"x")
    workspace = Workspace(root, (other,), opener=opener)
    replace_root(other, "directory")
    assert workspace.read(f"{other}/file", limit=9) == b"x"
    shutil.rmtree(tmp_path / "moved")
    with pytest.raises(ToolError, match=f"`{other}`, which was opened at the start, was deleted"):
        workspace.read(f"{other}/file", limit=9)


@pytest.mark.req("R-TOOL-06")
def test_directory_that_leaves_the_workspace_during_a_call_is_walked_again(root, tmp_path):
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_bytes(b"x")
    moves = []

    def open_and_move(path, directory):
        opened = open_by_components(path, directory)
        if not moves:
            moves.append((root / "a").rename(tmp_path / "moved"))
        return opened

    workspace = Workspace(root, opener=open_and_move)
    with pytest.raises(ToolError, match="`a/b/file` does not exist"):
        workspace.read("a/b/file", limit=9)


@pytest.mark.req("R-TOOL-06")
def test_own_file_that_takes_the_place_of_another_one_is_not_read(root, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "keys").write_bytes(b"secret")
    (own / "same").hardlink_to(own / "keys")
    (root / "file").write_bytes(b"x")

    class Racing(Workspace):
        def own_files(self):
            found = super().own_files()
            if (own / "keys").exists():
                (own / "keys").rename(root / "file")
                (own / "same").unlink()
                (own / "same").hardlink_to(root / "file")
            return found

    with pytest.raises(ToolError, match="of `yourtool` itself"):
        Racing(root, (), (own,)).read("file", limit=99)


class Swapping(Workspace):
    """A workspace in which another process acts after a path was resolved."""

    def __init__(self, root, swap):
        super().__init__(root)
        self._swap = swap

    def own_files(self):
        self._swap()
        return super().own_files()


@pytest.mark.parametrize(
    "work",
    [
        lambda workspace: workspace.read("a/b", limit=9),
        lambda workspace: workspace.entries("a/b"),
        lambda workspace: workspace.is_link("a/b/file"),
        lambda workspace: workspace.open_parent("a/b/file").__enter__(),
    ],
    ids=["read", "entries", "is_link", "open_parent"],
)
@pytest.mark.req("R-TOOL-06")
def test_name_that_becomes_a_link_during_a_call_is_not_followed(root, tmp_path, request, work):
    secret, at = tmp_path / "secret", root / "a/b"
    at.parent.mkdir()
    if "[read]" in request.node.name:
        at.touch()
        secret.write_bytes(b"secret")
    else:
        at.mkdir()
        secret.mkdir()

    def swap():
        if not at.is_symlink():
            at.rename(tmp_path / "moved")
            at.symlink_to(secret)

    with pytest.raises(ToolError, match=r"`a/b.* could not be"):
        work(Swapping(root, swap))


@pytest.mark.req("R-TOOL-06")
def test_file_that_becomes_a_pipe_during_a_call_is_not_waited_for(root):
    (root / "file").touch()

    def swap():
        if (root / "file").is_file():
            (root / "file").unlink()
            os.mkfifo(root / "file")

    with pytest.raises(ToolError, match="is a named pipe"):
        Swapping(root, swap).read("file", limit=9)


@pytest.mark.req("R-TOOL-06")
def test_hard_link_of_a_credential_file_is_one_too(workspace, root):
    (root / "a").mkdir()
    for name in (".env", "single", "file"):
        (root / name).write_bytes(b"x")
    (root / "a/notes").hardlink_to(root / ".env")
    (root / "same").hardlink_to(root / "file")
    (root / "link").symlink_to("a/notes")
    paths = (".env", "a/notes", "link", "single", "file", "same", "a", ".", "missing", "a/.env")
    found = [path for path in paths if workspace.is_credential_file(path)]
    assert found == [".env", "a/notes", "link", "a/.env"]


@pytest.mark.req("R-TOOL-06")
def test_parent_is_created_only_on_request(workspace, root):
    with workspace.open_parent("a/b/file") as parent:
        assert parent is None
    assert not (root / "a").exists()
    with workspace.open_parent("a/b/file", create=True) as parent:
        assert parent is not None
        assert parent.name == "file"
    assert (root / "a/b").is_dir()


def test_missing_path_leaves_no_directory_open(workspace, root):
    (root / "a").mkdir()
    before = count_descriptors()
    for path in ("a/b/c", "a/b", "b"):
        with pytest.raises(ToolError, match="does not exist"):
            workspace.read(path, limit=9)
    assert count_descriptors() == before


@pytest.mark.req("R-TOOL-06")
def test_path_back_from_a_missing_directory_is_below_that_directory(workspace, root):
    (root / "a").mkdir()
    for name in ("file", "a/file"):
        (root / name).write_bytes(b"x")
    for path in ("missing/b/../file", "a/missing/b/../file", "a/missing/b/c/../../file"):
        assert workspace.kind(path) is None
        with pytest.raises(ToolError, match="does not exist"):
            workspace.read(path, limit=9)
    assert workspace.kind("missing/../file") == "file"
    assert workspace.kind("a/missing/b/../../file") == "file"


def test_every_path_has_a_kind(root):
    workspace = Workspace(root, (Path("/dev"),))
    (root / "file").touch()
    os.mkfifo(root / "pipe")
    kinds = {"file": "file", ".": "directory", "pipe": "named pipe", "missing": None}
    assert {path: workspace.kind(path) for path in kinds} == kinds
    assert workspace.kind("/dev/null") == "device"


@pytest.mark.req("R-TOOL-06")
def test_parent_of_an_own_file_or_directory_is_not_opened_for_it(root):
    workspace = Workspace(root, (), (root / "own",))
    with pytest.raises(ToolError, match="`own` is in a directory of `yourtool` itself"):
        workspace.open_parent("own").__enter__()
    (root / "own").mkdir()
    (root / "own/keys").touch()
    (root / "same").hardlink_to(root / "own/keys")
    for path in ("same", "own", "own/keys"):
        with pytest.raises(ToolError, match="of `yourtool` itself"):
            workspace.open_parent(path).__enter__()
    with workspace.open_parent("other") as parent:
        assert parent is not None


@pytest.mark.parametrize("name", ["", ".", ".."])
@pytest.mark.req("R-TOOL-06")
def test_parent_is_opened_for_names_only(workspace, root, name):
    (root / "d").mkdir()
    with pytest.raises(ToolError, match="goes through a link"):
        workspace.open_parent(f"d/{name}").__enter__()


def test_entry_that_is_deleted_meanwhile_is_omitted(workspace, root, monkeypatch):
    (root / "file").touch()
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda at: [*listdir(at), "deleted"])
    assert [entry.name for entry in workspace.entries(".")] == ["file"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.req("R-TOOL-08")
def test_special_bits_are_not_kept_for_another_owner(workspace, root, monkeypatch):
    (root / "file").write_bytes(b"x")
    os.chown(root / "file", 12345, 23456)
    (root / "file").chmod(0o4755)

    def refuse(descriptor, user, group):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    workspace.write("file", b"new", expected=digest(b"x"))
    assert stat.S_IMODE((root / "file").stat().st_mode) == 0o755


@pytest.mark.skipif(sys.platform != "linux", reason="the attributes are Linux's")
@pytest.mark.req("R-TOOL-08")
def test_write_preserves_attributes_as_far_as_they_can_be_copied(workspace, root, monkeypatch):
    (root / "file").write_bytes(b"x")
    try:
        os.setxattr(root / "file", "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no attributes of users")
    workspace.write("file", b"y", expected=digest(b"x"))
    assert os.getxattr(root / "file", "user.note") == b"kept"

    def refuse(*arguments):
        raise OSError

    monkeypatch.setattr(os, "setxattr", refuse)
    workspace.write("file", b"z", expected=digest(b"y"))
    assert (root / "file").read_bytes() == b"z"


@pytest.mark.req("R-TOOL-08")
def test_write_works_on_systems_without_attributes(workspace, root, monkeypatch):
    (root / "file").write_bytes(b"x")
    monkeypatch.setattr(sys, "platform", "darwin")
    workspace.write("file", b"y", expected=digest(b"x"))
    assert (root / "file").read_bytes() == b"y"


def test_file_is_read_up_to_the_limit_and_refused_beyond_it(root):
    (root / "five").write_bytes(b"12345")
    assert Workspace(root).read("five", limit=5) == b"12345"
    with pytest.raises(ToolError, match="`five` is larger than 4 bytes"):
        Workspace(root).read("five", limit=4)


async def test_sessions_in_one_directory_share_their_locks(root):
    one, other = Workspace(root), Workspace(root)
    lock = one.lock("a")
    assert other.lock("a") is not lock
    other.share_locks(one)
    assert other.lock("a") is lock is one.lock("a")
    assert other.lock("b") is not lock
