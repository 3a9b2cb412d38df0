"""Process controls that Python does not have."""

import platform
import subprocess
import sys

import pytest

FREE_BELOW_A_USED_BLOCK = """
from pathlib import Path
from yourtool import prctl

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


MAPPED_FILE = """
import ctypes, mmap, sys
from pathlib import Path
from yourtool import prctl

def resident_pages():
    return int(Path("/proc/self/statm").read_text().split()[1])

file = Path(sys.argv[1])
file.write_bytes(b"old" * mmap.PAGESIZE)
with file.open("r+b") as opened:
    changed = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
changed[:3] = b"new"
place = ctypes.addressof(ctypes.c_char.from_buffer(changed))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(place), ctypes.c_size_t(len(changed)), 1) == 0
before = resident_pages()
prctl.unmap_code()
left = resident_pages()
print((before - left) * mmap.PAGESIZE > 1_000_000, changed[:3].decode())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there")
def test_code_is_unmapped_but_no_page_that_was_changed(tmp_path):
    command = [sys.executable, "-c", MAPPED_FILE, str(tmp_path / "file")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    assert done.stdout == "True new\n"
