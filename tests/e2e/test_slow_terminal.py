"""A terminal that reads nothing, as after Ctrl+S in a multiplexer or a lost connection."""

import time

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining


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
        while len(server.requests) < 6:
            time.sleep(0.05)
        terminal.wait("THE END", "anthropic:", lambda screen: "Esc to interrupt" not in screen)
        terminal.read_all()
        shown = rows_of(terminal.text)
        terminal.resize(101, 30)
        terminal.read_all()
        terminal.screen.reset()
        terminal.resize(100, 30)  # paints all again
        terminal.wait(lambda screen: rows_of(screen)[-len(shown) :] == shown)


def rows_of(screen):
    """Return the rows with text, without the scrollbar.

    How many blank ones are below a reply depends on the frames in which it was streamed.
    """
    return [row for line in screen.splitlines() if (row := line[:97].rstrip())]


def test_question_that_the_terminal_did_not_show_is_not_answered_by_a_letter(tmp_path, home):
    (work := tmp_path / "work").mkdir()
    words = " ".join(f"word{number}" for number in range(900))
    call = ("write_file", {"path": "made.txt", "content": "made\n"})
    replies = [Reply(words, [call], pause=0.002), Reply("THE END"), Reply("To the text `a`.")]
    with (
        ProviderServer(replies) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("anthropic:")
        terminal.say("hello")
        time.sleep(4)  # the reply has ended, and the question is open for seconds
        for key in "a\r":
            terminal.send(key)
            time.sleep(1.5)
        terminal.wait("Create `made.txt`", "waiting for you")
        assert not (work / "made.txt").exists()
        terminal.answer("a")
        terminal.wait("THE END")
        assert (work / "made.txt").exists()
