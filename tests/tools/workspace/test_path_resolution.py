"""Errors about paths, as the model sees them."""

import errno
import os

import pytest

from yourtool.errors import ToolError
from yourtool.tools.workspace.path_resolution import translate_os_errors


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOENT, "`a/b` does not exist; list its directory with `list_dir`"),
        (errno.ENOSPC, "`a/b` could not be read: no space left on device; it was not changed;"),
        (errno.ENOTDIR, "`a/b` could not be read: not a directory; a part of the path is not"),
        (errno.ELOOP, "; it contains a loop of symbolic links; choose another path"),
        (errno.EACCES, "`a/b` could not be read: permission denied; choose another path or ask"),
    ],
)
def test_error_of_the_system_names_the_path_and_what_to_do(number, message):
    with pytest.raises(ToolError) as caught, translate_os_errors("a/b", "read"):
        raise OSError(number, os.strerror(number))
    assert message in str(caught.value)


def test_error_without_a_number_is_named_too():
    with pytest.raises(ToolError, match="could not be read: odd"), translate_os_errors("a", "read"):
        raise OSError("odd")
