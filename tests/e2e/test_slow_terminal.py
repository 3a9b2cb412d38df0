"""A terminal that reads nothing, as after Ctrl+S in a multiplexer or a lost connection."""

import time

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply


@pytest.mark.remaining
def test_turn_goes_on_and_the_screen_is_complete_after_a_terminal_read_nothing(tmp_path, home):
    (work := tmp_path / "work").mkdir()
    for number in range(5):
        (work / f"{number}.txt").write_text("a note\n")
    words = " ".join(f"word{number}" for number in range(600))
    calls = [("read_file", {"path": f"{number}.txt"}) for number in range(5)]
    replies = [Reply(words, [call], pause=0.005) for call in calls]
    with (
        ProviderServer([*replies, Reply("THE END")]) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("anthropic:")
        terminal.say("hello")
        deadline = time.monotonic() + 30
        while len(server.requests) < 6 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(server.requests) == 6
        terminal.wait("THE END", "anthropic:", lambda screen: "Esc to interrupt" not in screen)
        shown = terminal.text
        for columns in (101, 100):  # paints all again
            terminal.resize(columns, 30)
            terminal.read(1)
        assert terminal.text == shown
