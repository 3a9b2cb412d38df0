"""A user does ordinary things one after the other; after each, screen, session and focus are right.

A round has 20 actions. The long version plays ten rounds in one session, with pauses between 0 and
300 ms before each action; `SOAK_RUNS` is the number of its runs.
"""

import os
import random
import shlex
import sqlite3
import time
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

ROUNDS = 10
IN_PROMPT = r"Shift.Tab mode"
IN_TRANSCRIPT = r"Tab back"
SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")


class User:
    """Does things in a terminal and checks their effects."""

    def __init__(self, terminal: Terminal, server: ProviderServer, home: Path, pauses) -> None:
        self.terminal, self.server, self._home, self._pauses = terminal, server, home, pauses
        self.actions = self.prompts = self.calls = 0

    def act(self, keys: str, *signs: str, paste: bool = False) -> None:
        """Press keys and wait until all signs are on the screen."""
        self.terminal.read(self._pauses())
        self.actions += 1
        (self.terminal.paste if paste else self.terminal.send)(keys)
        self.terminal.wait(*signs)

    def send(self, text: str, reply: Reply, *signs: str) -> None:
        """Send a prompt, which gets a reply."""
        self.server.script.append(reply)
        self.prompts += 1
        self.act(text, lambda screen: text in screen)
        self.act("\r", *signs)

    def check_session(self) -> None:
        """Wait until the stored session has every prompt and every finished call, once."""
        expected = (1, self.prompts, self.calls)
        for _ in range(400):
            if (found := self._stored()) == expected:
                return
            time.sleep(0.05)
        raise AssertionError(f"sessions, prompts, calls: stored {found}, expected {expected}")

    def _stored(self) -> tuple[int, ...]:
        with sqlite3.connect(f"file:{self._home}/data/sessions.db?mode=ro", uri=True) as database:
            return tuple(database.execute(query).fetchone()[0] for query in QUERIES)


QUERIES = (
    "SELECT count(*) FROM sessions",
    "SELECT count(*) FROM messages WHERE role = 'user'",
    "SELECT count(*) FROM tool_calls WHERE status = 'succeeded'",
)


def play_round(user: User, number: int) -> None:
    """Do 20 things."""
    terminal, mark = user.terminal, f"n{number}"
    user.act(f"a draft {mark}", f"a draft {mark}")
    user.act("\x03", IN_PROMPT, lambda screen: f"a draft {mark}" not in screen)
    lines = "".join(f"{mark} line {each}\n" for each in range(30))
    user.send(
        f"talk {mark}", Reply(f"Said {mark}.\n\n```\n{lines}```"), f"{mark} line 29", IN_PROMPT
    )
    user.check_session()
    user.act("\x1b[5~", f"{mark} line [1-9]\\b", lambda screen: f"{mark} line 29" not in screen)
    user.act("\x1b[1;5F", f"{mark} line 29", IN_PROMPT)
    user.act("\t", IN_TRANSCRIPT)
    user.act("/", "Enter")
    user.act(f"{mark} line 3", rf"/{mark} line 3 .*of")
    user.act("\r", IN_TRANSCRIPT, "n next")
    user.act("\x1b", IN_TRANSCRIPT, lambda screen: "n next" not in screen)
    user.act("\t", IN_PROMPT)
    user.act(f"{mark} pasted\n" * 30, r"\[Pasted text #\d+: 3[01] lines\]", paste=True)
    user.server.script.append(Reply(f"Read {mark}."))
    user.prompts += 1
    user.act("\r", f"Read {mark}", IN_PROMPT)
    user.check_session()
    for columns, rows in ((40, 12), (120, 40), (100, 30)):
        terminal.resize(columns, rows)
        terminal.wait(f"Read {mark}", "claude")
    user.actions += 1
    terminal.wait(IN_PROMPT)


def play_calls(user: User, number: int) -> None:
    """Approve, queue, interrupt, and use the history."""
    terminal, mark = user.terminal, f"c{number}"
    call = Reply("I run it.", [("shell", {"command": f"echo ran-{mark}"})])
    user.send(f"run {mark}", call, "Run this command", f"echo ran-{mark}")
    user.server.script.append(Reply(f"It ran {mark}."))
    terminal.answer("a")
    user.actions, user.calls = user.actions + 1, user.calls + 1
    terminal.wait(f"It ran {mark}", IN_PROMPT)
    user.check_session()
    slow = Reply("word " * 400 + "end", pause=0.05, words_at_once=1)
    user.send(f"slow {mark}", slow, "Esc to interrupt", "word word")
    user.act("\x1b", "stopped by you", IN_PROMPT)
    user.act("\x1b[A", lambda screen: screen.count(f"slow {mark}") > 1)
    user.act("\x1b[B", IN_PROMPT)
    user.check_session()


def suspend_and_resume(user: User) -> None:
    """Go to the shell and back, with a draft in the prompt."""
    user.act("stays", "stays")
    user.act("\x1a", "Stopped", "shell>")
    user.terminal.screen.reset()
    user.act("fg\r", "stays", "claude")
    user.act(" here", "stays here")
    user.act("\x03", IN_PROMPT, lambda screen: "stays here" not in screen)


def leave_and_continue(user: User) -> None:
    """Quit, and continue the session."""
    user.act("\x04", "shell>")
    user.terminal.screen.reset()
    user.act(f"{shlex.join(YOURTOOL)} --continue\r", "stopped by you", IN_PROMPT)
    user.send("again", Reply("Here again."), "Here again", IN_PROMPT)
    user.check_session()
    user.act("\x04", "shell>")


def play(work: Path, home: Path, rounds: int, longest_pause: float, seed: int) -> int:
    """Play a session in a shell; return the number of actions."""
    chance = random.Random(seed)
    env = {"YOURTOOL_HOME": str(home), "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with (
        ProviderServer() as server,
        Terminal(SHELL, cwd=work, env={**env, **server.environment}) as terminal,
    ):
        terminal.wait("shell>")
        terminal.send(f"{shlex.join(YOURTOOL)}\r")
        terminal.wait("anthropic:", IN_PROMPT)
        user = User(terminal, server, home, lambda: chance.uniform(0, longest_pause))
        for number in range(rounds):
            play_round(user, number)
            play_calls(user, number)
            suspend_and_resume(user)
        leave_and_continue(user)
    return user.actions


def test_screen_session_and_focus_are_right_after_each_action_of_a_user(work, tmp_path):
    assert play(work, tmp_path / "home", 1, 0, 0) >= 20


@pytest.mark.soak
@pytest.mark.timeout(36_000)
def test_long_script_has_the_same_effects_with_random_pauses(work, tmp_path):
    for run in range(int(os.environ.get("SOAK_RUNS", "3"))):
        assert play(work, tmp_path / f"home-{run}", ROUNDS, 0.3, run) >= 200
