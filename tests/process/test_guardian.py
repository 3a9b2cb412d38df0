"""The temporary directories of a killed program."""

import os
import subprocess
import sys

from yourtool.process.guardian import remove_temporary

PROGRAM = """
import os, tempfile, time
from yourtool.process.guardian import build_prefix, run_guarded
def run():
    place = tempfile.mkdtemp(prefix=build_prefix(os.getpid()))
    open(f"{place}/a", "w").close()
    os.mkdir(f"{place}/b")
    os.symlink("/etc", f"{place}/b/link")
    os.kill(os.getpid(), 9)
run_guarded(run, os.pipe()[0])
"""


def test_killed_program_leaves_no_temporary_directory(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=False)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []


def test_directories_of_others_and_what_links_lead_to_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    (tmp_path / "yourtool-12-x").mkdir()
    (tmp_path / "yourtool-12-x/link").symlink_to(kept)
    (tmp_path / "yourtool-12-y").symlink_to(kept)
    (tmp_path / "yourtool-123-x").mkdir()
    remove_temporary(12)
    assert {each.name for each in tmp_path.iterdir()} == {"kept", "yourtool-123-x"}
    assert (kept / "file").read_text() == "mine"
