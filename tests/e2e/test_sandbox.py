"""The sandbox without any setting, in a terminal."""

import socket
import urllib.request

import pytest

from tests.e2e.conftest import make_repository
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.tools.sandbox.levels import require
from yourtool.settings.sandbox_config import SandboxLevel

pytestmark = pytest.mark.remaining


def call(command, **arguments):
    return [("shell", {"command": command, **arguments})]


def test_full_sandbox_is_not_shown_and_protects_the_hooks_of_git(work, home):
    require(SandboxLevel.FULL)
    hook = work / ".git/hooks/pre-commit"
    (work / "tidy.sh").write_text(f"echo x > {hook}\n")
    script = [Reply("I tidy.", call("sh tidy.sh")), Reply("All done.")]
    with ProviderServer(script) as server:
        env = {**home, **server.environment, "YOURTOOL_SANDBOX_ENABLED": ""}
        with Terminal((*YOURTOOL, "--mode", "auto"), cwd=work, env=env) as terminal:
            terminal.wait("sonnet", "AUTO: tools run without approval")
            terminal.say("go")
            terminal.wait("Read-only file", "All done", r"\? keys")
            assert "sandbox" not in terminal.text.casefold()
            assert not hook.exists()
            terminal.say("/quit")
            assert terminal.end() == 0


def test_questions_of_a_day_in_the_sandbox_follow_each_other(tmp_path, home):
    require(SandboxLevel.FULL)
    work = tmp_path / "day"
    work.mkdir()
    (work / "AGENTS.md").write_text("be kind\n")
    (work / "tidy.sh").write_text("echo be quick >> AGENTS.md\n")
    (work / ".npmrc").write_text("registry=https://packages.example/\n")
    make_repository(work)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    port = address.rpartition(":")[2]
    script = [
        Reply("I tidy.", call("sh tidy.sh")), Reply("Turn 1 ended."),
        Reply("I tidy again.", call("sh tidy.sh")), Reply("Turn 2 ended."),
        Reply("I install.", call("npm install left-pad")), Reply("Turn 3 ended."),
        Reply("I serve.", call(f"python3 -m http.server {port}", background=True)),
        Reply("I look.", call(f"curl -s {address}/AGENTS.md")), Reply("Turn 4 ended."),
    ]  # fmt: skip
    with ProviderServer(script) as server:
        env = {**home, **server.environment, "YOURTOOL_SANDBOX_ENABLED": ""}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("Trust this folder")
            terminal.answer("c")
            terminal.wait("sonnet")
            _change_instructions(terminal, work)
            terminal.say("install")
            terminal.wait("outside the sandbox", "from now on", "hosts from now on")
            terminal.answer("d")
            terminal.wait("nothing was changed", "Turn 3 ended")
            terminal.say("serve")
            terminal.wait("stays in the sandbox", "the background")
            terminal.answer("i")
            terminal.wait(f"Process p1 listens on {address}", "be kind", "Turn 4 ended")
            with urllib.request.urlopen(f"{address}/AGENTS.md") as reply:
                assert reply.read() == b"be kind\n"
            terminal.say("/quit")
            terminal.wait("p1")
            terminal.answer("q")
            assert terminal.end() == 0


def _change_instructions(terminal, work):
    """Allow a change of `AGENTS.md` and undo it, then decline it."""
    instructions = work / "AGENTS.md"
    terminal.say("tidy")
    terminal.wait("Run this command")
    terminal.answer("a")
    terminal.wait("Edit `AGENTS.md`", "be quick")
    assert instructions.read_text() == "be kind\n"
    terminal.answer("a")
    terminal.wait("Turn 1 ended")
    assert instructions.read_text() == "be kind\nbe quick\n"
    terminal.say("/undo")
    terminal.wait("Took back the changes to 1 file")
    assert instructions.read_text() == "be kind\n"
    terminal.say("tidy again")
    terminal.wait("Run this command")
    terminal.answer("a")
    terminal.wait("Edit `AGENTS.md`", "be quick")
    terminal.answer("d")
    terminal.wait("Turn 2 ended")
    assert instructions.read_text() == "be kind\n"
