"""Budgets in a terminal and with `-p`: the question, its answer, the lines and the exit code."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

MODEL = "anthropic:claude-sonnet-5-5"
PRICES = f"""
pricing_version = "test"
[models."{MODEL}"]
input_per_mtok_usd = 1
output_per_mtok_usd = 10_000
"""
"""The server counts 40 tokens for each reply, which cost 0.40 US dollars."""


def configure(home, budget):
    folder = Path(home["YOURTOOL_HOME"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f'model = "{MODEL}"\n[budget]\n{budget}\n')
    (folder / "prices.toml").write_text(PRICES)


def run(work, home, server, *options):
    return subprocess.run(
        [*YOURTOOL, "-p", "hi", *options],
        cwd=work,
        env={**os.environ, **home, **server.environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.req("R-CST-04")
def test_the_user_is_warned_and_asked_and_can_go_on_for_one_turn(work, home):
    configure(home, "session = 0.5")
    script = [Reply("First reply."), Reply("Second reply.")]
    with (
        ProviderServer(script) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("anthropic:")
        terminal.say("one")
        terminal.wait("First reply.", "This session has cost \\$0.4012: 80% of `budget.session`")
        terminal.say("two")
        terminal.wait("Continue\\? The next request would exceed `budget.session`", "cost about")
        terminal.answer("d")
        terminal.wait("The turn stopped before a request")
        assert len(server.requests) == 1
        terminal.say("three")
        terminal.wait("Continue\\? The next request would exceed `budget.session`", "cost about")
        terminal.answer("a")
        terminal.wait("Second reply.", "This turn may exceed `budget.session`")
        assert len(server.requests) == 2
        terminal.say("/quit")
        assert terminal.end() == 0


@pytest.mark.req("R-CST-04")
def test_a_run_without_a_user_ends_with_5_and_names_the_budget(work, home):
    with ProviderServer([Reply("First reply.")]) as server:
        configure(home, "ask_above = 0.0001")
        first = run(work, home, server)
        assert (first.returncode, first.stdout) == (5, "")
        assert "more than `budget.ask_above`, $0.0001" in first.stderr
        assert server.requests == []
        configure(home, "")
        assert run(work, home, server).returncode == 0
        configure(home, "day = 0.402")
        third = run(work, home, server, "--output-format", "json")
        assert third.returncode == 5
        error = json.loads(third.stdout)["error"]
        assert error["class"] == "limit"
        assert "`budget.day`, $0.4020" in error["message"]
        assert "All sessions of today (UTC) have cost $0.4012: 99%" in third.stderr
        assert "Traceback" not in third.stderr
        assert len(server.requests) == 1
