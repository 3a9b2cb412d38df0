"""One session with an outage, a rule, an override, swaps and a budget: every report agrees."""

import json
import os
import sqlite3
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

SONNET, HAIKU, OPUS = (f"anthropic:claude-{name}-5-5" for name in ("sonnet", "haiku", "opus"))
RULES = f"""
global_default = "{SONNET}"
[[rules]]
name = "hard"
when = {{ message_contains_any = ["prove"] }}
use = "openai:gpt-5"
"""
PRICE = "input_per_mtok_usd = 1\noutput_per_mtok_usd = 10_000\n"
"""The server counts 40 tokens for each reply, which cost 0.40 US dollars."""
REPLIES = [
    Reply("First reply."),
    Reply(status=401),
    Reply("Second reply."),
    Reply("Third reply."),
    Reply("Fourth reply."),
]
EXPECTED = [
    (SONNET, "global_default", None),
    ("openai:gpt-5", "rule", "hard"),
    (SONNET, "global_default", None),
    (HAIKU, "per_message_override", None),
    (OPUS, "manual_sticky", None),
    (OPUS, "manual_sticky", None),
]


def configure(home):
    folder = Path(home["YOURTOOL_HOME"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("[budget]\nsession = 1.9\n[limits]\nmax_retries = 0\n")
    (folder / "routing.toml").write_text(RULES)
    (folder / "models.toml").write_text('[models."openai:tiny"]\nmax_context_tokens = 300\n')
    prices = "".join(f'[models."{each}"]\n{PRICE}' for each in (SONNET, HAIKU, OPUS))
    (folder / "prices.toml").write_text(f'pricing_version = "test"\n{prices}')
    return folder


def say(terminal, prompt, *signs):
    terminal.say(prompt)
    terminal.wait(*signs)
    terminal.read(0.5)


def play(terminal):
    terminal.wait("anthropic:")
    say(terminal, "hello", "First reply.")
    say(terminal, "prove it", "`openai` refused the key")
    say(terminal, "prove it again", "Second reply.")
    say(terminal, "@haiku-5.5 what is this?", "Third reply.")
    say(terminal, "/model openai:tiny", "Swap to openai:tiny\\?", "too long")
    terminal.answer("\x1b")
    terminal.wait(lambda screen: "Make room first" not in screen)
    say(terminal, "/model opus-5.5", "claude-opus-5-5")
    say(terminal, "go on", "Fourth reply.", "84% of `budget.session`")
    say(terminal, "one more", "Continue\\? The next request would exceed `budget.session`")
    terminal.answer("d")
    terminal.wait("The turn stopped before a request")
    say(terminal, "/model show", "2 chosen for the session +used +anthropic:claude-opus-5-5")
    say(terminal, "/cost", "anthropic:claude-haiku-5-5")
    shown = terminal.text
    say(terminal, "/quit")
    assert terminal.end() == 0
    return shown


def run(work, home, server, *arguments):
    done = subprocess.run(
        [*YOURTOOL, *arguments, "--json"],
        cwd=work,
        env={**os.environ, **home, **server.environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def read_events(folder, kind):
    [file] = folder.rglob("sessions.db")
    with sqlite3.connect(file) as connection:
        rows = connection.execute(
            "SELECT payload_json FROM events WHERE type = ? ORDER BY id", (kind,)
        ).fetchall()
    return [json.loads(row[0]) for row in rows]


@pytest.mark.req("R-RTE-06", "R-CST-02")
def test_transcript_chain_costs_and_events_of_a_routed_session_agree(work, home):
    folder = configure(home)
    with (
        ProviderServer(REPLIES) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}, rows=60) as terminal,
    ):
        shown = play(terminal)
        routes = read_events(folder, "route.decided")
        steps = [(each["chosen_model"], each["chain"][-1]) for each in routes]
        found = [(model, step["policy"], step.get("rule_name")) for model, step in steps]
        assert found == EXPECTED
        assert len(routes) == len(read_events(folder, "turn.started"))
        assert routes[2]["chain"][2]["validation_failure"] == "provider_unavailable"
        [refused] = read_events(folder, "session.model_refused")
        assert refused["model"] == "openai:tiny"
        report = run(work, home, server, "cost")
        asked = {row["name"]: row["requests"] for row in report["rows"]}
        assert {model: asked[model] for model in (SONNET, HAIKU, OPUS)} == {
            SONNET: 2,
            HAIKU: 1,
            OPUS: 1,
        }
        total = Decimal(str(report["total"]["cost_usd"]))
        assert f"${total:.2f}" in shown
        ends = read_events(folder, "turn.completed")
        assert sum(Decimal(str(each["total_cost_usd"])) for each in ends) == total
        replayed = run(work, home, server, "route", "replay")
        assert (replayed["decisions"], replayed["identical"]) == (len(routes), len(routes))
