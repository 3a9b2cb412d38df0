"""Keys have the effects that users expect, in a real terminal."""

import shlex
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.multiplexers import PLACES, open_shell
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

ESC, PAGE_UP, SHIFT_TAB = "\x1b", "\x1b[5~", "\x1b[Z"
LONG = "\n\n".join(f"Paragraph {number}." for number in range(60))


def opened(server, work, home, **size):
    return Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}, **size)


def test_text_after_tab_and_in_the_list_of_keys_reaches_the_prompt(work, home):
    with (
        ProviderServer([Reply("Hello."), Reply("Again.")]) as server,
        opened(server, work, home) as terminal,
    ):
        terminal.wait("sonnet")
        terminal.say("hi")
        terminal.wait("Hello.", r"\? keys")
        terminal.send("\t")
        terminal.wait("Up/Down move", "Tab back")
        terminal.send("typed")
        terminal.wait("│ typed", r"\? keys")
        terminal.send("\x03?")
        terminal.wait("In the prompt", "Shift\\+Enter")
        terminal.send("on and on")
        terminal.wait("│ on and on", lambda screen: "In the prompt" not in screen)
        terminal.send("\r")
        terminal.wait("❯ on and on", "Again.")


def test_sending_scrolls_to_the_end_and_shift_tab_never_reaches_auto(work, home):
    with (
        ProviderServer([Reply(LONG), Reply("The second reply.")]) as server,
        opened(server, work, home, columns=80, rows=24) as terminal,
    ):
        terminal.wait("sonnet")
        for words in ("⏵⏵ accept edits", "⏸ plan only", "ask first", "⏵⏵ accept edits"):
            terminal.send(SHIFT_TAB)
            terminal.wait(lambda screen, words=words: f"  {words}" in screen.splitlines()[-1])
        terminal.say("hi")
        terminal.wait("Paragraph 59.", r"\? keys")
        terminal.send(PAGE_UP * 2)
        terminal.wait(lambda screen: "Paragraph 59." not in screen)
        terminal.say("two")
        terminal.wait("The second reply.")


def test_esc_twice_returns_to_an_earlier_prompt_and_esc_early_gives_the_text_back(work, home):
    busy = Reply(status=429, headers={"retry-after": "50"})
    with (
        ProviderServer([Reply("One."), Reply("Two."), busy]) as server,
        opened(server, work, home) as terminal,
    ):
        terminal.wait("sonnet")
        terminal.say("first prompt")
        terminal.wait("One.")
        terminal.say("second prompt")
        terminal.wait("Two.", r"\? keys")
        terminal.send(ESC + ESC)
        terminal.wait("Go back to before which prompt", "before prompt 2", "before prompt 1")
        terminal.send("\r")
        terminal.wait(
            "Continued here on another branch",
            "│ second prompt",
            lambda screen: "Two." not in screen,
        )
        terminal.send(" again\r")
        terminal.wait("❯ second prompt again", "Retrying in", "Esc stops")
        terminal.send(ESC)
        terminal.wait("│ second prompt again", "stopped by you", r"\? keys")
    [database] = (work.parent / "home").rglob("*.db")
    with sqlite3.connect(database) as stored:
        query = "select type from events where type like 'turn.%' order by id desc limit 1"
        [(last,)] = stored.execute(query)
    assert last == "turn.cancelled"


def test_a_wrong_keymap_and_a_wrong_key_are_notices_with_their_lines(work, home):
    config = Path(home["YOURTOOL_HOME"], "config.toml")
    config.parent.mkdir()
    config.write_text('[ui]\nkeymap = "cluade"\nkeys."chat.rety" = "f5"\n')
    with (
        ProviderServer([Reply("Hello.")]) as server,
        opened(server, work, home, columns=120) as terminal,
    ):
        terminal.wait("config.toml:2:", "`claude`", "config.toml:3:", "`chat.retry`")
        terminal.say("hi")
        terminal.wait("Hello.")


@pytest.mark.parametrize("place", PLACES)
def test_cursor_of_the_terminal_is_behind_the_typed_text_where_an_ime_shows_its_own(
    place, work, home, tmp_path
):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer() as server,
        open_shell(place, tmp_path, work, {**env, **server.environment}) as terminal,
    ):
        terminal.wait("shell>")
        terminal.send(f"{shlex.join(YOURTOOL)}\r")
        terminal.wait("anthropic:", r"\? keys")
        for text, width in (("abc", 3), ("\u65e5\u672c", 7), ("\x1b[D", 5), ("\x1b[D", 3)):
            terminal.send(text)
            terminal.wait(lambda _, width=width: cursor_in_prompt(terminal) == width)


def cursor_in_prompt(terminal):
    """Return the column of the terminal's cursor in the text of the prompt; -1 outside of it."""
    cursor = terminal.screen.cursor
    row = terminal.text.splitlines()[cursor.y]
    return cursor.x - len("│ ") if row.startswith("│ ") else -1


def test_lines_without_the_marks_of_a_paste_send_run_and_answer_nothing(work, home):
    calls = [("write_file", {"path": "new.txt", "content": "one\n"})]
    with (
        ProviderServer([Reply("First.", calls), Reply("It is well.")]) as server,
        opened(server, work, home) as terminal,
    ):
        terminal.wait("sonnet", r"\? keys")
        for lines, last in (
            (b"first\rsecond\rthird", "third"),
            (b"look\r\n!touch pasted\r\nnext", "next"),
            (b"!touch pasted\r", "!touch pasted"),
        ):
            terminal.send(lines)
            terminal.wait(f"│ {last} ")
            assert not server.requests
            terminal.send("\x03")
            terminal.wait("Say what to do|again")
        terminal.say("go")
        terminal.wait("Create `")
        terminal.read(1.2)
        terminal.send(b"a\r")
        terminal.wait("│ a ")
        assert not (work / "new.txt").exists()
        terminal.send("\x7f\x7f")
        terminal.wait(lambda screen: "│ a " not in screen)
        terminal.answer("a")
        terminal.wait("It is well")
    assert not (work / "pasted").exists()


def test_key_after_a_paste_of_ten_megabytes_is_shown(work, home):
    with (
        ProviderServer() as server,
        opened(server, work, home) as terminal,
    ):
        terminal.wait("sonnet", r"\? keys")
        terminal.paste("The quick brown fox jumps over the lazy dog.\r" * 230_000)
        terminal.send("next")
        terminal.wait("Pasted text #1", "next")
