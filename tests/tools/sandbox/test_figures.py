"""The figures of the sandbox, for `make security`."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from tests.tools.contexts import call
from tests.tools.sandbox.levels import build_sandbox
from tests.tools.sandbox.measure_levels import measure
from yourtool.tools.sandbox import probes
from yourtool.tools.sandbox.confinement import SandboxLevel
from yourtool.tools.shell import shell

ROUNDS = 15
_SCRIPT = Path(probes.__file__).with_name("probe_script.py").read_text()
PROBES = len(re.findall(r"^    \((?:\"|$)", _SCRIPT.partition("\nNEEDED")[0], re.MULTILINE))


def measure_as_user():
    """Return the levels of an ordinary user, measured by root, or why that is impossible."""
    setpriv, python = shutil.which("setpriv"), shutil.which("python3", path="/usr/bin:/bin")
    if os.getuid() != 0 or not setpriv or not python:
        return "needs root, `setpriv` and a Python of the system"
    paths = os.pathsep.join((str(Path.cwd()), sysconfig.get_path("purelib")))
    run = subprocess.run(
        [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", python, "-B", "-m",
         "tests.tools.sandbox.measure_levels"],
        env={"PATH": os.defpath, "PYTHONPATH": paths, "HOME": "/nonexistent"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return json.loads(run.stdout) if run.returncode == 0 else run.stderr.strip()[-200:]


def report(found, user, figures):
    for level, result in found.items():
        value = result["missing"] or f"{len(result['broken'])} of {PROBES}"
        figures("sandbox", value, part=f"{level}, {user}")
        assert result["broken"] == []


@pytest.mark.security
def test_no_probe_succeeds_at_a_level_that_claims_to_prevent_it(figures):
    report(measure(), "root" if os.getuid() == 0 else "user", figures)


@pytest.mark.security
def test_no_probe_succeeds_for_an_ordinary_user(figures):
    found = measure_as_user()
    if isinstance(found, str):
        pytest.skip(f"the levels of another user cannot be measured: {found}")
    report(found, "user", figures)


@pytest.mark.security
@pytest.mark.parametrize("hosts", [(), ("example.org",)])
async def test_overhead_of_a_sandboxed_command(hosts, root, contexts, figures):
    plain = contexts()
    boxed = contexts(sandbox=build_sandbox(root, SandboxLevel.FULL, hosts=hosts))
    times = {"plain": [], "boxed": []}
    for _ in range(ROUNDS):
        for name, context in (("plain", plain), ("boxed", boxed)):
            begin = time.perf_counter()
            await call(shell, context, command="true")
            times[name].append(time.perf_counter() - begin)
    overhead = statistics.median(times["boxed"]) - statistics.median(times["plain"])
    bridge = "with" if hosts else "without"
    figures("sandbox overhead", f"{overhead * 1000:.0f} ms", part=f"{bridge} a bridge")
    assert sys.platform == "linux"
