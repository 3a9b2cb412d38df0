"""Atomic replacement of files, and locks of their directories."""

import fcntl
import os

import pytest

from yourtool.files import lock_directory, replace_file


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
