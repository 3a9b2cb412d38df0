"""A user does ordinary things one after the other; after each, screen, session and focus are right.

Each action names what the screen shows then, and where keys go if that changes. After each of them
the hint line has to show the keys of that place, and the stored session what the user did so far.

The long version plays three rounds, more than 200 actions, in one session, in a plain terminal, in
tmux and in screen, with pauses between 0 and 300 ms before each action. `SOAK_RUNS` is the number
of its runs in each of them, and `SOAK_FIRST` the number of the first run, which chooses its pauses.
"""

import itertools
import os
import random
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.multiplexers import PLACES, Place, open_shell
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

ROUNDS = 3
FEWEST_ACTIONS = 200
LONGEST_PAUSE = 0.3
FEWEST_ROWS_WITH_KEYS = 16
IN_PROMPT = r"Shift.Tab mode"
IN_SHORT_PROMPT = r"Say what to do|typed at"
"""A screen without room for the keys has only the prompt below the transcript."""
IN_BUSY_PROMPT = r"Enter sends"
IN_ASKED = r"text is a message"
IN_TRANSCRIPT = r"Tab back"
IN_SEARCH = r"Esc ends"
IN_QUEUE = r"remove"
IN_NOTE = r"Esc goes back"
IN_SHELL = r"shell>"
PLACES_OF_KEYS = (
    IN_PROMPT,
    IN_SHORT_PROMPT,
    IN_BUSY_PROMPT,
    IN_ASKED,
    IN_TRANSCRIPT,
    IN_SEARCH,
    IN_QUEUE,
    IN_NOTE,
    IN_SHELL,
)
STEERING, WAITING = "After the next tool call", "After this turn"
CTRL_O, CTRL_X, ESCAPE, UP, DOWN = "\x0f", "\x18", "\x1b", "\x1b[A", "\x1b[B"
ALT_UP, DELETE, PAGE_UP, CTRL_END = "\x1b[1;3A", "\x1b[3~", "\x1b[5~", "\x1b[1;5F"
CTRL_ENTER = "\x1b[13;5u"
QUERIES = (
    "SELECT count(*) FROM sessions",
    "SELECT count(*) FROM tool_calls WHERE status = 'succeeded'",
    "SELECT count(*) FROM tool_calls WHERE status = 'failed'",
)
PROMPTS = """
    SELECT json_extract(content_json, '$[0].text') FROM messages WHERE role = 'user'
    ORDER BY id
"""


def without(text: str) -> Callable[[str], bool]:
    return lambda screen: text not in screen


def in_order(*texts: str) -> Callable[[str], bool]:
    """A sign: each of these texts is on the screen, below or right of the one before."""

    def is_shown(screen: str) -> bool:
        places = [screen.rfind(text) for text in texts]
        return -1 not in places and places == sorted(places)

    return is_shown


@dataclass
class User:
    """Does things in a terminal and checks their effects."""

    terminal: Terminal
    server: ProviderServer
    home: Path
    pause: Callable[[], float]
    place: str
    actions: int = 0
    prompts: list[str] = field(default_factory=list)
    """What the session has stored of the user, in order."""
    calls: int = 0
    denied: int = 0
    focus: str = IN_PROMPT
    """The sign of the place that gets the keys."""

    def act(self, keys: str, *signs: str | Callable[[str], bool], paste: bool = False) -> None:
        """Press keys and wait until all signs are on the screen; one can be a place of keys."""
        self.terminal.read(self.pause())
        (self.terminal.paste if paste else self.terminal.send)(keys)
        self.see(*signs)

    def see(self, *signs: str | Callable[[str], bool]) -> None:
        """Wait for the effects of an action on the screen, the focus and the stored session."""
        self.actions += 1
        places = [sign for sign in signs if sign in PLACES_OF_KEYS]
        self.focus = places[-1] if places else self.focus
        self.terminal.wait(*signs, self.focus)
        self.check_session()

    def type(self, text: str, sign: str = "") -> None:
        """Type a text into the prompt."""
        self.act(text, lambda screen: (sign or text) in screen)

    def send(self, text: str, reply: Reply, *signs: str | Callable[[str], bool]) -> None:
        """Send a prompt, which gets a reply."""
        self.server.script.append(reply)
        self.type(text)
        self.prompts.append(text)
        self.act("\r", *signs)

    def answer(self, letter: str, *signs: str | Callable[[str], bool]) -> None:
        """Choose an answer to a question with its letter and Enter."""
        self.terminal.read(self.pause())
        self.terminal.answer(letter)
        self.see(*signs)

    def check_session(self) -> None:
        """Wait until the stored session has every prompt and every finished call, once."""
        expected = (1, self.calls, self.denied, self.prompts)
        for _ in range(400):
            if (found := self._stored()) == expected:
                return
            self.terminal.read(0.05)
        raise AssertionError(f"sessions, calls, denied, prompts: {found}, expected {expected}")

    def _stored(self) -> tuple[int, int, int, list[str]]:
        with sqlite3.connect(f"file:{self.home}/data/sessions.db?mode=ro", uri=True) as database:
            sessions, calls, denied = (database.execute(query).fetchone()[0] for query in QUERIES)
            said = database.execute(PROMPTS).fetchall()
            return sessions, calls, denied, [row[0] for row in said]


def held_reply(text: str, calls: Sequence[tuple[str, dict[str, str]]] = ()) -> tuple[Reply, Event]:
    """Return a reply that comes when its event is set."""
    event = Event()
    return Reply(text, calls, before_piece=event.wait), event


def talk(user: User, mark: str) -> None:
    """Write, throw away, send, scroll."""
    user.type(f"a draft {mark}")
    user.act("\x03", IN_PROMPT, without(f"a draft {mark}"))
    lines = "".join(f"{mark} line {each}\n" for each in range(30))
    reply = Reply(f"Said {mark}.\n\n```\n{lines}```")
    user.send(f"talk {mark}", reply, f"{mark} line 29", IN_PROMPT)
    user.act(PAGE_UP, f"{mark} line [1-9]\\b", without(f"{mark} line 29"))
    user.act(CTRL_END, f"{mark} line 29", IN_PROMPT)


def search(user: User, mark: str) -> None:
    """Search the transcript."""
    user.act("\t", IN_TRANSCRIPT)
    user.act("/", IN_SEARCH)
    user.act(f"{mark} line 3", rf"/{mark} line 3 .*of")
    user.act("\r", IN_TRANSCRIPT, "n next")
    user.act(ESCAPE, IN_TRANSCRIPT, without("n next"))
    user.act("\t", IN_PROMPT)


def paste_and_resize(user: User, mark: str) -> None:
    """Send a long paste, which is folded, and change the size of the window."""
    pasted = f"{mark} pasted\n" * 30
    user.act(pasted, r"\[Pasted text #\d+: 3[01] lines\]", paste=True)
    user.server.script.append(Reply(f"Read {mark}."))
    user.prompts.append(pasted)
    user.act("\r", f"Read {mark}", r"… \d+ more lines \(Ctrl\+O\)", IN_PROMPT)
    for columns, rows in ((40, 12), (120, 40), (100, 30)):
        user.terminal.resize(columns, rows)
        prompt = IN_PROMPT if rows >= FEWEST_ROWS_WITH_KEYS else IN_SHORT_PROMPT
        user.see(f"Read {mark}", "claude", prompt)
        user.type(f"typed at {columns}")
        user.act("\x03", without(f"typed at {columns}"))


def approve_and_fold(user: User, mark: str) -> None:
    """Allow a command; open and fold its output, with everything and then, once found, alone."""
    call = ("shell", {"command": f"seq -f {mark}-row-%g 16"})
    asks = ("Run this command", f"{mark}-row-%g")
    user.send(f"run {mark}", Reply("I run it.", [call]), *asks, IN_ASKED)
    user.server.script.append(Reply(f"It ran {mark}."))
    folded, opened = r"… \d+ more lines", f"{mark}-row-9"
    user.calls += 1
    user.answer("a", f"It ran {mark}", folded, IN_PROMPT)
    user.act(CTRL_O, opened, f"It ran {mark}", IN_PROMPT)
    user.act(CTRL_O, folded, without(opened), f"It ran {mark}", IN_PROMPT)
    user.act("\t", IN_TRANSCRIPT)
    user.act("/", IN_SEARCH)
    user.act(f"{mark}-row-16", rf"/{mark}-row-16 .*1 of 1")
    user.act("\r", IN_TRANSCRIPT, "n next")
    user.act(ESCAPE, IN_TRANSCRIPT, without("n next"))
    user.act("\r", opened, IN_TRANSCRIPT)
    user.act("\r", folded, without(opened), IN_TRANSCRIPT)
    user.act("x", "│ x", IN_PROMPT)
    user.act("\x7f", without("│ x"), IN_PROMPT)


def deny_with_a_note(user: User, mark: str) -> None:
    """Type at an open question, and deny its call with a note."""
    call = ("shell", {"command": f"touch {mark}-unwanted"})
    user.send(f"make {mark}", Reply("I make it.", [call]), "Run this command", IN_ASKED)
    user.type(f"no answer {mark}")
    user.act("\x03", without(f"no answer {mark}"), "Run this command")
    user.answer("r", IN_NOTE)
    user.type(f"not {mark}")
    user.server.script.append(Reply(f"Left out {mark}."))
    user.denied += 1
    user.act("\r", f"not {mark}", f"Left out {mark}", IN_PROMPT)


def queue(user: User, mark: str) -> None:
    """Queue four messages; edit, remove, reorder them; then they are sent in this order."""
    reply, arrives = held_reply(f"Held {mark}.")
    user.send(f"wait {mark}", reply, "Esc to interrupt", IN_BUSY_PROMPT)
    first, second, third, fourth = (f"{each} {mark}" for each in ("one", "two", "three", "four"))
    for number, text in enumerate((first, second, third, fourth), 1):
        user.type(text)
        user.act("\r", WAITING, rf"{number}\. {text}", IN_BUSY_PROMPT)
    user.act(UP, f"│ {fourth}", without(f"4. {fourth}"))
    user.type(" edited", f"{fourth} edited")
    fourth += " edited"
    user.act("\r", rf"4\. {fourth}", IN_BUSY_PROMPT)
    user.act(CTRL_X, IN_QUEUE)
    user.act(ALT_UP, rf"3\. {fourth}", rf"4\. {third}", IN_QUEUE)
    user.act(UP, IN_QUEUE)
    user.act(DELETE, without(f"2. {second}"), rf"2\. {fourth}", IN_QUEUE)
    user.act(ESCAPE, IN_BUSY_PROMPT)
    user.server.script += [Reply(f"Answer {each} {mark}.") for each in range(3)]
    user.prompts += [first, fourth, third]
    arrives.set()
    user.see(f"Answer 2 {mark}", IN_PROMPT, without(WAITING))


def steer(user: User, mark: str) -> None:
    """Send a message to the running turn, with the key where the terminal has it, and `/steer`."""
    reply, arrives = held_reply("I look.", [("read_file", {"path": "README.md"})])
    user.send(f"look {mark}", reply, "Esc to interrupt", IN_BUSY_PROMPT)
    user.type(f"also {mark}")
    if user.place == "plain":
        user.act(CTRL_ENTER, STEERING, rf"1\. also {mark}", IN_BUSY_PROMPT)
    else:
        user.act("\r", WAITING, rf"1\. also {mark}", IN_BUSY_PROMPT)
        user.type("/steer")
        user.act("\r", STEERING, rf"1\. also {mark}", without(WAITING), IN_BUSY_PROMPT)
    user.type(f"/steer and {mark}")
    user.act("\r", STEERING, rf"2\. and {mark}", IN_BUSY_PROMPT)
    user.server.script.append(Reply(f"Looked {mark}."))
    user.prompts += [f"also {mark}", f"and {mark}"]
    user.calls += 1
    arrives.set()
    shown = in_order(f"also {mark}", f"and {mark}", f"Looked {mark}")
    user.see(shown, without(STEERING), IN_PROMPT)


def interrupt_and_recall(user: User, mark: str) -> None:
    """Stop a reply, and use the history."""
    slow = Reply("word " * 400 + "end", pause=0.05, words_at_once=1)
    user.send(f"slow {mark}", slow, "Esc to interrupt", "word word", IN_BUSY_PROMPT)
    user.act(ESCAPE, "stopped by you", IN_PROMPT)
    user.act(UP, lambda screen: screen.count(f"slow {mark}") > 1)
    user.act(DOWN, IN_PROMPT, lambda screen: screen.count(f"slow {mark}") == 1)


def suspend_and_resume(user: User, mark: str) -> None:
    """Go to the shell and back, with a draft in the prompt."""
    draft = f"stays {mark}"
    user.type(draft)
    user.act("\x1a", "Stopped", IN_SHELL)
    user.act("clear\r", without("Stopped"), IN_SHELL)
    user.act("fg\r", draft, "claude", IN_PROMPT)
    user.act(" here", f"{draft} here")
    user.act("\x03", IN_PROMPT, without(f"{draft} here"))


PARTS = (
    talk,
    search,
    paste_and_resize,
    approve_and_fold,
    deny_with_a_note,
    queue,
    steer,
    interrupt_and_recall,
    suspend_and_resume,
)


def leave_and_continue(user: User) -> None:
    """Quit, and continue the session."""
    user.act("\x04", IN_SHELL)
    user.act("clear\r", without("Resume"), IN_SHELL)
    user.act(f"{shlex.join(YOURTOOL)} --continue\r", "stopped by you", IN_PROMPT)
    user.send("again", Reply("Here again."), "Here again", IN_PROMPT)
    user.act("\x04", IN_SHELL)


@contextmanager
def user_at(place: Place, folder: Path, work: Path, pause: Callable[[], float]) -> Iterator[User]:
    """A user who has just started the program in a shell."""
    folder.mkdir()
    home = folder / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[ui]\nenter = "queue"\n')
    env = {"YOURTOOL_HOME": str(home), "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer() as server,
        open_shell(place, folder, work, {**env, **server.environment}) as terminal,
    ):
        terminal.wait("shell>")
        terminal.send(f"{shlex.join(YOURTOOL)}\r")
        terminal.wait("anthropic:", IN_PROMPT)
        yield User(terminal, server, home, pause, place)


def test_screen_session_and_focus_are_right_after_each_action_of_a_user(work, tmp_path):
    with user_at("plain", tmp_path / "plain", work, lambda: 0) as user:
        for part in PARTS[2:-1]:
            part(user, "n0")
        leave_and_continue(user)


@pytest.mark.parametrize("place", ["tmux", "screen"])
def test_steering_and_suspension_work_in_a_multiplexer(place, work, tmp_path):
    with user_at(place, tmp_path / place, work, lambda: 0) as user:
        for part in (steer, suspend_and_resume):
            part(user, "n0")


@pytest.mark.soak
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("place", PLACES)
def test_long_script_has_the_same_effects_with_random_pauses(place, work, tmp_path):
    first, runs = (int(os.environ.get(*each)) for each in (("SOAK_FIRST", "0"), ("SOAK_RUNS", "3")))
    for run in range(first, first + runs):
        chance = random.Random(run)
        folder = tmp_path / f"{place}-{run}"
        with user_at(place, folder, work, partial(chance.uniform, 0, LONGEST_PAUSE)) as user:
            for number, part in itertools.product(range(ROUNDS), PARTS):
                part(user, f"n{number}")
            leave_and_continue(user)
            assert user.actions >= FEWEST_ACTIONS
