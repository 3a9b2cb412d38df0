"""The sandbox where other file systems are mounted in the workspace and elsewhere."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from tests.day.runner import ROOT
from tests.day.sessions import Run
from tests.tools.sandbox.levels import require
from yourtool.settings.sandbox_config import SandboxLevel

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="mounting needs root")
FUSE = "exec 3<>/dev/fuse; mount -i -t fuse -o fd=3,rootmode=40000,user_id={user},group_id=0 x {at}"
"""A file system whose program does not answer; it is that of `user` only."""
DEAD = f"{FUSE}; exec 3>&-"


@pytest.fixture
def place():
    """Directories that the sandbox does not replace, as `/tmp` is."""
    require(SandboxLevel.FULL)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        found = Path(directory).resolve()
        for name in ("work/volume", "home"):
            (found / name).mkdir(parents=True)
        yield found


def run(place, mounting, command):
    """Run a command in a session of a program for which something is mounted before."""
    script = f'{mounting}\nexec "$@"'
    sessions = (sys.executable, "-m", "tests.day.sessions", str(place / "work"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(place / "home")}
    done = subprocess.run(
        ("unshare", "-m", "sh", "-ec", script, "sh", *sessions),
        cwd=ROOT, env=environment, input=f"{json.dumps(command)}\n", capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=Run)


@pytest.mark.remaining
def test_volume_in_the_workspace_can_be_written(place):
    mounting = f"mount -t tmpfs none {place}/work/volume"
    assert run(place, mounting, "echo a > volume/a && cat volume/a").text == "a\n[exit code 0]"


@pytest.mark.remaining
def test_volume_that_is_read_only_stays_so(place):
    mounting = f"mount -t tmpfs -o ro none {place}/work/volume"
    found = run(place, mounting, "echo a > volume/a")
    assert "Read-only file system" in found.text


@pytest.mark.remaining
def test_file_system_elsewhere_is_read_only(place):
    mounting = "mount -t tmpfs none /mnt"
    found = run(place, mounting, "echo a > /mnt/a")
    assert "Read-only file system" in found.text


@pytest.mark.parametrize("at", ["work/volume", "/mnt"])
@pytest.mark.parametrize("kind", ["of another user", "without its program"])
@pytest.mark.sample(4)
def test_file_system_that_cannot_be_used_does_not_keep_the_sandbox_from_starting(at, kind, place):
    template = FUSE if kind == "of another user" else DEAD
    user = 65534 if kind == "of another user" else 0
    mounting = template.format(at=place / at, user=user)
    found = run(place, mounting, f"echo a > a; ls {place / at} || cat a")
    assert found.text.endswith("a\n[exit code 0]") or found.text == "[exit code 0]"
