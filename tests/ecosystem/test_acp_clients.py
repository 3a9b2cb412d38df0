"""Clients of the Agent Client Protocol by others drive `yourtool acp`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ecosystem.parts import NODE, find_script, find_sdk
from tests.provider_server import ProviderServer, Reply

pytestmark = [pytest.mark.ecosystem, pytest.mark.needs("extensions/editors")]

YOURTOOL = str(Path(sys.executable).with_name("yourtool"))
WRITE = ("write_file", {"path": "b.txt", "content": "b\n"})
SECONDS = 90


@pytest.fixture
def work(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    (path / "a.txt").write_text("saved text\n")
    return path


@pytest.fixture
def provider(home, monkeypatch):
    with ProviderServer() as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-00000000")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def run(command, work, **variables) -> subprocess.CompletedProcess[str]:
    path = f"{NODE.parent}:{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=work, env={**os.environ, "PATH": path, **variables}, capture_output=True,
        text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def acpx(work, home, *arguments):
    command = [*find_script("acpx"), "--agent", f"{YOURTOOL} acp", "--cwd", str(work), *arguments]
    return run(command, work, HOME=str(home))


@pytest.mark.figure("acpx")
@pytest.mark.parametrize(("policy", "changed"), [("--approve-all", True), ("--deny-all", False)])
def test_acpx_allows_or_denies_a_change(work, home, provider, policy, changed):
    provider.script += [Reply(calls=[WRITE]), Reply("It is over.")]
    done = acpx(work, home, policy, "exec", "write b.txt")
    assert "It is over." in done.stdout, done.stderr
    assert (work / "b.txt").exists() == changed
    assert len(provider.requests) == 2


@pytest.mark.figure("acpx")
def test_acpx_sends_a_second_turn_to_a_named_session(work, home, provider):
    provider.script += [Reply("The first."), Reply("The second.")]
    assert acpx(work, home, "sessions", "new", "--name", "tide").returncode == 0
    first = acpx(work, home, "--ttl", "60", "prompt", "-s", "tide", "one")
    second = acpx(work, home, "--ttl", "60", "prompt", "-s", "tide", "two")
    assert "The first." in first.stdout, first.stderr
    assert "The second." in second.stdout, second.stderr
    assert "one" in str(provider.requests[-1][1]), "the same conversation"
    acpx(work, home, "sessions", "close", "tide")


def typescript(work, scenario, *more):
    client = Path(__file__).with_name("client.mjs")
    done = run([str(NODE), str(client), find_sdk(), YOURTOOL, str(work), scenario, *more], work)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.figure("typescript")
def test_typescript_client_answers_a_question(work, provider):
    for scenario in ("allow", "deny"):
        provider.script += [Reply(calls=[WRITE]), Reply("Done.")]
        seen = typescript(work, scenario)
        assert (seen["stopReason"], seen["asked"], seen["text"]) == ("end_turn", 1, "Done.")
        assert (work / "b.txt").exists() == (scenario == "allow")
        (work / "b.txt").unlink(missing_ok=True)


@pytest.mark.figure("typescript")
def test_typescript_client_cancels_in_a_question(work, provider):
    provider.script += [Reply(calls=[WRITE]), Reply("never")]
    seen = typescript(work, "cancel")
    assert seen["stopReason"] == "cancelled"
    assert not (work / "b.txt").exists()


@pytest.mark.figure("typescript")
def test_typescript_client_loads_a_session(work, provider):
    provider.script += [Reply("Hello.")]
    seen = typescript(work, "load")
    assert seen["text"] == "Hello.Hello."
    assert seen["updates"]["user_message_chunk"] >= 1


@pytest.mark.figure("typescript")
def test_typescript_client_sets_mode_and_model(work, provider):
    provider.script += [Reply(calls=[WRITE]), Reply("Planned.")]
    seen = typescript(work, "settings", "anthropic:claude-haiku-4-5")
    assert {"plan", "ask", "accept-edits"} <= set(seen["modes"])
    assert "model" in seen["options"]
    assert not (work / "b.txt").exists(), "plan mode"
    assert "haiku" in provider.requests[0][1]["model"]


@pytest.mark.figure("typescript")
def test_typescript_client_gives_its_unsaved_buffer(work, provider):
    provider.script += [Reply(calls=[("read_file", {"path": "a.txt"})]), Reply("Read.")]
    seen = typescript(work, "allow")
    assert seen["read"] == 1
    assert "unsaved text" in str(provider.requests[1][1])
