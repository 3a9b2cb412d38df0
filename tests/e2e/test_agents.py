"""Another agent as the model of a session in a terminal: questions, a swap there and back, undo."""

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

AGENT = Path(__file__).parents[1] / "extensions/agents/scripted_agent.py"
SCRIPT = [Reply("The vendor knows of it.")]


@pytest.mark.needs("extensions/agents")
def test_agent_is_asked_swapped_and_undone(work, home, tmp_path):
    call = {"toolCallId": "c1", "title": "Edit\x1b[31m it", "kind": "edit"}
    content = [{"type": "diff", "path": "README.md", "oldText": "# work\n", "newText": "# mine\n"}]
    end = {"toolCallId": "c1", "status": "completed"}
    steps = [
        {"think": "hm"},
        {"say": "I edit."},
        {"ask": {**call, "content": content}, "allow_once": [
            {"write": [str(work / "README.md"), "# mine\n"]}, {"tell": end}]},
        {"write": [str(work / "b.txt"), "x"]},
        {"say": "All is done."},
    ]  # fmt: skip
    script, log = tmp_path / "steps.json", tmp_path / "received.jsonl"
    script.write_text(json.dumps([steps]))
    command = json.dumps([sys.executable, str(AGENT), str(script), str(log)])
    settings = Path(home["YOURTOOL_HOME"]) / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f"[agents.other]\ncommand = {command}\n")
    before = (work / "README.md").read_text()
    with ProviderServer(list(SCRIPT)) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("anthropic:")
            terminal.say("/model acp:other")
            terminal.wait("acp:other")
            terminal.say("go")
            terminal.wait("# mine", "acp:other .*outside the sandbox")
            assert "\x1b[31m it" not in terminal.text
            terminal.answer("a")
            terminal.wait("All is done.", r"changed without a question: `b\.txt`")
            terminal.say("/model anthropic:claude-sonnet-4-6 --yes")
            terminal.wait("anthropic:")
            terminal.say("and you?")
            terminal.wait("The vendor knows of it.")
            terminal.say("/undo")
            terminal.wait("Took back the changes to 2 files")
            assert (work / "README.md").read_text() == before and not (work / "b.txt").exists()
            terminal.say("/quit")
            assert terminal.end() == 0
