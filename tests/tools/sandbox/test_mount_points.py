"""Mount points exist while a command uses them, and only then."""

import os
import subprocess
import sys

import pytest

from yourtool.tools.sandbox.layout import MountPoint
from yourtool.tools.sandbox.mount_points import hold_mount_points


@pytest.fixture
def points(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    (tmp_path / "text").write_text("theirs")
    return (
        MountPoint(tmp_path / "missing"),
        MountPoint(tmp_path / "commondir", b".\n"),
        MountPoint(tmp_path / "mine"),
        MountPoint(tmp_path / "text", b".\n"),
    )


def names(tmp_path):
    return sorted(path.name for path in tmp_path.iterdir())


def test_missing_names_exist_only_while_they_are_held(points, tmp_path):
    with hold_mount_points(points):
        assert names(tmp_path) == ["commondir", "mine", "missing", "text"]
        assert (tmp_path / "commondir").read_bytes() == b".\n"
    assert names(tmp_path) == ["mine", "text"]
    assert (tmp_path / "mine/file").read_text() == "x"
    assert (tmp_path / "text").read_text() == "theirs"


def test_name_stays_until_its_last_user_has_ended(points, tmp_path):
    with hold_mount_points(points):
        with hold_mount_points(points):
            pass
        assert (tmp_path / "missing").is_dir()
    assert names(tmp_path) == ["mine", "text"]


def test_name_that_a_killed_process_left_is_removed_by_the_next_command(points, tmp_path):
    leave = (
        "import os, sys, pathlib\n"
        "from yourtool.tools.sandbox.layout import MountPoint\n"
        "from yourtool.tools.sandbox.mount_points import hold_mount_points\n"
        "with hold_mount_points([MountPoint(pathlib.Path(sys.argv[1]))]):\n"
        "    os._exit(9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", leave, tmp_path / "missing"], check=False)
    assert killed.returncode == 9
    assert (tmp_path / "missing").is_dir()
    with hold_mount_points(points):
        pass
    assert names(tmp_path) == ["mine", "text"]


def test_directory_that_the_user_fills_meanwhile_is_not_removed(points, tmp_path):
    with hold_mount_points(points):
        (tmp_path / "missing").chmod(0o755)
        (tmp_path / "missing" / "theirs").write_text("x")
    assert (tmp_path / "missing/theirs").read_text() == "x"


def test_strict_umask_of_the_user_changes_nothing(points, tmp_path):
    before = os.umask(0o077)
    try:
        with hold_mount_points(points), hold_mount_points(points):
            assert (tmp_path / "missing").is_dir()
    finally:
        os.umask(before)
    assert names(tmp_path) == ["mine", "text"]


@pytest.mark.skipif(os.getuid() == 0, reason="root can write every directory")
def test_directory_that_cannot_be_written_gets_no_mount_points(points, tmp_path):
    tmp_path.chmod(0o555)
    try:
        with hold_mount_points(points):
            assert names(tmp_path) == ["mine", "text"]
    finally:
        tmp_path.chmod(0o755)


def test_link_is_never_followed_or_removed(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o555)
    (tmp_path / "link").symlink_to("elsewhere")
    with hold_mount_points((MountPoint(tmp_path / "link"),)):
        pass
    assert names(tmp_path) == ["elsewhere", "link"]
