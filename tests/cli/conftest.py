"""One command line for each test."""

import pytest

from tests.cli.line import Line


@pytest.fixture
def line(home, tmp_path, monkeypatch, capsys) -> Line:
    return Line(home, tmp_path, monkeypatch, capsys)
