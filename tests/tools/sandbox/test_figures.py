"""The figures of the sandbox, for `make security`."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from benchmarks import sandbox_overhead
from tests.tools.sandbox.levels import SYSTEM_PYTHON
from tests.tools.sandbox.measure_levels import measure
from yourtool.tools.sandbox import probes

_SCRIPT = Path(probes.__file__).with_name("probe_script.py").read_text()
PROBES = len(re.findall(r"^    \((?:\"|$)", _SCRIPT.partition("\nNEEDED")[0], re.MULTILINE))

GOALS = {"without_bridge": 30, "with_bridge": 100}
"""Milliseconds; a busy machine does not reach them, so they are reported and not required."""
MAX_CPU_RATIO = 8
"""Twice the usual ratio, which a busy machine does not change."""


def measure_as_user():
    """Return the levels of an ordinary user, measured by root, or why that is impossible."""
    setpriv, python = shutil.which("setpriv"), shutil.which(SYSTEM_PYTHON, path="/usr/bin:/bin")
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
def test_overhead_of_a_sandboxed_command(figures):
    ratios = []
    for bridge, found in sandbox_overhead.measure().items():
        part = bridge.replace("_", " a ")
        if "missing" in found:
            figures("sandbox overhead", found["missing"], part=part)
            continue
        time, ratio = found["overhead_ms"], found["cpu_ratio"]
        verdict = "within" if time <= GOALS[bridge] else "above"
        text = f"{time:.0f} ms, {verdict} the goal; {ratio} × the CPU time of bubblewrap alone"
        figures("sandbox overhead", text, part=part)
        ratios.append(ratio)
    assert all(ratio <= MAX_CPU_RATIO for ratio in ratios)
