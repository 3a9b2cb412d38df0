"""A session continues, or asks to be restarted, while its program is replaced."""

import shutil
import sys

from tests.e2e.terminal import ROOT, Terminal
from tests.provider_server import ProviderServer, Reply


def test_session_goes_on_and_asks_for_a_restart_when_its_program_was_moved(work, home, tmp_path):
    program = tmp_path / "installed"
    for name in ("yourtool", "themes"):
        shutil.copytree(ROOT / name, program / name, ignore=shutil.ignore_patterns("*.pyc"))
    command = (sys.executable, "-P", "-m", "yourtool")
    with ProviderServer([Reply("Hello.")]) as server:
        env = {**home, **server.environment, "PYTHONPATH": str(program)}
        with Terminal(command, cwd=work, env=env) as terminal:
            terminal.wait("anthropic:", r"\? keys")
            program.rename(tmp_path / "moved")
            terminal.say("hello")
            terminal.wait("Hello\\.")
            terminal.send("more")
            terminal.wait("Restart it")
            terminal.send("\x03")
            terminal.say("/help")
            terminal.wait("Esc closes")
            terminal.send("\x1b")
            terminal.wait(lambda screen: "Esc closes" not in screen)
            terminal.say("/quit")
            assert terminal.end() == 0
