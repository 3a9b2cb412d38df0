"""Process controls that Python does not have."""

import platform
import subprocess
import sys

import pytest

FREE_BELOW_A_USED_BLOCK = """
from pathlib import Path
from yourtool.process import prctl

def resident_kib():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])

blocks = [bytearray(b"x" * 4_000) for _ in range(10_000)]
last = blocks.pop()
del blocks
before = resident_kib()
prctl.return_free_memory()
print(before - resident_kib())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others keep little free memory")
def test_free_memory_below_a_used_block_is_returned():
    command = [sys.executable, "-c", FREE_BELOW_A_USED_BLOCK]
    returned = subprocess.run(command, check=True, capture_output=True, timeout=30)
    assert int(returned.stdout) > 20_000
