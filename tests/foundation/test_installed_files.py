"""A package that is replaced under a running program is noticed."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, shutil, sys

root, change = sys.argv[1:]
sys.path.insert(0, root)
from yourtool.foundation.installed_files import watch_files, were_files_replaced

watch_files(f"{root}/program")
import program.first

assert not were_files_replaced()
os.rename(f"{root}/program", f"{root}/old")
if change == "moved":
    os.mkdir(f"{root}/program")
    open(f"{root}/program/second.py", "w").write("VERSION = 2")
elif change == "upgraded":
    os.mkdir(f"{root}/program")
    open(f"{root}/program/second.py", "w").write("VERSION = 2")
    shutil.rmtree(f"{root}/old")
else:
    shutil.rmtree(f"{root}/old")
assert were_files_replaced()
import json.tool
import library
try:
    import program.second
    print("version", program.second.VERSION)
except ImportError:
    print("gone")
"""


@pytest.mark.parametrize(
    ("change", "shown"),
    [("moved", "version 1"), ("upgraded", "gone"), ("removed", "gone")],
)
def test_later_modules_are_those_of_the_start_and_never_of_another_version(tmp_path, change, shown):
    package = tmp_path / "program"
    package.mkdir()
    for name in ("__init__", "first", "second"):
        (package / f"{name}.py").write_text("VERSION = 1\n")
    (tmp_path / "library.py").touch()
    command = (sys.executable, "-c", PROGRAM, str(tmp_path), change)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown in done.stdout, done.stderr
