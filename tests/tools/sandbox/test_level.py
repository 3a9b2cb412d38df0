"""The level that is shown is the one that was measured, on machines of every kind."""

import ast
from pathlib import Path

import pytest

from tests.tools.sandbox.levels import FixedMeter, build_sandbox, require
from yourtool.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.sandbox import probes
from yourtool.tools.sandbox.confinement import Means
from yourtool.tools.sandbox.level import LevelMeter, probe_level
from yourtool.tools.sandbox.probes import NOT_CLAIMED, ProbeResult, find_broken_claims

FULL, LANDLOCK, NONE = SandboxLevel.FULL, SandboxLevel.LANDLOCK, SandboxLevel.NONE
BOTH = SandboxConfig(enabled=True, fallback="landlock")


def nothing():
    return Means(None, None, 0)


def measure(means, config=BOTH):
    return LevelMeter(config, find=lambda: means).measure()


def test_machine_without_any_means_has_no_sandbox_and_the_reasons_name_them():
    measured = measure(Means(None, None, 0))
    assert measured.level is NONE
    assert "full: bubblewrap (`bwrap`) is not installed" in measured.reasons
    assert "landlock: the kernel has Landlock 0, at least 3 is needed" in measured.reasons


def test_old_kernel_with_an_early_landlock_has_no_sandbox():
    assert measure(Means(None, None, 2)).level is NONE


def test_bubblewrap_that_cannot_make_namespaces_is_not_used(tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions for namespaces' >&2\nexit 1\n")
    broken.chmod(0o755)
    measured = measure(Means(str(broken), None, 0))
    assert measured.level is NONE
    assert "full: it does not work here: bwrap: No permissions" in measured.reasons[0]


def test_bubblewrap_that_confines_nothing_is_not_used(tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text(
        '#!/bin/sh\nwhile [ "$1" != -- ]; do\n  [ "$1" = --chdir ] && cd "$2"\n  shift\ndone\n'
        'shift\nTMPDIR=/tmp exec "$@"\n'
    )
    fake.chmod(0o755)
    measured = measure(Means(str(fake), None, 0))
    assert measured.level is NONE
    assert measured.reasons[0].startswith("full: it does not prevent: ")
    assert "create a file outside" in measured.reasons[0]


def test_landlock_is_used_only_if_it_was_chosen():
    require(LANDLOCK)
    means = Means(None, None, 7)
    assert measure(means, SandboxConfig(enabled=True)).level is NONE
    assert measure(means, BOTH).level is LANDLOCK
    assert measure(means, SandboxConfig(require="landlock")).level is LANDLOCK


def test_sandbox_that_is_switched_off_is_not_measured():
    measured = measure(Means("/nonexistent", None, 7), SandboxConfig(enabled=False))
    assert measured.level is NONE
    assert "`[sandbox] enabled`" in measured.reasons[0]


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
def test_level_prevents_everything_that_it_claims(level):
    require(level)
    measured = FixedMeter(BOTH, level)
    result = probe_level(level, measured.means)
    assert result.problem is None
    assert find_broken_claims(level, result) == frozenset()


def read_probes():
    """Return the names of the probes; importing the script runs them."""
    source = Path(probes.__file__).with_name("probe_script.py").read_text()
    (found,) = (
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and "PROBES" in ast.unparse(node).partition("=")[0]
    )
    return [ast.literal_eval(each.elts[0]) for each in found.elts]


def test_level_in_which_one_of_more_than_eighty_probes_succeeds_is_not_used():
    names = read_probes()
    assert len(set(names)) > 80
    for level in (FULL, LANDLOCK):
        claimed = set(names) - NOT_CLAIMED.get(level, frozenset())
        assert len(claimed) > 50
        for name in claimed:
            assert find_broken_claims(level, ProbeResult(frozenset({name}))) == {name}


def test_level_is_measured_once_at_the_first_command():
    looked = []
    meter = LevelMeter(BOTH, find=lambda: looked.append(1) or nothing())
    assert (meter.measured, looked) == (None, [])
    assert meter.measure() is meter.measure() is meter.measured
    assert looked == [1]


def test_probes_reach_their_aims_without_a_sandbox():
    """A probe that can never succeed would prove nothing."""
    reached = probe_level(NONE, nothing()).reached
    assert len(reached) >= 35
    for name in ("create a file outside", "connect over TCP", "create a hook of git",
                 "read a credential file", "send over UDP", "signal the parent"):  # fmt: skip
        assert name in reached


def test_what_landlock_does_not_claim_is_a_known_probe():
    source = Path(probes.__file__).with_name("probe_script.py").read_text()
    for names in NOT_CLAIMED.values():
        for name in names:
            assert f'("{name}"' in source


@pytest.mark.parametrize(
    ("required", "level", "asks"),
    [
        ("none", NONE, False), ("landlock", NONE, True), ("full", NONE, True),
        ("landlock", LANDLOCK, False), ("full", LANDLOCK, True), ("full", FULL, False),
    ],
)  # fmt: skip
async def test_missing_required_level_asks_before_every_command(required, level, asks, tmp_path):
    sandbox = build_sandbox(tmp_path, level, require=required)
    await sandbox.measure()
    assert sandbox.is_below_requirement is asks


@pytest.mark.parametrize(
    ("level", "hosts", "allowed"),
    [(FULL, (), True), (FULL, ("example.org",), False), (LANDLOCK, (), False), (NONE, (), False)],
)
async def test_auto_allow_needs_a_full_sandbox_without_a_network(level, hosts, allowed, tmp_path):
    sandbox = build_sandbox(tmp_path, level, auto_allow=True, hosts=hosts)
    assert not sandbox.allows_commands, "before it was measured"
    await sandbox.measure()
    assert sandbox.allows_commands is allowed
    usual = build_sandbox(tmp_path, level, hosts=hosts)
    await usual.measure()
    assert not usual.allows_commands


@pytest.mark.parametrize(
    ("level", "settings", "text"),
    [
        (FULL, {}, "full sandbox; no network"),
        (FULL, {"hosts": ("example.org",)}, "full sandbox; network: example.org"),
        (LANDLOCK, {}, "Landlock sandbox; no network"),
        (NONE, {}, "no sandbox (full: the test does not use it)"),
        (NONE, {"enabled": False}, ""),
    ],
)
async def test_description_of_the_sandbox_is_what_was_measured(level, settings, text, tmp_path):
    sandbox = build_sandbox(tmp_path, level, **settings)
    assert sandbox.describe() == ""
    await sandbox.measure()
    assert sandbox.describe() == text
