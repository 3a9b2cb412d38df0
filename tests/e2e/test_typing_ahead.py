"""No key is lost: keys typed before the interface is ready are delivered later."""

import re
import termios

import pytest

from tests.e2e.first_screens import know_first_screen
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

LEFT = b"\x1b[D"
TYPED = (
    "h\u00e9lo\x7flo \u65e5!".encode()
    + LEFT
    + "\U0001f389\r".encode()
    + b"\x1b[200~two\nlines\x1b[201~"
    + b"\r"
    + "and the rest, \u00e4lso".encode()
)
SENT = ["h\u00e9llo \u65e5\U0001f389!", "two\nlines"]
UNITS = re.findall(rb"\x1b\[[0-9]*[D~]|.", TYPED, re.DOTALL)
"""Single bytes, so that characters are split; only key sequences stay in one piece."""


def start(server, work, home):
    """Start the interface in a terminal of a size whose first screen is known."""
    env = {**home, **server.environment}
    know_first_screen(work, env, 100, 30)
    return Terminal(YOURTOOL, cwd=work, env=env)


def said_to(server):
    return [
        words
        for message in server.requests[-1][1]["messages"]
        if message["role"] == "user"
        for part in message["content"]
        if not (words := part["text"]).startswith("<")
    ]


def reads_keys(terminal):
    """Return whether the program has set the terminal to pass on keys."""
    return not termios.tcgetattr(terminal.process.fileno())[3] & termios.ICANON


def typed_ahead(work, home, start_after, gap):
    """Start the interface, type after some seconds, a byte every `gap` seconds."""
    with ProviderServer([Reply("One."), Reply("Two.")]) as server:
        with start(server, work, home) as terminal:
            terminal.read(start_after)
            for unit in UNITS:
                if unit == b"\r":  # before, several lines are a paste
                    terminal.wait(lambda _: reads_keys(terminal))
                terminal.send("\r" if unit == b"\r" else unit)
                terminal.read(gap)
            terminal.wait("Two\\.")
            terminal.wait("and the rest, \u00e4lso")
            terminal.send("\x03")
            terminal.wait(lambda text: "and the rest" not in text)
            terminal.say("/quit")
            assert terminal.end() == 0
        assert said_to(server) == SENT


@pytest.mark.parametrize(("start_after", "gap"), [(0, 0.004), (0, 0.02), (0.15, 0.01)])
def test_keys_pressed_while_the_program_starts_arrive_in_order(work, home, start_after, gap):
    typed_ahead(work, home, start_after, gap)


@pytest.mark.soak
@pytest.mark.parametrize("gap", [0, 0.003, 0.01])
@pytest.mark.parametrize("start_after", [each / 25 for each in range(25)])
def test_keys_pressed_at_any_time_of_the_start_arrive_in_order(work, home, start_after, gap):
    typed_ahead(work, home, start_after, gap)


@pytest.mark.parametrize("seconds", [0, 0.1, 0.4])
@pytest.mark.sample(1)
def test_lines_pasted_during_the_start_are_a_draft(work, home, seconds):
    with ProviderServer([Reply("One.")]) as server, start(server, work, home) as terminal:
        terminal.read(seconds)
        terminal.send(b"look\r!touch pasted\rnext")
        terminal.wait("│ look", "│ !touch pasted", "│ next", "anthropic:")
        terminal.send("\x03")
        terminal.wait(lambda text: "│ look" not in text)
        terminal.say("/quit")
        assert terminal.end() == 0
    assert not (work / "pasted").exists() and not server.requests


def test_one_line_typed_before_the_interface_was_ever_drawn_is_sent(work, home):
    with ProviderServer([Reply("One.")]) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.send(b"hello there\r")
            terminal.wait("One\\.")
            terminal.say("/quit")
            assert terminal.end() == 0
    assert said_to(server) == ["hello there"]


def test_keys_echoed_before_the_start_are_erased(work, home):
    with (
        ProviderServer() as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.send(b"typed early")
        terminal.wait("│ typed early")
        output = bytes(terminal.output)
    before = output[: output.index(b"\x1b[?1049h")]
    echo, erased, after = before.partition(b"\r\x1b[J")
    if echo.replace(b"\x1b[?2004h", b""):
        assert erased
    assert not after
