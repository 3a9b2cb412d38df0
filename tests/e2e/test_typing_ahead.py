"""No key is lost: keys typed before the interface is ready are delivered later."""

import re

import pytest

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


def typed_ahead(work, home, start, gap):
    """Start the interface, type after `start` seconds, a byte every `gap` seconds."""
    with ProviderServer([Reply("One."), Reply("Two.")]) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.read(start)
            for unit in UNITS if gap else [TYPED]:
                terminal.send(unit)
                terminal.read(gap)
            terminal.wait("Two\\.")
            terminal.wait("and the rest, \u00e4lso")
            terminal.send("\x03")
            terminal.wait(lambda text: "and the rest" not in text)
            terminal.say("/quit")
            assert terminal.end() == 0
        said = [
            "".join(part["text"] for part in message["content"])
            for message in server.requests[-1][1]["messages"]
            if message["role"] == "user"
        ]
    assert [words for words in said if not words.startswith("<")] == SENT
    return bytes(terminal.output)


@pytest.mark.parametrize(
    ("start", "gap"), [(0, 0), (0, 0.004), (0, 0.02), (0.15, 0.01), (0.4, 0.005)]
)
def test_keys_pressed_while_the_program_starts_arrive_in_order(work, home, start, gap):
    typed_ahead(work, home, start, gap)


@pytest.mark.soak
@pytest.mark.parametrize("gap", [0, 0.003, 0.01])
@pytest.mark.parametrize("start", [each / 25 for each in range(25)])
def test_keys_pressed_at_any_time_of_the_start_arrive_in_order(work, home, start, gap):
    typed_ahead(work, home, start, gap)


def test_keys_echoed_before_the_start_are_erased(work, home):
    output = typed_ahead(work, home, 0, 0)
    before = output[: output.index(b"\x1b[?1049h")]
    echo, erased, after = before.partition(b"\r\x1b[J")
    if echo.replace(b"\x1b[?2004h", b""):
        assert erased
    assert not after
