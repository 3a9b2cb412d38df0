"""`yourtool sessions import` of files of other programs."""

import json
from pathlib import Path

import pytest

from tests.cli.test_sessions import run_sessions

pytestmark = pytest.mark.usefixtures("own_logging")


def test_session_of_another_program_is_imported_with_a_report_of_losses(line, tmp_path):
    file = Path(__file__).parent / "files" / "claude_code.jsonl"
    out = run_sessions(line, "import", str(file))
    assert "a session of Claude Code" in out and "It ran in /home/me/shop" in out
    assert "Not taken over: a block `hologram`, which no model gets." in out
    again = json.loads(run_sessions(line, "import", str(file), "--json"))
    assert again["already_imported"] and again["system"] == "Claude Code"
    assert "Another answer" in run_sessions(line, "show", again["session_id"])
