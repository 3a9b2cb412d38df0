"""What runs without a question, compared with what bash executes."""

import random
from collections import Counter

import pytest

from tests.security.fuzz import BATCH, Sandbox, make_line
from yourtool.settings.config import Mode


def run_batches(root, monkeypatch, seed, count):
    """Return how many lines ran how, and what was not planned."""
    sandbox, source = Sandbox(root.resolve()), random.Random(seed)
    monkeypatch.setenv("PATH", sandbox.path)
    counts, failures = Counter(), []
    for _ in range(count // BATCH):
        counted, found = sandbox.check([make_line(source) for _ in range(BATCH)])
        counts += counted
        failures += found
    return counts, failures


@pytest.mark.req("R-CONF-04")
def test_shell_executes_what_the_gate_planned(tmp_path, monkeypatch):
    sandbox, source = Sandbox((tmp_path / "fuzz").resolve()), random.Random(1)
    monkeypatch.setenv("PATH", sandbox.path)
    counts, failures = sandbox.check([make_line(source) for _ in range(160)])
    assert failures == []
    assert counts["understood"] > 25


@pytest.mark.req("R-CONF-04")
def test_fuzz_finds_what_a_gate_that_asks_nothing_lets_run(tmp_path, monkeypatch):
    sandbox = Sandbox((tmp_path / "fuzz").resolve(), Mode.AUTO)
    monkeypatch.setenv("PATH", sandbox.path)
    lines = ["show a", "show $(evil)", "show > out"]
    _, failures = sandbox.check(lines)
    assert [line in failure for line, failure in zip(lines[1:], failures, strict=False)] == [
        True
    ] * 2
    assert "evil" in failures[0]
    assert "files changed" in failures[-1]


@pytest.mark.security
@pytest.mark.req("R-CONF-04")
def test_figures_of_differential_fuzz(tmp_path, monkeypatch, figures):
    counts, failures = run_batches(tmp_path / "fuzz", monkeypatch, 2, 200_000)
    figures(
        "fuzz",
        f"{counts['all']:,} ({counts['understood']:,} understood, {counts['opened']:,} in auto),"
        f" {len(failures)} unplanned",
    )
    assert failures == []
