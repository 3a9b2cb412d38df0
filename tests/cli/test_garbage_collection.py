"""Garbage of one command line call is collected during the next."""

import gc
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.remaining
def test_calls_in_one_process_close_their_files(line):
    line.script([{"say": "hi"}])

    def open_files():
        gc.collect()
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    line.result("-p", "go")
    before = open_files()
    line.result("-p", "go")
    one_call = max(1, open_files() - before)
    for _ in range(8):
        line.result("-p", "go")
    assert open_files() - before < 4 * one_call + 20
