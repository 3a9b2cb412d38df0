"""The environment of the program: the window, output of other programs, API keys."""

import re
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

READY = "Say what to do"
FOCUS_OUT = "\x1b[O"


@pytest.mark.req("R-TUI-22")
def test_the_window_shows_the_title_and_rings_when_it_is_not_in_focus(work, home):
    with (
        ProviderServer(
            [Reply("One."), Reply("Two three four.", pause=0.5, words_at_once=1)]
        ) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("anthropic:")
        assert b"\x1b]2;yourtool \xe2\x80\x94 work\x07" in terminal.output
        terminal.say("first")
        terminal.wait("One")
        assert b"\x1b]9;" not in terminal.output
        terminal.say("second")
        terminal.wait("Two")
        terminal.send(FOCUS_OUT)
        terminal.wait(lambda _: b"\x07\x1b]9;yourtool: the turn is over\x07" in terminal.output)
        terminal.say("/rename Parser work")
        terminal.wait(
            lambda _: (
                b"\x1b]2;yourtool \xe2\x80\x94 Parser work \xc2\xb7 work\x07" in terminal.output
            )
        )
        terminal.say("/quit")
        assert terminal.end() == 0
        assert b"\x1b[23;2t" in terminal.output


def test_the_interface_is_drawn_when_standard_error_is_a_file(work, home, tmp_path):
    command = f"exec {sys.executable} -m yourtool 2>{tmp_path}/errors"
    with Terminal(("/bin/sh", "-c", command), cwd=work, env=home) as terminal:
        terminal.wait("Demo, no model")
        terminal.say("/quit")
        assert terminal.end() == 0
    assert (tmp_path / "errors").read_text() == ""


@pytest.mark.req("R-TUI-23")
def test_ascii_mode_draws_the_screen_in_ascii(work, home):
    directory = Path(home["YOURTOOL_HOME"])
    directory.mkdir()
    (directory / "config.toml").write_text("[ui]\nascii = true\n")
    with Terminal(YOURTOOL, cwd=work, env=home) as terminal:
        terminal.wait("Demo, no model")
        terminal.say("hello")
        shown = terminal.wait("Type anything to go on")
        assert shown.isascii(), re.findall(r"[^\x00-\x7f]", shown)
        terminal.say("next")
        assert terminal.wait("Create `TOUR.md`").isascii()
        terminal.send("\x1b")


@pytest.mark.req("R-CRD-03")
def test_entering_a_key_leaves_the_demo_for_the_real_directory(work, home):
    key = "sk-ant-hidden-0123456789"
    script = [Reply("I am here.", [("write_file", {"path": "real.txt", "content": "x\n"})])]
    with ProviderServer([*script, Reply("Done.")]) as server:
        env = {**home, "ANTHROPIC_BASE_URL": server.url}
        with Terminal((*YOURTOOL, "-m", "demo:tour"), cwd=work, env=env) as terminal:
            terminal.wait("Demo, no model")
            terminal.say("/key anthropic")
            terminal.wait("API key for")
            terminal.send(key)
            terminal.read(0.3)
            terminal.send("\r")
            terminal.wait("Saved the key for `?anthropic")
            terminal.wait(lambda text: "This is a script" not in text)
            terminal.wait("anthropic:.*ask")
            terminal.say("hello")
            terminal.wait("Create `real.txt`")
            terminal.answer("a")
            terminal.wait("Done")
            terminal.say("/quit")
            assert terminal.end() == 0
            assert key.encode() not in bytes(terminal.output)
        assert set(server.keys) == {key}
    assert (work / "real.txt").read_text() == "x\n"
