"""One conversation in every dialect results in the same stored messages."""

import json
import os
import subprocess

import pytest

from tests.e2e.terminal import YOURTOOL
from tests.provider_server import (
    ANTHROPIC_PATH,
    CHAT_PATH,
    OLLAMA_PATH,
    RESPONSES_PATH,
    ProviderServer,
    Reply,
)

pytestmark = pytest.mark.remaining

SCRIPT = [
    Reply("I look at both.", [("read_file", {"path": "a.txt"}), ("read_file", {"path": "none"})]),
    Reply("One says é, the other is not there."),
]
DIALECTS = {
    "messages": ("anthropic:claude-sonnet-4-6", ANTHROPIC_PATH, ""),
    "chat": ("openai:gpt-5", CHAT_PATH, '[providers.openai]\napi = "chat"\n'),
    "responses": ("openai:gpt-5", RESPONSES_PATH, ""),
    "ollama": ("ollama:qwen3:8b", OLLAMA_PATH, ""),
}


def had_with(dialect, tmp_path):
    """Return the texts, the calls and the results of the calls."""
    model, path, config = DIALECTS[dialect]
    home, project = tmp_path / "home", tmp_path / "project"
    for directory in (home, project):
        directory.mkdir()
    (home / "config.toml").write_text(config)
    (project / "a.txt").write_text("é\n")
    with ProviderServer(SCRIPT) as server:
        env = {**os.environ, **server.environment, "YOURTOOL_HOME": str(home)}
        command = (*YOURTOOL, "-p", "look", "-m", model, "--output-format", "stream-json")
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert [asked for asked, _ in server.requests] == [path] * 2
        assert server.problems() == []
    events = [json.loads(line) for line in done.stdout.splitlines()]
    contents = [event["final_content"] for event in events if event["type"] == "message_complete"]
    said = [
        (block["type"], block.get("text"), block.get("name"), block.get("input"))
        for content in contents
        for block in content
        if block["type"] != "thinking"
    ]
    kinds = [event["type"] for event in events]  # calls of one reply end in any order
    ends = sorted(kind for kind in kinds if kind in ("tool.completed", "tool.failed"))
    return said, ends, events[-1]["result"], events[-1]["usage"]["output_tokens"]


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "messages"])
@pytest.mark.req("R-ADP-03")
def test_the_same_script_gives_the_same_messages_in_every_dialect(dialect, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    expected = had_with("messages", tmp_path / "one")
    assert had_with(dialect, tmp_path / "other") == expected
    assert expected[1] == ["tool.completed", "tool.failed"]
