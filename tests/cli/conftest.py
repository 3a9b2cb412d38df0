"""The command line of each test."""

import pytest

from tests.cli.command_line import CommandLine
from tests.provider_server import ProviderServer


@pytest.fixture
def line(home, tmp_path, monkeypatch, capsys) -> CommandLine:
    return CommandLine(home, tmp_path, monkeypatch, capsys)


@pytest.fixture
def served(line, monkeypatch):
    """A provider of every dialect that the command line of the test uses."""
    with ProviderServer() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server
