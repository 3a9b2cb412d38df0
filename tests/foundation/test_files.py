"""Kinds of files, atomic replacement of files, and locks of their directories."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from yourtool.foundation.files import (
    expand_home,
    is_directory,
    is_file,
    is_link,
    lock_directory,
    may_exist,
    path_exists,
    real_path,
    replace_file,
)


@pytest.fixture(params=["a loop", "too long", "below a long name", "a NUL"])
def unknown(request, tmp_path):
    """A path of which cannot be found out whether it exists."""
    (tmp_path / "loop").symlink_to("loop")
    names = {
        "a loop": "loop/a",
        "too long": "x" * 300,
        "below a long name": f"{'x' * 300}/a",
        "a NUL": "a\0b",
    }
    return tmp_path / names[request.param]


def test_unknown_path_is_nothing_but_may_exist(unknown):
    assert not any(ask(unknown) for ask in (is_file, is_directory, is_link, path_exists))
    assert may_exist(unknown)


def test_path_below_a_file_and_a_missing_one_do_not_exist(tmp_path):
    (tmp_path / "a").touch()
    for each in (tmp_path / "a/b", tmp_path / "b"):
        assert not path_exists(each) and not may_exist(each)


def test_broken_link_may_exist(tmp_path):
    (tmp_path / "a").symlink_to("missing")
    assert is_link(tmp_path / "a") and may_exist(tmp_path / "a")
    assert not path_exists(tmp_path / "a")


def test_links_in_a_circle_have_a_real_path(tmp_path):
    root = tmp_path.resolve()
    (root / "loop").symlink_to("loop")
    (root / "link").symlink_to(".")
    assert real_path(root / "link/loop/a") == root / "loop/a"


def test_home_of_an_unknown_user_stays_a_word():
    assert expand_home(Path("~no-such-user/a")) == Path("~no-such-user/a")
    assert expand_home(Path("~/a")) == Path.home() / "a"


def test_a_replaced_file_is_complete_and_private(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"before")
    file.chmod(0o644)
    replace_file(file, b"after")
    assert file.read_bytes() == b"after"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_replacement_leaves_the_old_file_and_no_temporary_one(tmp_path):
    place = tmp_path / "a"
    place.mkdir()
    with pytest.raises(OSError):
        replace_file(place, b"after")
    assert list(tmp_path.iterdir()) == [place]


def test_locked_directory_is_created_and_excludes_others_until_it_is_closed(tmp_path):
    directory = tmp_path / "new" / "folder"
    lock, other = lock_directory(directory), os.open(directory, os.O_RDONLY)
    assert directory.stat().st_mode & 0o777 == 0o700
    with pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(lock)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)


def test_path_through_a_link_that_may_not_be_read_is_below_it(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to("/elsewhere")
    readlink = os.readlink

    def refuse(path, **options):
        if os.fspath(path) == str(tmp_path / "link"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return readlink(path, **options)

    monkeypatch.setattr(os, "readlink", refuse)
    assert real_path(tmp_path / "link/etc/x") == tmp_path / "link/x"
