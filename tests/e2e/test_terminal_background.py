"""The theme follows the background of the terminal."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal

pytestmark = pytest.mark.remaining

LIGHT_BACKGROUND = b"48;2;250;250;248"
REPLY = b"\x1b]11;rgb:ffff/ffff/ffff\x07"


@pytest.mark.req("R-TUI-23")
def test_light_terminal_gets_the_light_theme_and_the_reply_is_not_typed(work, home):
    env = {**home, "COLORTERM": "truecolor"}
    with Terminal((*YOURTOOL, "-m", "demo:tour"), cwd=work, env=env) as terminal:
        terminal.wait(lambda _: b"\x1b]11;?\x07" in terminal.output)
        terminal.wait("Demo, no model")
        terminal.send("ab")
        terminal.wait("│ ab")
        assert LIGHT_BACKGROUND not in terminal.output
        terminal.send(REPLY[:9])
        terminal.read(0.2)
        terminal.send(REPLY[9:] + b"c")
        terminal.wait(lambda screen: "│ abc" in screen and LIGHT_BACKGROUND in terminal.output)
        assert "rgb" not in terminal.text
        terminal.send("\x03\x04")
        assert terminal.end() == 0
