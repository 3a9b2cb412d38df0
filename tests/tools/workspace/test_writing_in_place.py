"""Files that keep their other names, and files that cannot be replaced."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.tools.contexts import answer, get_refusal
from yourtool.foundation.file_images import FileRestore
from yourtool.tools.edits.edit import edit_file, write_file
from yourtool.tools.workspace.file_states import read_state, restore_file
from yourtool.tools.workspace.replacing import digest, is_partial, overwrite_at
from yourtool.tools.workspace.workspace import Workspace

EDIT = {"edits": [{"old": "one", "new": "two, longer"}]}
SCRIPT = """
import sys
from pathlib import Path
from yourtool.foundation.file_images import FileRestore
from yourtool.tools.workspace.file_states import read_state, restore_file
from yourtool.tools.workspace.replacing import digest
from yourtool.tools.workspace.workspace import Workspace

workspace = Workspace(Path(sys.argv[1]))
before = read_state(workspace, "file")
workspace.write("file", b"two", expected=digest(b"one"))
after = read_state(workspace, "file")
assert after.content == b"two"
item = FileRestore(path="file", before=after.image, after=before.image)
restore_file(workspace, item, before.content)
assert read_state(workspace, "file") == before
workspace.write("file", b"three", expected=digest(b"one"))
"""


async def test_edit_of_a_hard_link_changes_its_other_names(context, root):
    (root / "a").write_text("one\n")
    (root / "sub").mkdir()
    (root / "sub/b").hardlink_to(root / "a")
    said = await answer(edit_file, context, path="a", **EDIT)
    assert said == "Edited `a`, line 1. It is the same file as `sub/b`."
    assert (root / "sub/b").read_text() == "two, longer\n"
    assert (root / "a").samefile(root / "sub/b")


@pytest.mark.parametrize("other", [".git/hooks/pre-commit", ".env", "../outside", ".envrc"])
async def test_other_names_that_the_approval_does_not_cover_keep_their_content(
    context, root, other
):
    (root / "a").write_text("one\n")
    (root / other).parent.mkdir(parents=True, exist_ok=True)
    (root / other).hardlink_to(root / "a")
    (root / "link").hardlink_to(root / "a")
    context.reads.record("a", digest(b"one\n"))
    said = await answer(edit_file, context, path="a", **EDIT)
    assert "Its other names (hard links) keep the old content" in said
    assert (root / other).read_text() == (root / "link").read_text() == "one\n"


def test_undo_of_a_hard_link_restores_its_other_names(root):
    workspace = Workspace(root)
    (root / "a").write_text("one\n")
    (root / "b").hardlink_to(root / "a")
    before = read_state(workspace, "a")
    (root / "a").write_text("two\n")
    after = read_state(workspace, "a")
    restore_file(
        workspace, FileRestore(path="a", before=after.image, after=before.image), before.content
    )
    assert (root / "b").read_text() == "one\n"
    assert (root / "a").samefile(root / "b")


def run_script(root, *before):
    command = [*before, sys.executable, "-c", SCRIPT, str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_file_in_a_directory_that_cannot_be_written_is_written_in_place(root):
    (root / "file").write_text("one")
    root.chmod(0o555)
    before = (
        ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
        if os.geteuid() == 0
        else []
    )
    if before and not shutil.which("setpriv"):
        pytest.skip("root writes everywhere, and setpriv is missing")
    done = run_script(root, *before)
    root.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    assert (root / "file").read_text() == "three"
    assert [each.name for each in root.iterdir()] == ["file"]


def test_mounted_file_is_written_in_place(root, tmp_path):
    (root / "file").touch()
    (tmp_path / "source").write_text("one")
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    enter = ["unshare", "--mount", "--map-root-user", "bash", "-c", script]
    places = [str(tmp_path / "source"), str(root / "file")]
    if subprocess.run([*enter, *places, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounts are not possible here")
    done = run_script(root, *enter, *places)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "source").read_text() == "three"
    assert [each.name for each in root.iterdir()] == ["file"]


@pytest.mark.parametrize(("old", "new"), [(b"abcdef", b"xyz"), (b"abc", b"xyabcz"), (b"", b"a")])
def test_write_that_a_kill_interrupts_is_recognised(old, new):
    for size in range(len(new) + 1):
        assert is_partial(new[:size] + old[size:], old, new)
        filled = old.ljust(len(new), b"\0")
        assert is_partial(new[:size] + filled[size:], old, new)
    assert is_partial(old, old, new)
    assert not is_partial(b"somebody else", old, new)
    assert not is_partial(new + b"!", old, new)


def test_write_in_place_that_fails_puts_the_old_content_back(root):
    (root / "file").write_bytes(b"one")
    script = (
        "import os, resource, signal, sys\n"
        "from yourtool.tools.workspace.replacing import overwrite_at\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5, 5))\n"
        "try:\n"
        "    overwrite_at(os.open(sys.argv[1], os.O_RDONLY), 'file', b'x' * 10)\n"
        "except OSError:\n"
        "    raise SystemExit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(root)], check=False)
    assert done.returncode == 7
    assert (root / "file").read_bytes() == b"one"


def test_overwritten_file_can_become_shorter(root):
    (root / "file").write_bytes(b"a long content")
    descriptor = os.open(root, os.O_RDONLY)
    overwrite_at(descriptor, "file", b"short")
    os.close(descriptor)
    assert (root / "file").read_bytes() == b"short"


async def test_path_of_a_directory_is_never_a_file(context, root):
    (root / "file").write_text("one")
    for path in ("new/", "file/", "a/b/"):
        await get_refusal(write_file, context, "is the path of a directory", path=path, content="x")
    await get_refusal(edit_file, context, "is the path of a directory", path="file/", **EDIT)
    assert (root / "file").read_text() == "one"
    assert [each.name for each in root.iterdir()] == ["file"]
