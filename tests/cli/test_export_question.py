"""`sessions export` asks in a terminal before it writes a session with secrets (R-CRD-02)."""

import pytest

from tests.cli.test_sessions import start_session
from tests.e2e.terminal import YOURTOOL, Terminal

TOKEN = "ghp_" + "aB3dE5gH1jK7mN9pQ2sT4vW6yZ8aB3dE5gH1"


@pytest.mark.remaining
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 3), ("no", 3)])
def test_nothing_is_exported_without_a_yes(line, tmp_path, answer, code):
    session_id = start_session(line, f"use {TOKEN}")
    command = (*YOURTOOL, "sessions", "export", session_id, "out.md")
    env = {"YOURTOOL_HOME": str(line.home)}
    with Terminal(command, cwd=tmp_path, env=env) as terminal:
        terminal.wait(r"GitHub token +ghp_… \(40 characters\)", r"Export\? \[y/N\]")
        assert not (tmp_path / "out.md").exists()
        terminal.send(f"{answer}\r")
        assert terminal.end() == code
    assert (tmp_path / "out.md").exists() == (code == 0)
    assert TOKEN.encode() not in terminal.output
