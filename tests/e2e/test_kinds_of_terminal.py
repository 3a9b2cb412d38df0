"""Terminals of many kinds: without colours, with few, dumb ones, of changing size."""

import json
import re
import time
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

SGR = re.compile(rb"\x1b\[([\d;:]*)m")
REPLY = "# Done\n\nIt is **well**:\n\n```python\ndef f(x):\n    return 1  # one\n```\n"
EDIT = ("write_file", {"path": "new.txt", "content": "one\n"})
READY = "Shift.Tab mode"


def numbers(output):
    """Return every number in a sequence that sets colours or styles."""
    found = b";".join(SGR.findall(bytes(output))).replace(b":", b";").split(b";")
    return {int(number) for number in found if number}


def colours(output):
    return {n for n in numbers(output) if 30 <= n <= 49 or 90 <= n <= 107}


def show_all_colours(terminal):
    """Show everything with colours: completion, an approval prompt, a card, a reply."""
    terminal.wait(READY)
    terminal.send("/mo")
    terminal.wait("/models")
    terminal.send("\x03")
    terminal.wait(lambda text: "/models  " not in text.replace("/models   another", ""))
    terminal.say("go")
    terminal.wait("Create `")
    terminal.answer("a")
    terminal.wait("It is well")
    terminal.say("/help")
    terminal.wait("Esc closes")
    terminal.send("\x1b")
    terminal.wait(lambda text: "Esc closes" not in text)
    terminal.say("/quit")
    assert terminal.end() == 0


def test_program_in_gnu_screen_does_not_use_the_mouse(work, home):
    """Otherwise `screen` keeps Esc until the next key."""
    with (
        ProviderServer() as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment, "STY": "1.a"}) as terminal,
    ):
        terminal.wait(READY)
    assert b"\x1b[?1004h" in terminal.output
    assert re.search(rb"\x1b\[\?100[0235]h", bytes(terminal.output)) is None


@pytest.mark.parametrize(
    ("variables", "arguments"),
    [({"NO_COLOR": "1"}, ()), ({"NO_COLOR": "", "COLORTERM": "truecolor"}, ("--no-color",))],
    ids=["NO_COLOR", "--no-color"],
)
@pytest.mark.req("R-TUI-23")
def test_without_colours_no_colour_is_sent(work, home, variables, arguments):
    with ProviderServer([Reply("First.", [EDIT]), Reply(REPLY)]) as server:
        env = {**home, **server.environment, **variables}
        with Terminal((*YOURTOOL, *arguments), cwd=work, env=env) as terminal:
            show_all_colours(terminal)
            assert colours(terminal.output) == set()
            assert {1, 7} <= numbers(terminal.output), "bold and reverse tell what colours told"


@pytest.mark.parametrize(
    ("variables", "depths"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, {2}),
        ({"TERM": "xterm-256color"}, {5}),
        ({"TERM": "xterm"}, set()),
    ],
    ids=["truecolor", "256", "16"],
)
def test_a_terminal_gets_no_more_colours_than_it_supports(work, home, variables, depths):
    with ProviderServer([Reply("First.", [EDIT]), Reply(REPLY)]) as server:
        env = {**home, **server.environment, **variables}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            show_all_colours(terminal)
            extended = re.findall(rb"[34]8[;:]([25])[;:]", bytes(terminal.output))
            assert set(map(int, extended)) == depths
            assert colours(terminal.output)


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_a_plain_message(work, home, term):
    with Terminal(YOURTOOL, cwd=work, env={**home, "TERM": term}) as terminal:
        assert terminal.end() == 2
        said = terminal.output.decode()
    assert f"`{term}`" in said and "TERM" in said and "yourtool -p" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    "arguments", [("-p", "hi"), ("models",), ("sessions", "list"), ("doctor",)]
)
def test_printed_output_is_plain_on_a_dumb_terminal_and_without_colours(work, home, arguments):
    with ProviderServer([Reply(REPLY)] * 2) as server:
        env = {**home, **server.environment}
        for variables in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
            with Terminal((*YOURTOOL, *arguments), cwd=work, env={**env, **variables}) as terminal:
                terminal.end(20)
                assert b"Traceback" not in terminal.output
                assert colours(terminal.output) == set()
                if "TERM" in variables:
                    assert b"\x1b" not in terminal.output


@pytest.mark.req("R-TUI-07")
def test_many_resizes_while_a_reply_streams_lose_nothing(work, home):
    words = [f"word{n:03}" for n in range(120)]
    sizes = islice(cycle([(40, 12), (200, 50), (20, 5), (80, 24), (100, 30)]), 60)
    with ProviderServer([Reply(" ".join(words), pause=0.01, words_at_once=1)]) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait(READY)
            terminal.say("talk")
            terminal.wait("word000")
            for columns, rows in sizes:
                terminal.resize(columns, rows)
                terminal.read(0.02)
            terminal.wait(*words, READY)
            terminal.say("/quit")
            assert terminal.end() == 0


@pytest.mark.req("R-TUI-18")
@pytest.mark.parametrize("seconds", [0.0, 0.005])
def test_a_window_that_was_tiny_for_a_moment_is_painted_again(work, home, seconds):
    with Terminal(YOURTOOL, cwd=work, env=home) as terminal:
        terminal.wait(READY)
        terminal.read(0.5)
        size = terminal.screen.columns, terminal.screen.lines
        for _ in range(2):
            before = terminal.text
            terminal.resize(3, 2)
            time.sleep(seconds)
            terminal.resize(*size)
            terminal.wait(lambda _, before=before: terminal.text == before)


@pytest.mark.req("R-TUI-18")
def test_forty_by_twelve_and_two_hundred_by_fifty_show_a_full_approval_prompt(work, home):
    for columns, rows in ((40, 12), (200, 50)):
        with ProviderServer([Reply("First.", [EDIT]), Reply("It is well.")]) as server:
            env = {**home, **server.environment}
            with Terminal(YOURTOOL, cwd=work, env=env, columns=columns, rows=rows) as terminal:
                terminal.wait("ask first")
                terminal.say("go")
                answers = (rf"\[{letter}\]" for letter in "aswdr")
                terminal.wait("Create `", r"1 \+ one", *answers)
                terminal.send("\x1b")
                terminal.answer("\x1b")
                terminal.read(0.3)  # else it is Alt and the next key
                terminal.send("\x04")
                terminal.end()


@pytest.mark.req("R-TUI-01")
@pytest.mark.parametrize("term", ["vt100", "screen", "tmux-256color"])
def test_new_lines_are_typed_in_terminals_without_a_key_protocol(work, home, term):
    with ProviderServer([Reply("It is well.")]) as server:
        env = {**home, **server.environment, "TERM": term}
        with Terminal(YOURTOOL, cwd=work, env=env, columns=80, rows=24) as terminal:
            terminal.wait(READY)
            terminal.send("one\ntwo\\")
            terminal.wait(r"two\\")
            terminal.send("\rthree")
            terminal.wait(r"two +│", "three")
            terminal.send("\x1b\r")
            terminal.send("four")
            terminal.wait("one", "two", "three", "four")
            terminal.send("\r")
            terminal.wait("It is well")
            terminal.say("/quit")
            assert terminal.end() == 0
        [(_, body)] = server.requests
        assert "one\\ntwo\\nthree\\nfour" in json.dumps(body)


def test_cursor_of_the_terminal_follows_the_caret_of_the_prompt(work, home):
    with (
        ProviderServer([Reply("It is well.")]) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait(READY, "anthropic:")

        def caret_is_after(text):
            row, column = terminal.screen.cursor.y, terminal.screen.cursor.x
            cells = terminal.screen.buffer[row]
            return "".join(cells[x].data for x in range(column)).endswith(f"│ {text}")

        terminal.send("日本語 ab")
        terminal.wait(lambda _: caret_is_after("日本語 ab"))
        terminal.send("\x1b[D\x1b[D\x1b[D\x1b[D")
        terminal.wait(lambda _: caret_is_after("日本"))
        terminal.send("\x1b[F\nnext")
        terminal.wait(lambda _: caret_is_after("next"))
        terminal.resize(60, 20)
        terminal.wait(lambda _: caret_is_after("next"), READY[:5])
        terminal.send("\x03/mo")
        terminal.wait(lambda _: caret_is_after("/mo"), "/models")
        terminal.send("\x03say it\r")
        terminal.wait("It is well", lambda _: caret_is_after(""))
        terminal.say("/quit")
        assert terminal.end() == 0


@pytest.mark.parametrize(
    ("options", "variables", "has_colours"),
    [((), {}, True), (("--no-color",), {}, False), ((), {"NO_COLOR": "1"}, False)],
)
def test_colours_are_switched_off_by_option_and_variable(
    work, home, options, variables, has_colours
):
    command = (*YOURTOOL, *options)
    with Terminal(command, cwd=work, env={**home, **variables}) as terminal:
        terminal.wait("demo:tour")
        terminal.send("\x04")
        assert terminal.end() == 0
    assert bool(colours(terminal.output)) == has_colours


def test_mouse_is_left_to_the_terminal_by_a_setting(work, home):
    config = Path(home["YOURTOOL_HOME"], "config.toml")
    config.parent.mkdir(exist_ok=True)
    config.write_text("[ui]\nmouse = false\n")
    with ProviderServer() as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait(READY)
            terminal.say("/quit")
            assert terminal.end() == 0
    assert re.search(rb"\x1b\[\?100[0235]h", bytes(terminal.output)) is None


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_lines_are_drawn_in_ascii_where_the_encoding_has_no_others(work, home, encoding):
    with ProviderServer([Reply("It is well.")]) as server:
        env = {**home, **server.environment, "PYTHONIOENCODING": encoding}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait(READY, "\\+----")
            terminal.say("hi")
            terminal.wait("It is well")
            assert "\\u25" not in terminal.text
            terminal.say("/quit")
            assert terminal.end() == 0
