"""Promises of the command line that no other test drives, with a provider on the loopback."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import CommandLine
from tests.provider_server import (
    ANTHROPIC_PATH,
    CHAT_PATH,
    GOOGLE_PATH,
    OLLAMA_PATH,
    OPENROUTER_PATH,
    RESPONSES_PATH,
    ProviderServer,
    Reply,
)
from yourtool.paths import resolve_paths
from yourtool.settings.config import config_file

pytestmark = pytest.mark.usefixtures("own_logging")

_SERVER = Path(__file__).parents[1] / "tools/servers/good_server.py"
_KEY = "sk-contract-0000000000000000"


@pytest.fixture
def provider(home):
    with ProviderServer() as server:
        yield server


@pytest.mark.parametrize(
    ("model", "key_variable", "url_variable", "root", "path"),
    [
        ("anthropic:claude-sonnet-4-6", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "",
         ANTHROPIC_PATH),
        ("anthropic:claude-sonnet-4-6", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "",
         ANTHROPIC_PATH),
        ("openai:gpt-5", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", RESPONSES_PATH),
        ("openrouter:deepseek/deepseek-v3", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL",
         "/api/v1", OPENROUTER_PATH),
        ("google:gemini-2.5-pro", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "", GOOGLE_PATH),
        ("google:gemini-2.5-pro", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "", GOOGLE_PATH),
        ("ollama:qwen3:8b", "", "OLLAMA_HOST", "", OLLAMA_PATH),
    ],
)  # fmt: skip
@pytest.mark.req("R-CLI-04")
@pytest.mark.sample(7)
def test_variables_of_a_provider_set_its_key_address_and_dialect(
    line: CommandLine, provider, monkeypatch, model, key_variable, url_variable, root, path
):
    provider.script.append(Reply("Hello."))
    monkeypatch.setenv(url_variable, provider.url + root)
    if key_variable:
        monkeypatch.setenv(key_variable, _KEY)
    code, out, err = line("-p", "hi", "-m", model)
    assert (code, out) == (0, "Hello.\n"), err
    [(asked, _)] = provider.requests
    assert (asked, provider.keys) == (path, [_KEY if key_variable else ""])


def test_openai_uses_chat_completions_by_configuration(line: CommandLine, provider, monkeypatch):
    provider.script.append(Reply("Hello."))
    for name, value in provider.environment.items():
        monkeypatch.setenv(name, value)
    config_file(resolve_paths()).write_text('[providers.openai]\napi = "chat"\n')
    assert line("-p", "hi", "-m", "openai:gpt-5")[0] == 0
    assert [path for path, _ in provider.requests] == [CHAT_PATH]


@pytest.mark.req("R-CLI-02")
def test_stream_has_the_usage_and_the_arguments_as_they_arrive(
    line: CommandLine, provider, monkeypatch
):
    (line.workspace / "a.txt").write_text("x")
    provider.script += [Reply(calls=[("read_file", {"path": "a.txt"})]), Reply("Done.")]
    for name, value in provider.environment.items():
        monkeypatch.setenv(name, value)
    events = line.events("-p", "go", "-m", "anthropic:claude-sonnet-4-6")
    kinds = {event["type"] for event in events}
    assert {"usage_update", "tool_use_input_delta", "tool_use_end", "result"} <= kinds


@pytest.mark.req("R-CLI-03")
@pytest.mark.needs("tools/mcp")
@pytest.mark.remaining
def test_servers_of_a_file_are_offered_in_the_run_that_names_it(line: CommandLine, tmp_path):
    file = tmp_path / "servers.json"
    entry = {"command": sys.executable, "args": [str(_SERVER)]}
    file.write_text(json.dumps({"mcpServers": {"good": entry}}))
    call = {"call": "mcp__good__echo", "input": {"text": "tide"}}
    line.script([call], [{"say": "5"}])
    events = line.events("-p", "add", "--mode", "auto", "--mcp-config", str(file))
    [done] = [each for each in events if each["type"] == "tool.completed"]
    assert "tide" in json.dumps(done)
    line.script([call], [{"say": "no tool"}])
    events = line.events("-p", "add", "--mode", "auto")
    assert [each for each in events if each["type"] == "tool.completed"] == []


@pytest.mark.req("R-CLI-03")
def test_reasoning_effort_returns_with_continue(line: CommandLine, provider, monkeypatch):
    provider.script += [Reply("one"), Reply("two")]
    for name, value in provider.environment.items():
        monkeypatch.setenv(name, value)
    assert line("-p", "a", "-m", "openai:gpt-5", "--effort", "high")[0] == 0
    assert line("-p", "b", "-c")[0] == 0
    assert [body["reasoning"]["effort"] for _, body in provider.requests] == ["high", "high"]


@pytest.mark.req("R-CLI-03")
@pytest.mark.parametrize(
    ("level", "sent"),
    [("off", "minimal"), ("minimal", "minimal"), ("low", "low"), ("medium", "medium"),
     ("high", "high"), ("max", "high")],
)  # fmt: skip
def test_level_of_reasoning_effort_reaches_the_provider_as_near_as_the_model_has_it(
    line: CommandLine, provider, monkeypatch, level, sent
):
    provider.script += [Reply("one")]
    for name, value in provider.environment.items():
        monkeypatch.setenv(name, value)
    assert line("-p", "a", "-m", "openai:gpt-5", "--effort", level)[0] == 0
    [(_, body)] = provider.requests
    assert body["reasoning"]["effort"] == sent


def test_renamed_and_forked_sessions_are_printed_as_json(line: CommandLine):
    line.script([{"say": "hi"}])
    session = line.result("-p", "go")["session_id"]
    assert line("sessions", "rename", session, "A title")[0] == 0
    code, out, _ = line("sessions", "fork", session, "--json")
    assert code == 0
    assert json.loads(out)
    rows = json.loads(line("sessions", "list", "--json")[1])
    assert {row["title"] for row in rows} >= {"A title"}


def test_run_works_in_the_directory_that_is_given(line: CommandLine, tmp_path):
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "a.txt").write_text("tide\n")
    line.script([{"call": "read_file", "input": {"path": "a.txt"}}], [{"say": "Read."}])
    code, out, _ = line.bare("-p", "go", "--output-format", "stream-json", "--cwd", str(place))
    events = map(json.loads, out.splitlines())
    [done] = [each for each in events if each["type"] == "tool.completed"]
    assert code == 0 and "tide" in json.dumps(done)
    assert line.bare("-p", "go", "--cwd", str(place / "missing"))[0] == 2
