"""The first real turn of a person, end to end."""

import shlex
import sqlite3
import sys
from base64 import b64decode
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


@pytest.mark.remaining
def test_the_tour_opens_without_a_key_and_runs_real_tools_in_a_copy(project, home):
    """R-EASE-01, R-CRD-03."""
    with Terminal(YOURTOOL, cwd=project, env=home) as terminal:
        terminal.wait("Demo, no model")
        terminal.say("hello")
        terminal.wait("a script, not a model. I understand")
        terminal.wait("Type anything to go on")
        terminal.say("next")
        terminal.wait("Create `TOUR.md`")
        terminal.wait(r"\+ # The tour")
        terminal.answer("a")
        terminal.wait("TOUR.md is there")
        terminal.say("go")
        terminal.wait("Run this command")
        terminal.answer("a")
        terminal.wait("Type /model demo:guide")
        terminal.say("/model demo:guide")
        terminal.wait("demo:guide  ask")
        terminal.say("and now?")
        terminal.wait("Edit `TOUR.md`")
        terminal.answer("a")
        terminal.wait("ANTHROPIC_API_KEY")
        terminal.say("/quit")
        assert terminal.end() == 0
    assert not (project / "TOUR.md").exists()


def run_of_tests(project: Path) -> str:
    """The command that runs some of a project's own tests."""
    python = shlex.quote(sys.executable)
    # Its ordinary place is above the project here, and the sandbox keeps that unwritable.
    pytest_run = f"{python} -m pytest -q -p no:cacheprovider --basetemp .pytest-files"
    if (project / "yourtool").is_dir():
        return f"{pytest_run} tests/test_ids.py"
    if (project / "src").is_dir():
        return f"PYTHONPATH=src {pytest_run} tests/test_itsdangerous/test_encoding.py"
    (project / "test_here.py").write_text("def test_it():\n    import iniconfig\n")
    return f"{pytest_run} test_here.py"


def trust(terminal: Terminal, project: Path) -> None:
    """Wait for the first screen; a folder with instructions is trusted before."""
    if (project / "AGENTS.md").exists():
        terminal.wait("Trust this folder")
        terminal.answer("t")
    terminal.wait("anthropic:")


def test_a_conversation_reads_edits_runs_swaps_quits_resumes_and_continues(project, home):
    edit = {"path": "README.md", "edits": [{"old": "# ", "new": "# The "}]}
    head = (project / "README.md").read_text().splitlines()[0]
    edit["edits"] = [{"old": head, "new": f"{head}, indeed"}]
    script = [
        Reply("I read the file first.", [("read_file", {"path": "README.md"})]),
        Reply("Now I change its title.", [("edit_file", edit)]),
        Reply("Now the tests.", [("shell", {"command": run_of_tests(project)})]),
        Reply("Every one of them is well."),
        Reply("From here on it is me.", [("read_file", {"path": "README.md"})]),
        Reply("I see the new title."),
        Reply("Welcome back."),
    ]
    with ProviderServer(script) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=project, env=env) as terminal:
            trust(terminal, project)
            terminal.say("improve the title of the README")
            terminal.wait("Edit `README.md`")
            terminal.wait("indeed")
            terminal.answer("a")
            terminal.wait("Run this command")
            terminal.wait("pytest -q")
            terminal.answer("a")
            terminal.wait(" passed in ")
            terminal.wait("Every one of them is well")
            terminal.say("/model gpt-5")
            terminal.wait("openai:gpt-5")
            terminal.say("who are you now?")
            terminal.wait("I see the new title")
            terminal.say("/quit")
            assert terminal.end() == 0
        assert (project / "README.md").read_text().splitlines()[0] == f"{head}, indeed"
        with Terminal((*YOURTOOL, "--continue"), cwd=project, env=env) as terminal:
            terminal.wait("I see the new title")
            terminal.wait("openai:gpt-5")
            terminal.say("are you there?")
            terminal.wait("Welcome back")
            terminal.say("/quit")
            assert terminal.end() == 0
        paths = [path for path, _ in server.requests]
        assert paths == ["/v1/messages"] * 4 + ["/v1/responses"] * 3
        assert server.problems() == []
    database = sqlite3.connect(f"{home['YOURTOOL_HOME']}/data/sessions.db")
    assert database.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    pending = "SELECT count(*) FROM tool_calls WHERE status != 'succeeded'"
    assert database.execute(pending).fetchone() == (0,)
    database.close()


def test_an_attached_image_is_sent_with_the_first_prompt_only(project, home, tmp_path):
    picture = tmp_path / "dot.png"
    picture.write_bytes(b64decode(PIXEL))
    with ProviderServer([Reply("A dot."), Reply("Still a dot.")]) as server:
        env = {**home, **server.environment}
        with Terminal((*YOURTOOL, "--attach", str(picture)), cwd=project, env=env) as terminal:
            trust(terminal, project)
            terminal.wait("Attached to the next prompt: dot.png")
            terminal.say("what is it?")
            terminal.wait("A dot")
            terminal.say("sure?")
            terminal.wait("Still a dot")
            terminal.say("/quit")
            assert terminal.end() == 0
        said = [m for m in server.requests[1][1]["messages"] if m["role"] == "user"]
        assert [part["type"] for part in said[0]["content"]] == ["text", "image"]
        assert "image" not in str(said[1])
