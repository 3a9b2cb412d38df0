"""Agents by others as models of our sessions: `/model acp:NAME`."""

import json
from contextlib import asynccontextmanager

import pytest

from tests.agent.harness import DENY, User, play
from tests.ecosystem.agents import AGENTS
from tests.provider_server import ProviderServer, Reply
from yourtool.agent.runtime import Runtime
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallFailed
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions, config_file

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(180)]

OURS = "anthropic:claude-haiku-4-5"
CHANGE = "change the file"
PROMPTS = ("hello", CHANGE, "are you there?")
RESULTS = ("tool_result", "functionResponse", '"role": "tool"', "function_call_output")
"""How the requests of the agents name the result of a call."""


class AgentModel(ProviderServer):
    """The model of an agent: answers with a text, and with a change if the prompt asks for it."""

    def __init__(self, file):
        super().__init__(answer=self._decide)
        self._file = str(file)

    def problems(self):
        """Return nothing: the requests are not ours."""
        return []

    def _decide(self, _path, body):
        said, offered = json.dumps(_find_new(body)), _list_tools(body)
        prompt, result = (max(map(said.rfind, texts)) for texts in (PROMPTS, RESULTS))
        if result > prompt:
            return Reply("It is done.")
        if not offered or not said.startswith(CHANGE, prompt):
            return Reply("Good day from the agent.")
        calls = {
            "Write": {"file_path": self._file, "content": "b\n"},
            "write_file": {"file_path": self._file, "content": "b\n"},
            "write": {"filePath": self._file, "content": "b\n"},
            "exec_command": {"cmd": f"printf 'b\\n' > {self._file}"},
        }
        name = next(each for each in calls if each in offered)
        return Reply("I change it.", calls=[(name, calls[name])])


def _find_new(body):
    """Return the messages after the last one of the model."""
    messages = next(body[name] for name in ("messages", "contents", "input") if name in body)
    new = list(messages)
    while any(_is_reply(each) for each in new):
        new.pop(0)
    return new


def _is_reply(message):
    return message.get("role") in ("assistant", "model") or message.get("type") == "function_call"


def _list_tools(body):
    declared = [each.get("functionDeclarations", [each]) for each in body.get("tools", ())]
    return [
        each.get("function", each).get("name")
        for group in declared for each in group
    ]  # fmt: skip


@pytest.fixture
def work(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    (path / "a.txt").write_text("one\n")
    return path


@asynccontextmanager
async def opened(name, work, tmp_path, user):
    """Yield a session whose model is an agent, and the server that is its model."""
    paths, home = resolve_paths(), tmp_path / "agent"
    home.mkdir()
    paths.home.mkdir(parents=True, exist_ok=True)
    with AgentModel(work / "b.txt") as model:
        command = AGENTS[name].set_up(home, model.environment, model.url)
        files = json.dumps(AGENTS[name].offers_files)
        config_file(paths).write_text(
            f"[agents.{name}]\ncommand = {json.dumps(command)}\nfiles = {files}\n"
        )
        runtime = await Runtime.open(paths, RunOptions(workspace=work, model=f"acp:{name}"))
        session = await runtime.new_session(user)
        try:
            yield session, model
        finally:
            await session.close()
            await runtime.close()


@pytest.fixture
def vendor(monkeypatch):
    with ProviderServer([Reply("The vendor has read it.")]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0000000000000000")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


@pytest.mark.figure("agents")
@pytest.mark.parametrize("name", AGENTS)
async def test_agent_answers_asks_changes_and_is_undone(name, home, work, tmp_path, vendor):
    user = User()
    async with opened(name, work, tmp_path, user) as (session, _):
        events = await play(session.send("hello"))
        assert not [each for each in events if isinstance(each, LlmCallFailed)]
        assert "Good day from the agent." in session.state.messages[-1].text
        assert user.asked == []

        events = await play(session.send(CHANGE))
        assert (work / "b.txt").read_text() == "b\n"
        assert [each.title for each in user.asked][:1] == ["agent_call"]
        assert session.state.messages[-1].text.endswith("It is done.")
        changed = [each.changes[0].path for each in events if isinstance(each, FilesChanged)]
        assert changed == ["b.txt"]

        await play(session.select_model(OURS))
        await play(session.send("and you?"))
        assert session.state.messages[-1].text == "The vendor has read it."
        asked = json.dumps(vendor.requests[-1][1])
        assert "Good day from the agent." in asked and "It is done." in asked
        await play(session.select_model(f"acp:{name}"))
        await play(session.send("are you there?"))
        assert "Good day from the agent." in session.state.messages[-1].text

        await play(session.files.undo())  # of the last turn that changed a file
        assert not (work / "b.txt").exists()


@pytest.mark.figure("agents")
@pytest.mark.parametrize("name", AGENTS)
async def test_denied_change_of_an_agent_is_not_made(name, home, work, tmp_path):
    user = User(DENY)
    async with opened(name, work, tmp_path, user) as (session, _):
        await play(session.send(CHANGE))
        assert [each.title for each in user.asked] == ["agent_call"]
        assert not (work / "b.txt").exists()
