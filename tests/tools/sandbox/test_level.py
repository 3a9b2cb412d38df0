"""The level that is shown is the one that was measured, on machines of every kind."""

import ast
from pathlib import Path

import pytest

from tests.tools.sandbox.levels import build_sandbox, probe_enclosure, require
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.sandbox import probes
from yourtool.tools.sandbox.confinement import Means, find_means
from yourtool.tools.sandbox.level import LevelMeter, probe_level
from yourtool.tools.sandbox.probes import NOT_CLAIMED, ProbeResult, find_broken_claims
from yourtool.tools.sandbox.sandbox import Sandbox

FULL, LANDLOCK, NONE = SandboxLevel.FULL, SandboxLevel.LANDLOCK, SandboxLevel.NONE
BOTH = SandboxConfig(enabled=True, fallback="landlock")


async def measure(means, root, config=BOTH):
    made = Sandbox(config, root, LevelMeter(config, find=lambda: means))
    measured = await made.measure()
    await made.close()
    return measured, made


async def test_machine_without_any_means_has_no_sandbox_and_the_reasons_name_them(root):
    measured, made = await measure(Means(None, None, 0), root)
    assert measured.level is NONE
    assert measured.reasons == (
        "bubblewrap (`bwrap`) is not installed",
        "landlock: the kernel has Landlock 0, at least 3 is needed",
    )
    assert made.unavailable is None, "it was closed, and Landlock was chosen"


def test_missing_bubblewrap_is_known_before_the_first_command(root):
    config = SandboxConfig(enabled=True)
    made = Sandbox(config, root, LevelMeter(config, find=lambda: Means(None, None, 7)))
    assert made.unavailable == "bubblewrap (`bwrap`) is not installed"
    off = SandboxConfig(enabled=False)
    assert Sandbox(off, root, LevelMeter(off)).unavailable is None


async def test_old_kernel_with_an_early_landlock_has_no_sandbox(root):
    assert (await measure(Means(None, None, 2), root))[0].level is NONE


async def test_landlock_is_used_only_if_it_was_chosen(root):
    require(LANDLOCK)
    means = Means(None, None, 7)
    assert (await measure(means, root, SandboxConfig(enabled=True)))[0].level is NONE
    assert (await measure(means, root, BOTH))[0].level is LANDLOCK
    assert (await measure(means, root, SandboxConfig(require="landlock")))[0].level is LANDLOCK


async def test_sandbox_that_is_switched_off_is_not_measured(root):
    means, off = Means("/nonexistent", None, 7), SandboxConfig(enabled=False)
    measured, _ = await measure(means, root, off)
    assert measured.level is NONE
    assert "`[sandbox] enabled`" in measured.reasons[0]


def test_landlock_prevents_everything_that_it_claims():
    require(LANDLOCK)
    result = probe_level(LANDLOCK, find_means())
    assert result.problem is None
    assert find_broken_claims(LANDLOCK, result) == frozenset()


def test_full_level_prevents_everything_that_it_claims():
    require(FULL)
    result = probe_enclosure(find_means())
    assert result.problem is None
    assert find_broken_claims(FULL, result) == frozenset()


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


def test_probes_reach_their_aims_without_a_sandbox():
    """A probe that can never succeed would prove nothing."""
    reached = probe_level(NONE, Means(None, None, 0)).reached
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
async def test_missing_required_level_asks_before_every_command(required, level, asks, root):
    sandbox = build_sandbox(root, level, require=required)
    await sandbox.measure()
    assert sandbox.is_below_requirement is asks
    await sandbox.close()


@pytest.mark.parametrize(
    ("level", "hosts", "allowed"),
    [(FULL, (), True), (FULL, ("example.org",), False), (LANDLOCK, (), False), (NONE, (), False)],
)
async def test_auto_allow_needs_a_full_sandbox_without_a_network(level, hosts, allowed, root):
    sandbox = build_sandbox(root, level, auto_allow=True, hosts=hosts)
    assert not sandbox.allows_commands, "before it was measured"
    await sandbox.measure()
    assert sandbox.allows_commands is allowed
    usual = build_sandbox(root, level, hosts=hosts)
    await usual.measure()
    assert not usual.allows_commands
    await sandbox.close()
    await usual.close()


@pytest.mark.parametrize(
    ("level", "settings", "text"),
    [
        (FULL, {}, "full sandbox; no network"),
        (FULL, {"hosts": ("example.org",)}, "full sandbox; network: example.org"),
        (LANDLOCK, {}, "Landlock sandbox; no network"),
        (
            NONE,
            {},
            "no sandbox: bubblewrap (`bwrap`) is not installed; landlock: the test does not use it",
        ),
        (NONE, {"enabled": False}, ""),
    ],
)
async def test_description_of_the_sandbox_is_what_was_measured(level, settings, text, root):
    sandbox = build_sandbox(root, level, **settings)
    assert sandbox.describe() == ""
    await sandbox.measure()
    assert sandbox.describe() == text
    await sandbox.close()
