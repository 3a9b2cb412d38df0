"""The ways to open directories, as parameters of a test."""

import pytest

from yourtool.tools.directory_opening import KernelOpener, open_by_components, system_opener

HAS_OPENAT2 = isinstance(system_opener(), KernelOpener)
needs_openat2 = pytest.mark.skipif(not HAS_OPENAT2, reason="this system has no `openat2`")
OPENERS = [
    pytest.param(open_by_components, id="components"),
    pytest.param(system_opener(), id="kernel", marks=needs_openat2),
]
