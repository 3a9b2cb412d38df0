"""The same as `test_typist.py` with real keys in a pseudo-terminal, at human and at burst speed.

While a person types, a question opens; the server's reply waits for a random character of the
message. Afterwards the person answers it. The requests to the server and the files show what was
answered and which characters arrived.
"""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.security.typist import NOTES, SIZES, WORDS

UP, BACKSPACE, CTRL_U, ESC = "\x1b[A", "\x7f", "\x15", "\x1b"
PASTES = ("yes, please", "as is", "n\ny\na", "see https://example.org/a?n=y")
QUIET = 1.2
"""Seconds without a key after which letters answer."""
PERSONS = 2


@dataclass
class Question:
    """A call that the server sends when the person is in the middle of a message."""

    number: int
    requested: threading.Event = field(default_factory=threading.Event)
    may_open: threading.Event = field(default_factory=threading.Event)

    def reply(self) -> Reply:
        command = f"touch {self.name}"
        return Reply(calls=[("shell", {"command": command})], before_piece=self._wait)

    @property
    def name(self) -> str:
        return f"step-{self.number:03}"

    def _wait(self) -> None:
        self.requested.set()
        assert self.may_open.wait(60)


class Person:
    """Types at random moments, and answers each question after it was there for a while."""

    def __init__(self, terminal: Terminal, dice: random.Random) -> None:
        self.terminal, self.dice = terminal, dice
        self.sent: list[str] = []
        self.notes: dict[str, str | None] = {}
        """The note of each denial, None for an approval."""

    def write(self, question: Question) -> None:
        """Write a message, within which the question opens, and send it."""
        dice, terminal = self.dice, self.terminal
        text = " ".join(dice.choices(WORDS, k=dice.randint(2, 4)))
        keys, gap = list(text), dice.choice((0, 0.004, 0.03, 0.1))
        way = dice.random()
        if way < 0.15:
            text = dice.choice(PASTES)
            keys = [f"\x1b[200~{text}\x1b[201~"]
        elif way < 0.3:
            keys = [*dice.choice(WORDS), CTRL_U, *text]
        elif way < 0.4 and self.sent[1:]:
            recalled = self.sent.pop()
            clear = [CTRL_U, BACKSPACE] * recalled.count("\n") + [CTRL_U]
            keys = [UP, *clear, *recalled, *clear, *text]
        opens_at = dice.randrange(len(keys))
        for at, key in enumerate(keys):
            if at == opens_at:
                if dice.random() < 0.1:
                    terminal.resize(*dice.choice(SIZES[:1] + SIZES[2:3]))
                question.may_open.set()
            terminal.send(key)
            terminal.read(gap)
        terminal.send("\r")
        self.sent.append(text)

    def answer(self, question: Question) -> None:
        """Look at the question, and answer it."""
        terminal, key = (
            self.terminal,
            self.dice.choice((ESC, ESC, "d", "a", "y", "1", "n", "3", "r")),
        )
        terminal.wait(rf"{question.name}(?s:.*)\[r\]", "a letter, then Enter")
        terminal.read(QUIET)
        note = self.dice.choice(NOTES) if key == "r" else ""
        self.notes[question.name] = None if key in "ay1" else note
        terminal.send(key if key == ESC else f"{key}\r")
        if key == "r":
            terminal.wait("Enter denies")
            terminal.send(f"{note}\r")


def work_through(folder: Path, seed: int, count: int) -> int:
    """Let a person answer so many questions; return how many characters were typed."""
    dice = random.Random(seed)
    work = folder / f"work-{seed}"
    work.mkdir()
    questions = [Question(number) for number in range(count)]
    replies = [each.reply() for each in questions]
    home = folder / f"home-{seed}"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[ui]\nenter = "queue"\n')
    env = {"YOURTOOL_HOME": str(home)}
    with ProviderServer([*replies, Reply("All were answered.")]) as server:
        with Terminal(YOURTOOL, cwd=work, env={**env, **server.environment}) as terminal:
            person = Person(terminal, dice)
            terminal.wait("sonnet")
            terminal.say("go")
            for question in questions:
                terminal.wait(lambda _, each=question: each.requested.is_set())
                person.write(question)
                person.answer(question)
            terminal.wait(lambda _: len(get_said(server)) > len(person.sent), seconds=60)
            terminal.say("/quit")
            assert terminal.end() == 0
        messages = server.requests[-1][1]["messages"]
        assert get_said(server) == ["go", *person.sent]
    check(messages, person)
    ran = sorted(each.name for each in work.glob("step-*"))
    assert ran == sorted(name for name, note in person.notes.items() if note is None)
    return sum(map(len, person.sent))


def get_said(server: ProviderServer) -> list[str]:
    """Return the messages of the user in the last request."""
    return [
        block["text"]
        for each in server.requests[-1][1]["messages"]
        if each["role"] == "user"
        for block in each["content"]
        if block["type"] == "text" and not block["text"].startswith("<")
    ]


def check(messages: list[dict], person: Person) -> None:
    """Compare the results of the calls with what the person meant."""
    blocks = [block for each in messages for block in each["content"]]
    calls = {each["id"]: each["input"]["command"] for each in blocks if each["type"] == "tool_use"}
    results = {
        calls[each["tool_use_id"]].removeprefix("touch "): str(each["content"])
        for each in blocks
        if each["type"] == "tool_result"
    }
    assert results.keys() == person.notes.keys()
    for name, note in person.notes.items():
        assert ("declined" in results[name]) == (note is not None), (name, results[name])
        if note:
            assert note in results[name]


def work_together(folder: Path, seeds: range, count: int) -> int:
    """Let several persons work at a time, each in a separate program."""
    with ThreadPoolExecutor(PERSONS) as pool:
        return sum(pool.map(lambda seed: work_through(folder, seed, count), seeds))


@pytest.mark.remaining
@pytest.mark.req("T20", "R-CONF-03")
def test_real_keys_answer_nothing_by_the_way_and_are_not_lost(tmp_path):
    work_together(tmp_path, range(PERSONS), 6)


@pytest.mark.security
@pytest.mark.timeout(1_800)
@pytest.mark.req("T20", "R-CONF-03")
def test_many_real_keys_answer_nothing_by_the_way_and_are_not_lost(tmp_path, figures):
    seeds, count = range(100, 121), 25
    figures("typist", "failed", part="pseudo-terminal")
    characters = work_together(tmp_path, seeds, count)
    text = f"0 answers, 0 of {characters:,} characters in {len(seeds) * count} questions"
    figures("typist", text, part="pseudo-terminal")
