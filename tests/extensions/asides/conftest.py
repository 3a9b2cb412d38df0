"""A session with a scripted provider, and commands as a user types them."""

import os
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.harness import User
from tests.provider_server import ProviderServer
from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.parser import parse_input
from yourtool.agent.runtime import Runtime
from yourtool.cli import main
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions


class Conversation:
    """A session whose commands are run as they are typed."""

    def __init__(self, runtime, session, server, work):
        self.runtime, self.session, self.server, self.work = runtime, session, server, work

    def start(self, text):
        """Return the results of a command, which runs as they are read."""
        invocation = parse_input(text)
        assert isinstance(invocation, Invocation), invocation
        return invocation.command.run(self.session, self.runtime, invocation.argument)

    async def run(self, text):
        """Return all results of a command."""
        return [each async for each in self.start(text)]

    def bodies(self):
        """Return the bodies of the requests so far."""
        return [body for _, body in self.server.requests]


@pytest.fixture
def open_conversation(tmp_path, monkeypatch):
    """Return a context with a conversation; `answer` returns the reply to a request."""
    work = tmp_path / "work"
    work.mkdir()

    @asynccontextmanager
    async def opened(*replies, answer=None, resume=None, **fields):
        with ProviderServer(replies, answer) as server:
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            options = RunOptions(workspace=work, **{"model": "sonnet", **fields})
            runtime = await Runtime.open(resolve_paths(), options)
            opening = runtime.resume(resume, User()) if resume else runtime.new_session(User())
            session = await opening
            try:
                yield Conversation(runtime, session, server, work)
            finally:
                await session.close()
                await runtime.close()

    opened.work = work
    return opened


@pytest.fixture
def git(open_conversation):
    """Return what runs git in the workspace, which becomes a repository."""

    def run(*arguments):
        command = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments)
        done = subprocess.run(command, cwd=open_conversation.work, check=True, capture_output=True)
        return done.stdout.decode()

    run("init", "-q", "-b", "main")
    return run


@pytest.fixture
def run(monkeypatch, capsys, open_conversation):
    """Run the program with replies, and return its exit code and what it prints."""

    def run(*words, replies):
        monkeypatch.chdir(open_conversation.work)
        with ProviderServer(replies) as server, Path(os.devnull).open() as nothing:
            monkeypatch.setattr("sys.stdin", nothing)
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            code = main(["-m", "sonnet", *words])
        return code, capsys.readouterr().out

    return run
