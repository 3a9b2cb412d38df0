"""The command line of each test."""

import pytest

from tests.cli.command_line import CommandLine


@pytest.fixture
def line(home, tmp_path, monkeypatch, capsys) -> CommandLine:
    return CommandLine(home, tmp_path, monkeypatch, capsys)
