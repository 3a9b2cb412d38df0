import resource

import pytest

from yourtool.errors import SessionBusyError
from yourtool.store.sqlite.leases import FileLease


def test_lease_needs_no_room_on_the_disk(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with (
            FileLease(tmp_path, "sess_1"),
            pytest.raises(SessionBusyError, match="process unknown"),
        ):
            FileLease(tmp_path, "sess_1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
