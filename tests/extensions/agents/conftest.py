"""A session whose model is an agent that follows a script."""

import json
import shlex
import sys
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.harness import User, play
from tests.provider_server import ProviderServer
from yourtool.agent.runtime import Runtime
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions, config_file

SCRIPT = Path(__file__).parent / "scripted_agent.py"


@pytest.fixture
def work(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    (path / "a.txt").write_text("one\ntwo\n")
    return path


class Stage:
    """The runtime and the session of a test, and what the agent received."""

    def __init__(self, runtime, session, user, log):
        self.runtime = runtime
        self.session = session
        self.user = user
        self._log = log

    async def send(self, text):
        return await play(self.session.send(text))

    async def select(self, name):
        return await play(self.session.select_model(name))

    @property
    def received(self):
        """The messages that the agent received."""
        lines = self._log.read_text().splitlines() if self._log.exists() else ()
        return [json.loads(line) for line in lines]

    @property
    def prompts(self):
        """The texts of the prompts that the agent received."""
        found = (each for each in self.received if each.get("method") == "session/prompt")
        return [each["params"]["prompt"][0]["text"] for each in found]

    @property
    def messages(self):
        return self.session.state.messages


@pytest.fixture
def stage(tmp_path, work):
    """Open a session with the model `acp:other`, whose prompts do these steps."""

    @asynccontextmanager
    async def open_stage(*prompts, user=None, demo=(), **options):
        script, log = tmp_path / "steps.json", tmp_path / "received.jsonl"
        script.write_text(json.dumps(prompts))
        replies = tmp_path / "demo.json"
        replies.write_text(json.dumps({"replies": demo}))
        paths = resolve_paths()
        paths.home.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(SCRIPT), str(script), str(log)]
        config_file(paths).write_text(
            f"[agents.other]\ncommand = {json.dumps(command)}\n"
            f"[agents.missing]\ncommand = ['{shlex.quote('no-such-agent')}']\n"
            f"[providers.demo]\nquirks = {{ script = {json.dumps(str(replies))} }}\n"
        )
        model = options.pop("model", "acp:other")
        runtime = await Runtime.open(
            paths, RunOptions(workspace=work, **({"model": model} | options))
        )
        user = user or User()
        session = await runtime.new_session(user)
        try:
            yield Stage(runtime, session, user, log)
        finally:
            await session.close()
            await runtime.close()

    return open_stage


@pytest.fixture
def vendor(monkeypatch):
    """A function that starts a server with these replies, which checks every request."""
    with ExitStack() as servers:

        def start(*replies):
            server = servers.enter_context(ProviderServer(replies))
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            return server

        yield start
