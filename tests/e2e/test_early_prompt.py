"""The early prompt accepts keys before the interface is imported, and no key is lost."""

import os
import random
import re
import shlex
import signal
import termios
import time
from pathlib import Path

import pytest

from tests.e2e.first_screens import know_first_screen
from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")
ALTERNATE_SCREEN, LEFT_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
TEXT = "hello w\u00f6rld \u65e5\u672c e\u0301!"
END = "\u00e9!"
"""The end of the text, as the simulated terminal composes it."""


HOLD = """
import os, sys, time

class Held:
    def find_spec(self, name, *_):
        while name == "yourtool.cli" and not os.path.exists({release!r}):
            time.sleep(0.01)

sys.meta_path.insert(0, Held())
"""


@pytest.fixture
def env(home):
    return dict(home)


@pytest.fixture
def release(tmp_path, env):
    """Hold the program before it imports the interface; return a function that releases it."""
    hook, file = tmp_path / "hook", tmp_path / "released"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(HOLD.format(release=str(file)))
    env["PYTHONPATH"] = f"{hook}:{ROOT}"
    return file.touch


def start(work, env, arguments=(), columns=100, rows=30):
    know_first_screen(work, env, columns, rows)
    command = (*YOURTOOL, *arguments)
    return Terminal(command, cwd=work, env=env, columns=columns, rows=rows)


def quit_with_text(terminal):
    """Clear the prompt and quit."""
    terminal.send("\x03")
    terminal.read(0.1)
    terminal.send("\x04")
    assert terminal.end() == 0


def shown_in(terminal, text):
    """Return whether a row of the prompt shows a text; a wide character has an empty cell."""
    return any(f"│ {text} " in line for line in terminal.text.splitlines())


def test_keys_are_echoed_before_the_interface_is_imported(work, env, release):
    with start(work, env) as terminal:
        terminal.wait("Say what to do", "opening", "/help")
        terminal.send("abc")
        terminal.wait("│ abc ")
        release()
        terminal.wait("demo:tour", "│ abc ")
        quit_with_text(terminal)


@pytest.mark.parametrize("size", [(100, 30), (40, 12)])
@pytest.mark.req("R-TUI-18")
def test_the_interface_takes_over_without_a_flicker(work, env, release, size):
    """After every write, the text is in the same cells and has the same colours."""
    with start(work, env, columns=size[0], rows=size[1]) as terminal:
        terminal.wait("Say what to do")
        terminal.send(TEXT)
        terminal.wait(END)
        release()
        assert len(set(pictures_of(terminal, END))) == 1
        assert terminal.output.count(ALTERNATE_SCREEN) == 1
        quit_with_text(terminal)


def pictures_of(terminal, text):
    """Return the cells of the row with a text after each jump of the cursor until the end."""
    screen, feed, pictures = terminal.screen, terminal._stream.feed, []
    [row] = [y for y, line in enumerate(screen.display) if text in line]

    def feed_and_look(piece):
        for part in re.split(rb"(?=\x1b\[\d+;\d+H)", piece):
            feed(part)
            pictures.append(tuple(screen.buffer[row][x] for x in range(screen.columns)))

    feed_and_look(b"")
    terminal._stream.feed = feed_and_look
    terminal.wait("demo:tour")
    terminal._stream.feed = feed
    assert len(pictures) > screen.lines
    return pictures


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("no\x03abcd\x7f\x1b[D\x1b[D-", ["a-bc"]),
        ("a\\\r\x1b[200~one\rtwo\x1b[201~!", ["a", "one", "two!"]),
    ],
)
def test_the_echo_is_the_text_of_the_interface(work, env, release, keys, shown):
    with start(work, env) as terminal:
        terminal.wait("Say what to do")
        terminal.send(keys)
        signs = [rf"│ {re.escape(line)} " for line in shown]
        terminal.wait(*signs)
        release()
        terminal.wait("demo:tour", *signs)
        quit_with_text(terminal)


def send_slowly(terminal, chance, pieces, seconds):
    """Send pieces at random times within some seconds."""
    times = sorted(chance.uniform(0, seconds) for _ in pieces)
    now = 0.0
    for at, piece in zip(times, pieces, strict=True):
        if at - now > 0.002:
            terminal.read(at - now)
            now = at
        terminal.send(piece)


def type_while_starting(work, env, seed, count, seconds):
    chance = random.Random(seed)
    words = "".join(chance.choice("abcdefgh \u00e4\u65e5") for _ in range(count))
    words = f"<{words}>"
    typed = words.encode()
    cuts = sorted(chance.sample(range(1, len(typed)), len(typed) // 2))
    pieces = [typed[a:b] for a, b in zip([0, *cuts], [*cuts, len(typed)], strict=True)]
    with ProviderServer([Reply("Done.")]) as server:
        with start(work, {**env, **server.environment}) as terminal:
            send_slowly(terminal, chance, pieces, seconds)
            terminal.wait("anthropic:")
            terminal.send("\r")
            terminal.wait("Done\\.")
            terminal.send("\x04")
            assert terminal.end() == 0
        assert said_to(server) == [words]


def said_to(server):
    return [
        text
        for message in server.requests[-1][1]["messages"]
        if message["role"] == "user"
        for part in message["content"]
        if not (text := part["text"]).startswith(("<system", "<env"))
    ]


def test_no_key_typed_during_the_start_is_lost(work, env):
    type_while_starting(work, env, 1, 300, 1.0)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_none_of_a_thousand_keys_typed_during_the_start_is_lost(work, env, seed):
    type_while_starting(work, env, seed, 1_000, 0.2 + seed / 10)


def test_enter_in_the_early_prompt_sends_one_message(work, env, release):
    with ProviderServer([Reply("One."), Reply("Two.")]) as server:
        with start(work, {**env, **server.environment}) as terminal:
            terminal.wait("Say what to do")
            terminal.send("first\r")
            terminal.wait("│ first ")
            release()
            terminal.send("the rest")
            terminal.wait("One\\.", "│ the rest ")
            quit_with_text(terminal)
        assert said_to(server) == ["first"]


@pytest.mark.parametrize("keys", ["\x04", "text\x03\x03\x03"])
def test_ctrl_d_or_ctrl_c_twice_quits_the_early_prompt(work, env, release, keys):
    with start(work, env) as terminal:
        terminal.wait("Say what to do")
        terminal.send(keys)
        terminal.wait(lambda _: LEFT_SCREEN in terminal.output and is_restored(terminal))
        assert terminal.end() == 0
        assert b"unexpectedly" not in terminal.output


def is_restored(terminal):
    """Return whether no mode is on, the cursor is visible and the terminal edits lines."""
    local = termios.tcgetattr(terminal.process.fileno())[3]
    return local & termios.ECHO and local & termios.ICANON and are_modes_off(terminal)


def are_modes_off(terminal, modes=(b"1049", b"2004", b"1000", b"1004")):
    output = bytes(terminal.output)
    ended = [output.rfind(b"\x1b[?%sh" % m) <= output.rfind(b"\x1b[?%sl" % m) for m in modes]
    return all(ended) and output.rfind(b"\x1b[?25l") <= output.rfind(b"\x1b[?25h")


def test_a_resize_shows_the_screen_of_the_new_size(work, env, release):
    size = (60, 20)
    know_first_screen(work, env, *size)
    with start(work, env) as terminal:
        terminal.wait("Say what to do")
        terminal.send("abc")
        terminal.wait("│ abc ")
        terminal.resize(*size)
        box = "╭" + "─" * (size[0] - 2) + "╮"
        terminal.wait(lambda text: box in text and "│ abc " in text)
        release()
        terminal.send("d")
        terminal.wait("demo:tour", "│ abcd ", box)
        quit_with_text(terminal)


def test_a_resize_to_an_unknown_size_loses_nothing(work, env, release):
    with start(work, env) as terminal:
        terminal.wait("Say what to do")
        terminal.send("abc")
        terminal.wait("│ abc ")
        terminal.resize(71, 19)
        terminal.wait(lambda text: not text.strip())
        release()
        terminal.send("d")
        terminal.wait("demo:tour", "│ abcd ")
        quit_with_text(terminal)


def test_an_error_at_the_start_is_shown_below_the_command(work, env):
    with start(work, env) as terminal:
        data = Path(env["YOURTOOL_HOME"]) / "data"
        data.write_text("not a directory")
        terminal.wait("sessions cannot be stored", lambda _: is_restored(terminal))
        assert terminal.end() == 2
        after = bytes(terminal.output).partition(LEFT_SCREEN)[2]
        assert ALTERNATE_SCREEN in terminal.output
        assert b"sessions cannot be stored" in after


def test_a_command_that_prints_starts_without_the_early_prompt(work, env):
    with start(work, env, ("--version",)) as terminal:
        terminal.wait(r"yourtool \d")
        assert terminal.end() == 0
        assert ALTERNATE_SCREEN not in terminal.output


def test_ctrl_z_in_the_early_prompt_stops_the_program_and_fg_continues_it(work, env, release):
    know_first_screen(work, env)
    shell = {"PS1": "shell> ", "HISTFILE": "/dev/null"}
    with Terminal(SHELL, cwd=work, env={**env, **shell}) as terminal:
        terminal.wait("shell>")
        terminal.send(f"{shlex.join(YOURTOOL)}\r")
        terminal.wait("Say what to do")
        terminal.send("abc")
        terminal.wait("│ abc ")
        terminal.send("\x1a")
        terminal.wait("Stopped")
        assert are_modes_off(terminal, (b"1049", b"1000", b"1004"))  # the shell turns pastes on
        terminal.send("echo the shell $((40 + 2)) works\r")
        terminal.wait("the shell 42 works")
        terminal.screen.reset()
        terminal.send("fg; echo left with $?\r")
        terminal.wait("opening", "│ abc ")
        release()
        terminal.wait("demo:tour", "│ abc ")
        terminal.send("\x03")
        terminal.wait(lambda text: "│ abc " not in text)
        terminal.send("\x04")
        terminal.wait("left with 0")
        assert are_modes_off(terminal, (b"1049", b"1000", b"1004"))  # the shell turns pastes on


def processes_of(terminal):
    """Return the supervisor, the guardian and the program, as far as they were started."""
    found = [terminal.process.pid]
    while children := _children(found[-1]):
        found.append(children[0])
    return found


def _children(parent):
    try:
        return [int(p) for p in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except OSError:
        return []


def die_at(work, env, moment, number, victim):
    with start(work, env) as terminal:
        terminal.send("abc")
        terminal.read(moment)
        processes = processes_of(terminal)
        os.kill(processes[min(victim, len(processes) - 1)], number)
        terminal.wait(lambda _: is_restored(terminal))
        terminal.end(15)


@pytest.mark.parametrize(
    ("moment", "number", "victim"),
    [
        (0.1, signal.SIGKILL, 2),
        (0.3, signal.SIGTERM, 2),
        (0.6, signal.SIGHUP, 0),
        (0.3, signal.SIGKILL, 0),
        (0.4, signal.SIGKILL, 1),
    ],
)
@pytest.mark.req("R-TUI-16")
def test_death_during_the_start_restores_the_terminal(work, env, moment, number, victim):
    die_at(work, env, moment, number, victim)


def test_a_terminal_that_is_closed_during_the_start_ends_the_program(work, env):
    with start(work, env) as terminal:
        terminal.wait("Say what to do")
        processes = processes_of(terminal)
        with Path(os.devnull).open() as null:  # closes the terminal: it has no other descriptor
            os.dup2(null.fileno(), terminal.process.fileno())
        deadline = time.monotonic() + 20
        while any(map(is_alive, processes)) and time.monotonic() < deadline:
            time.sleep(0.02)
            terminal.process.isalive()
        assert not any(map(is_alive, processes))


def is_alive(process):
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(60))
def test_any_death_during_the_start_restores_the_terminal(work, env, seed):
    chance = random.Random(seed)
    number = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
    die_at(work, env, chance.uniform(0.05, 1.2), number, chance.randrange(3))
