"""Atomic replacement of files."""

import pytest

from yourtool.files import replace_file


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
