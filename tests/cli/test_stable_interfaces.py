"""Interfaces that scripts rely on: directories, limits, stored sessions."""

import json
import os
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.command_line import CommandLine
from tests.provider_server import ProviderServer, Reply
from tests.sandbox_here import get_variables
from yourtool.paths import resolve_paths
from yourtool.store.sqlite.leases import FileLease

pytestmark = pytest.mark.usefixtures("own_logging")

ROOT = Path(__file__).parents[2]
READ = {"call": "read_file", "input": {"path": "a.txt"}}


@pytest.fixture
def served(line: CommandLine, monkeypatch: pytest.MonkeyPatch):
    """The command line with a local provider, whose script the test extends."""
    with ProviderServer() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.mark.req("R-CLI-02")
def test_every_stream_line_matches_the_published_schema(line):
    (line.workspace / "a.txt").write_text("x")
    line.script(
        [{"think": "Hm."}, {"say": "I look."}, READ, {"call": "nothing", "input": {}}],
        [{"call": "shell", "input": {"command": "true"}}, {"call": "read_file", "input": {}}],
        [{"say": "half"}, {"fail": "server_error", "message": "It broke."}],
    )
    events = line.events("-p", "go")
    schema = Draft202012Validator(json.loads((ROOT / "docs/events.schema.json").read_text()))
    for event in events:
        schema.validate(event)
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "result"
    assert {
        "turn.started", "route.decided", "llm.call_started", "message_start", "thinking_delta",
        "text_delta", "tool_use_start", "tool_use_end", "message_complete", "llm.call_completed",
        "tool.called", "tool.completed", "tool.failed", "tool.input_invalid",
        "tool.confirmation_requested", "tool.confirmation_resolved", "llm.call_failed",
        "turn.completed",
    } <= set(kinds)  # fmt: skip
    ended = next(event for event in events if event["type"] == "tool_use_end")
    assert ended["final_input"] == READ["input"]
    whole = next(event for event in events if event["type"] == "message_complete")
    assert [block["type"] for block in whole["final_content"]][-2:] == ["tool_use", "tool_use"]
    assert {"stop_reason", "usage"} <= set(whole)


@pytest.mark.req("R-CLI-02")
def test_facts_of_a_stream_equal_the_stored_facts(line):
    line.script([{"say": "hi"}])
    events = line.events("-p", "go")
    shown = [event["id"] for event in events if "." in event["type"]]
    stored = json.loads(line("sessions", "show", events[-1]["session_id"], "--json")[1])
    ids = [fact["id"] for fact in stored]
    assert ids == sorted(ids)
    assert [each for each in ids if each in shown] == shown
    assert shown == [fact["id"] for fact in stored if fact.get("turn_id")]


def test_sessions_are_listed_with_title_cost_and_turns(line, served):
    served.script += [Reply("one"), Reply("two")]
    first = line.result("-p", "fix the\tbug\nplease")["session_id"]
    assert line.result("-p", "more", "-c")["session_id"] == first
    [row] = json.loads(line("sessions", "list", "--json")[1])
    assert (row["id"], row["title"], row["turn_count"]) == (first, "fix the bug", 2)
    assert row["workspace_path"] == str(line.workspace)
    assert {"active_model", "cost_usd", "created_at", "updated_at"} <= set(row)
    assert Decimal(row["cost_usd"]) > 0
    assert "fix the bug" in line("sessions", "list")[1]


@pytest.mark.req("R-PER-06")
def test_session_in_use_is_rejected_with_the_process_id(line):
    line.script([{"say": "one"}])
    first = line.result("-p", "a")["session_id"]
    with FileLease(resolve_paths().data / "locks", first):
        code, out, err = line("-p", "b", "-r", first)
    assert (code, out) == (1, "")
    assert f"process {os.getpid()}" in err
    assert line("-p", "b", "-r", first)[0] == 0


@pytest.mark.req("R-CLI-03")
def test_cost_limit_prevents_the_request_and_exits_5(line, served):
    result = line.result("-p", "go", "-m", "sonnet", "--max-cost", "0.000001")
    assert (result["exit_code"], result["num_requests"]) == (5, 0)
    assert "exceeds the limit of" in result["error"]["message"]
    assert served.requests == []


def test_image_for_a_model_without_vision_exits_4(line, tmp_path):
    line.script([{"say": "never"}])
    picture = tmp_path / "dot.gif"
    picture.write_bytes(b"GIF89a\x01\0\x01\0\0\0\0;")
    result = line.result("-p", "look", "-m", "demo:tour", "--attach", str(picture))
    assert result["exit_code"] == 4
    assert result["error"]["class"] == "routing_failed"
    assert "demo:tour" in result["error"]["message"]


@pytest.mark.req("R-CLI-03")
def test_effort_and_model_reach_the_provider(line, served):
    served.script += [Reply("Deep thought."), Reply("Other.")]
    result = line.result("-p", "think", "-m", "opus", "--effort", "high")
    assert (result["exit_code"], result["provider"]) == (0, "anthropic")
    assert result["routing"]["mode"] == "manual"
    plain = line.result("-p", "think", "-m", "opus")
    [(_, with_effort), (_, without)] = served.requests
    assert plain["exit_code"] == 0
    assert with_effort["model"] == without["model"]
    assert "high" in json.dumps([with_effort.get("output_config"), with_effort.get("thinking")])
    assert "high" not in json.dumps([without.get("output_config"), without.get("thinking")])


@pytest.mark.req("R-CLI-03")
def test_added_directory_is_read_only(line, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "notes.txt").write_text("the tall giraffe")
    read = {"call": "read_file", "input": {"path": str(other / "notes.txt")}}
    write = {"call": "write_file", "input": {"path": str(other / "new.txt"), "content": "x"}}
    line.script([read, write], [{"say": "done"}])
    events = line.events("-p", "go", "--mode", "auto", "--add-dir", str(other))
    [done] = [event for event in events if event["type"] == "tool.completed"]
    assert "giraffe" in json.dumps(done["message"])
    [failed] = [event for event in events if event["type"] == "tool.failed"]
    assert failed["error_class"] == "permission_denied"
    assert not (other / "new.txt").exists()


def test_session_dir_moves_only_the_sessions(line, tmp_path_factory):
    apart = tmp_path_factory.mktemp("apart") / "here"
    line.script([{"say": "one"}])
    session_id = line.result("-p", "a", "--session-dir", str(apart))["session_id"]
    assert (apart / "sessions.db").exists()
    assert not resolve_paths().database.exists()
    assert json.loads(line("sessions", "list", "--json")[1]) == []
    listed = line("sessions", "list", "--json", "--session-dir", str(apart))[1]
    assert [row["id"] for row in json.loads(listed)] == [session_id]


@pytest.mark.remaining
def test_home_variable_moves_everything_and_leaves_the_workspace_unchanged(tmp_path):
    home, person, work = (tmp_path / name for name in ("home", "person", "work"))
    person.mkdir()
    work.mkdir()
    (work / "a.txt").write_text("x")
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    kept |= get_variables()
    for options in (["-p", "hello", "-m", "demo:tour"], ["doctor"], ["sessions", "list"]):
        done = subprocess.run(
            [sys.executable, "-m", "yourtool", *options],
            env={**kept, "HOME": str(person), "YOURTOOL_HOME": str(home), "PYTHONPATH": str(ROOT)},
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
    assert list(person.iterdir()) == []
    assert [path.name for path in work.iterdir()] == ["a.txt"]
    for path in (home, *home.iterdir(), *(home / "data").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
