"""A simulated person at the keyboard, questions that come and go, and an oracle.

The person types in bursts, pauses, corrects, recalls, searches, pastes, and answers questions. A
key answers deliberately only if the person looked at the screen, saw the question for a while and
decided. The oracle has for each question what the person means: the answer with its note or
changed command, nothing more and nothing less, and only until the person sees that it was too late.
Every other answer is unintended. All that the person types as text is, character by character, in
the prompt, in one message, or in the note or command that it was meant for.

A word for an answer and Enter, a second after the last key at a question that was drawn a second
ago, are an answer by the rules of the interface. Only then the person sends no message of that
word, which is never sent while a question is open.

The person is modelled after studies of typing: intervals with a lognormal distribution and a median
of 0.07 to 0.25 seconds (Dhakal et al., "Observations on Typing from 136 Million Keystrokes", CHI
2018), and sometimes seconds of thinking, also within a word. During a pause of more than
`LOOK_SECONDS` between two texts the person looks at the screen; otherwise nothing is noticed.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from math import exp
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace
from textual import events
from textual.geometry import Size

from tests.tui.fakes import (
    FakeSession,
    approval_request,
    default_route,
    full_reply,
    turn_end,
    turn_start,
)
from tests.tui.pilot_helpers import build_key
from yourtool.effects import Confirmation, Decision, Editable, Scope, Verdict
from yourtool.events.catalog import Event
from yourtool.events.turns import TurnCancelled
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.tui.app import YourtoolApp
from yourtool.tui.questions.answer_words import is_answer_word
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.picker import Picker
from yourtool.tui.widgets.trust_question import TrustQuestion

LOOK_SECONDS = 1.0
REACTION_SECONDS = 0.25
_TEXT = (
    "a add also an and any are as ask at be by do does doc done each edit else end even every exit"
    " fix from go if in is it make may me more my n nah need never new next no none nor not note"
    " now ok once or please read run same save say see set should so some stop t test that the then"
    " to try up use w wait was we what when why with write x y yeah yes yet you"
)
WORDS = tuple(_TEXT.split())
PASTES = ("yes\n", "a", "n\ny\na\n", "def f():\n    return 1\n", "see https://example.org/a?n=y")
SIZES = ((80, 24), (40, 12), (120, 40), (60, 16))
NOTES = ("other file", "a test first", "do not", "needs more", "")
COMMANDS = ("make all", "ls -la", "a", "swand", "echo no way")
FILES = (("AGENTS.md", "1 KB"),)
_ALLOW = Decision(verdict=Verdict.ALLOW)
_DENY = Decision(verdict=Verdict.DENY)
DECISIONS = {
    "a": _ALLOW,
    "enter": _ALLOW,
    "y": _ALLOW,
    "yes": _ALLOW,
    "1": _ALLOW,
    "11": _ALLOW,
    "yy": _ALLOW,
    "down": _ALLOW,
    "s": replace(_ALLOW, scope=Scope.SESSION),
    "w": replace(_ALLOW, scope=Scope.ALWAYS),
    "m": _ALLOW,
    "e": Decision(verdict=Verdict.EDIT),
    "d": _DENY,
    "3": _DENY,
    "n": _DENY,
    "nn": _DENY,
    "no": _DENY,
    "r": _DENY,
    "x": replace(_DENY, denies_rest=True),
    "escape": _DENY,
}
TRUST = {
    **{"t": "trust", "y": "trust", "yes": "trust", "1": "trust", "down": "trust"},
    **{"c": "decline", "n": "decline", "nn": "decline", "2": "decline", "escape": "decline"},
    **{"q": "quit", "3": "quit"},
}


class Meaning(Struct, frozen=True):
    """What the person decided to answer."""

    key: str
    text: str = ""
    """The note or the changed command."""
    is_about_trust: bool = False

    @property
    def answer(self) -> Decision | str:
        """The answer to the question, or to that for trust."""
        if self.is_about_trust:
            return TRUST[self.key]
        if self.key == "e":
            return replace(DECISIONS["e"], edited_input={"command": self.text})
        return replace(DECISIONS[self.key], note=self.text or None)


class Findings(Struct):
    """What happened, and what should not have."""

    questions: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    """The deliberate answers by key."""
    deliberate: int = 0
    keys: int = 0
    unintended: list[str] = []
    lost: list[str] = []


class Desk(FakeSession):
    """A session whose turns ask questions at random moments, alone or several at once."""

    def __init__(self, workspace: Path, dice: random.Random, limit: int) -> None:
        super().__init__((), workspace=workspace)
        self.dice = dice
        self.findings = Findings()
        self.meant: dict[str, Meaning] = {}
        """What the person decided to answer, by question."""
        self.answered: dict[str, Decision | str] = {}
        """What was answered, by question."""
        self.limit = limit
        self.recent: list[str] = []
        self.drawn_at = 0.0
        """When the question on the screen was drawn."""
        self.resize: Callable[[], None] | None = None
        self.trust_question: TrustQuestion | None = None
        self.asks_trust = ""
        """The question for trust on the screen."""
        self.picks = 0
        self.intended_picks = 0

    def remember(self, what: str) -> None:
        """Keep the last steps for the report of a mistake."""
        now = asyncio.get_running_loop().time()
        self.recent = [*self.recent[-24:], f"{now:.2f} {what}"]

    async def select_model(self, name: str | None) -> AsyncGenerator[Event, None]:
        """Count the choices of a model."""
        self.picks += 1
        self.remember(f"MODEL {name}")
        if self.picks > self.intended_picks:
            self.findings.unintended.append(f"model {name}: {self.recent}")
            self.intended_picks = self.picks
        async for event in super().select_model(name):
            yield event

    async def _play(self) -> AsyncGenerator[Event, None]:
        interrupt, dice = Interrupt(), self.dice
        self._interrupt = interrupt
        try:
            yield self._applied(turn_start("go"))
            yield self._applied(default_route())
            for _ in range(dice.randint(2, 8)):
                await interrupt.guard(asyncio.sleep(dice.expovariate(2.0)))
                if dice.random() < 0.05 and self.findings.questions < self.limit:
                    await interrupt.guard(self._ask_for_trust())
                several = 1 if dice.random() < 0.7 else dice.randint(2, 4)
                many = (self._ask(each) for each in range(several))
                await interrupt.guard(_run_all(*many))
            yield self._applied(full_reply("done"))
            yield self._applied(turn_end())
        except Interrupted:
            yield self._applied(
                TurnCancelled(reason="user_cancel", partial_llm_calls=0, partial_tool_calls=0)
            )
        finally:
            self._interrupt = None

    async def _ask(self, number: int) -> None:
        if self.findings.questions >= self.limit:
            return
        self.findings.questions += 1
        dice, question = self.dice, _build_question(f"make step-{number}")
        assert self.confirm is not None and self.resize is not None
        is_withdrawn = dice.random() < 0.6
        seconds = dice.uniform(0.1, 5) if is_withdrawn else 30
        self.remember(f"ASK {question.id}")
        if dice.random() < 0.1:
            self.resize()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                self._judge(question.id, await self.confirm(question))
                return
        self.remember(f"WITHDRAW {question.id}")

    async def _ask_for_trust(self) -> None:
        """Ask whether to trust the folder."""
        assert self.trust_question is not None
        self.findings.questions += 1
        question = f"trust-{self.findings.questions}"
        self.remember(f"ASK {question}")
        self.asks_trust = question
        try:
            async with asyncio.timeout(self.dice.uniform(0.5, 8)):
                choice = await self.trust_question.ask("/work", FILES, is_changed=False)
                self._judge(question, choice)
        except TimeoutError:
            self.remember(f"WITHDRAW {question}")
        finally:
            self.asks_trust = ""

    def _judge(self, question: str, answer: Decision | str) -> None:
        self.answered[question] = answer
        self.remember(f"ANSWER {question} {answer}")
        meant = self.meant.get(question)
        if meant is None or answer != meant.answer:
            self.findings.unintended.append(f"{question} meant {meant}: {self.recent}")
            return
        self.findings.deliberate += 1
        self.findings.answers[meant.key] += 1


def _build_question(command: str) -> Confirmation:
    """Return the request for a command that the person can change."""
    question = approval_request(command)
    assert question.preview is not None
    editable = Editable(text=command, build_input=lambda text: {"command": text})
    return replace(question, preview=replace(question.preview, editable=editable))


async def _run_all(*work: Coroutine[Any, Any, None]) -> None:
    await asyncio.gather(*work)


class Typist:
    """The person."""

    def __init__(self, app: YourtoolApp, desk: Desk, dice: random.Random) -> None:
        self.app, self.desk, self.dice = app, desk, dice
        self.rate = dice.uniform(4, 15)
        self.line = ""
        """What the person believes to be in the prompt."""
        self.pressed_at = 0.0
        self.submitted: list[str] = []
        self.taken_back: list[str] = []
        self._record_submissions()
        self._watch_questions()

    @property
    def chat(self) -> ChatScreen:
        """The screen."""
        return self.app.chat

    def _record_submissions(self) -> None:
        handler = self.chat.input
        submit, edit = handler.submit, handler.edit

        def record_submit(draft, way=""):
            if draft.full_text.strip():
                self.submitted.append(draft.full_text)
            submit(draft, way)

        def record_edit(message):
            found = edit(message)
            if found is not None:
                self.taken_back.append(found.full_text)
            return found

        handler.submit, handler.edit = record_submit, record_edit

    def _watch_questions(self) -> None:
        guard, desk = self.chat.approval_prompt.guard, self.desk
        mark_drawn = guard.mark_drawn

        def record_drawn():
            desk.drawn_at = asyncio.get_running_loop().time()
            mark_drawn()

        guard.mark_drawn = record_drawn
        desk.trust_question, desk.resize = self.chat.trust_question, self._change_size

    # ── the keyboard ────────────────────────────────────────────────────────────────────────────

    async def press(self, key: str, *, is_burst: bool = False) -> None:
        """Press a key, and let the usual time between two keys pass."""
        self.desk.findings.keys += 1
        self.pressed_at = asyncio.get_running_loop().time()
        screen = self.app.screen
        self.desk.remember(key if screen is self.chat else f"{key} in {type(screen).__name__}")
        assert self.desk.findings.keys < 400 * self.desk.limit, self.desk.recent
        self.app._driver.send_message(build_key(key))
        if is_burst:
            return
        await asyncio.sleep(exp(self.dice.gauss(0, 0.4)) / self.rate)

    async def type(self, text: str) -> None:
        """Type a text with a few mistakes that are corrected, and pauses within it."""
        for at, character in enumerate(text):
            if at and self.dice.random() < 0.03:
                await self.press(self.dice.choice("asdnwe"))
                await self.press("backspace")
            await self.press("space" if character == " " else character)
            self.line += character
            if self.dice.random() < (0.05 if character == " " else 0.02):
                await asyncio.sleep(self.dice.uniform(0.3, 6))

    async def burst(self, text: str) -> None:
        """Send the keys of a text at once, as an input method does."""
        for character in text:
            await self.press("space" if character == " " else character, is_burst=True)
        await asyncio.sleep(0.05)

    async def enter(self) -> None:
        """Send what the person believes to be in the prompt."""
        expected, before = self.line, len(self.submitted)
        await self.press("enter")
        await asyncio.sleep(0)
        found = self.submitted[before:]
        if not found and self._is_answer(expected) and not self.chat.prompt.text:
            self.line = ""  # it is not sent while a question is open
            return
        if found != ([expected] if expected.strip() else []):
            self.desk.findings.lost.append(f"{expected!r} became {found}: {self.desk.recent}")
        self.line = ""

    async def clear(self, *expected: str) -> None:
        """Remove what is in the prompt, one of the expected texts."""
        await asyncio.sleep(REACTION_SECONDS)
        if self.chat.prompt.text not in (self.line, *expected):
            found = self.chat.prompt.text
            self.desk.findings.lost.append(f"{self.line!r} became {found!r}: {self.desk.recent}")
        if len(self.chat.prompt.text) > 12 or "\n" in self.chat.prompt.text:
            await self.press("ctrl+c")
        while self.chat.prompt.text:
            await self.press("backspace")
        self.line = ""

    # ── what the person does ────────────────────────────────────────────────────────────────────

    async def work(self) -> None:
        """Type until all questions were asked and answered."""
        desk, acts = self.desk, (self.write, self.recall, self.search, self.paste, self.resize)
        while desk.findings.questions < desk.limit or self.chat.runner.is_running:
            await self.dice.choices((*acts, self.look, self.pick), (45, 8, 4, 4, 2, 35, 2))[0]()
            pause = self.dice.expovariate(1 / 0.5)
            await asyncio.sleep(pause)
            if asyncio.get_running_loop().time() > self.pressed_at + LOOK_SECONDS:
                await self.look()
        await asyncio.sleep(5)

    def compose(self) -> str:
        """Return a message."""
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(1, 6)))

    async def write(self) -> None:
        """Write a message; send it, mostly."""
        text = self.compose()
        if self._is_answer(text) and (self.desk.asks_trust or self._has_seen_question()):
            text = "go on"  # a word alone would be an answer
        if len(text) > 1 and self.dice.random() < 0.1:
            await self.burst(text)
            self.line += text
        else:
            await self.type(text)
        if self.dice.random() < 0.05:
            await self.press("ctrl+u", is_burst=True)
            self.line = self.compose()
            await self.burst(self.line)
        if self.dice.random() < 0.85:
            await self.enter()
            if self.dice.random() < 0.1:
                await self.press("enter")
        else:
            await self.clear()

    async def recall(self) -> None:
        """Recall an earlier message; send it, perhaps with an addition."""
        for _ in range(self.dice.randint(1, 4)):
            await self.press("up")
        await asyncio.sleep(REACTION_SECONDS)
        self.line = self.chat.prompt.text
        if self.line.startswith("/"):
            await self.clear()
            return
        if self.dice.random() < 0.3 and "\n" not in self.line:  # the cursor is at its end
            await self.type(" again")
        if self.dice.random() < 0.8:
            await self.enter()
        else:
            await self.clear()

    async def search(self) -> None:
        """Search an earlier message with Ctrl+R."""
        await self.press("ctrl+r")
        for character in self.dice.choice(("a", "no", "s", "yes", "w")):
            await self.press(character)
        await self.press(self.dice.choice(("enter", "escape")))
        await asyncio.sleep(REACTION_SECONDS)
        await self.close_picker()
        self.line = self.chat.prompt.text
        await (self.enter() if self.dice.random() < 0.5 else self.clear())

    async def paste(self) -> None:
        """Paste a text and send it."""
        text = self.dice.choice(PASTES)
        self.desk.remember(f"PASTE {text!r}")
        self.app._driver.send_message(events.Paste(text))
        self.line += text
        await asyncio.sleep(self.dice.uniform(0.1, 0.6))
        await self.enter()

    async def resize(self) -> None:
        """Change the size of the terminal."""
        self._change_size()
        await asyncio.sleep(0.1)

    def _change_size(self) -> None:
        size = Size(*self.desk.dice.choice(SIZES))
        self.app._driver._size = size
        self.app.post_message(events.Resize(size, size))

    async def pick(self) -> None:
        """Choose a model from a list, or close it."""
        await self.type("/model")
        await self.enter()
        await asyncio.sleep(self.dice.uniform(0.5, 1.5))
        await self.look()

    async def close_picker(self) -> None:
        """Close a list that is on the screen."""
        while isinstance(self.app.screen, Picker):
            await self.press("escape")
            await asyncio.sleep(REACTION_SECONDS)

    # ── questions ───────────────────────────────────────────────────────────────────────────────

    async def look(self) -> None:
        """Look at the screen; answer the question that is there, mostly."""
        await asyncio.sleep(REACTION_SECONDS)
        if isinstance(self.app.screen, Picker):
            if self.dice.random() < 0.5:
                await self.close_picker()
            else:
                self.desk.intended_picks += 1
                await self.press("enter")
            await self.clear()
            return
        if self.desk.asks_trust:
            await self._answer_trust(self.desk.asks_trust)
        panel = self.chat.approval_prompt
        if panel.confirmation is None:
            return
        if self.dice.random() < 0.1:
            return
        if self.chat.prompt.text:
            await self.clear(self.chat.prompt.text)
        await asyncio.sleep(self.dice.uniform(0.3, 3))
        if (question := panel.confirmation) is None or not self._shows_question():
            return
        await asyncio.sleep(self.dice.uniform(0.1, REACTION_SECONDS))
        await self.answer(question)

    async def _answer_trust(self, question: str) -> None:
        """Answer the question for trust after a while, if it is still there."""
        await asyncio.sleep(self.dice.uniform(0.3, 2))
        if self.desk.asks_trust != question or self.chat.prompt.text:
            return
        key = self.dice.choice([*TRUST])
        self.desk.meant[question] = Meaning(key, is_about_trust=True)
        for each in (key,) if key in ("escape", "down") else key:
            await self.press(each)
        if key not in ("escape", "nn"):
            await self._confirm()
        await asyncio.sleep(self.dice.uniform(1, 1.5))
        self.desk.meant.pop(question, None)
        # Esc that came too early stopped the turn: what waited is in the prompt
        await self.clear("", key, *self.taken_back, *self.submitted)

    def _is_answer(self, text: str) -> bool:
        return is_answer_word(text, self.chat.approval_prompt.answers.letters)

    def _has_seen_question(self) -> bool:
        """Return True if a message that is only an answer would be one, by the rules."""
        now, question = asyncio.get_running_loop().time(), self.chat.approval_prompt.confirmation
        return (
            question is not None and now >= max(self.pressed_at, self.desk.drawn_at) + LOOK_SECONDS
        )

    def _shows_question(self) -> bool:
        return self.app.screen is self.chat and not self.chat.prompt.text

    async def answer(self, question: Confirmation) -> None:
        """Press the key of an answer; write what belongs to it."""
        panel, desk = self.chat.approval_prompt, self.desk
        keys = [each.letter for each in panel.answers.answers]
        keys += ["escape", "y", "yes", "yy", "1", "11", "3", "n", "no", "nn"]
        keys += ["enter"] if panel.enter_approves else ["down"]
        key = self.dice.choice(keys)
        texts = {"r": NOTES, "m": NOTES, "e": COMMANDS}.get(key, ("",))
        meant = Meaning(key, self.dice.choice(texts))
        several = [each for each, _ in panel._questions._entries] if key == "x" else [question]
        for each in several:
            desk.meant[each.id] = meant
        desk.remember(f"MEANS {meant} for {question.id}")
        sent = len(self.submitted)
        for each in (key,) if key in ("enter", "escape", "down") else key:
            await self.press(each)
        if key not in ("enter", "escape", "yy", "nn", "11"):
            if self.dice.random() < 0.1:
                await self._withdraw(several)
                return
            await self._confirm()
        written = await self._write(meant)
        await asyncio.sleep(self.dice.uniform(1, 1.5))
        self._check_arrival(question.id, meant, written, self.submitted[sent:])
        for each in several:
            desk.meant.pop(each.id, None)
        if self.app.screen is self.chat and panel.has_class("-noting"):
            await self.press("escape")
            desk.meant.clear()
        await self.clear(self.chat.prompt.text)

    async def _confirm(self) -> None:
        """Confirm the letter with Enter, sometimes after a while."""
        if self.dice.random() < 0.2:
            await asyncio.sleep(self.dice.uniform(0.2, 3))
        await self.press("enter")

    async def _withdraw(self, questions: list[Confirmation]) -> None:
        """Change one's mind after a letter."""
        for each in questions:
            self.desk.meant.pop(each.id, None)
        await asyncio.sleep(self.dice.uniform(0.1, 3))
        await self.press("backspace")
        await asyncio.sleep(REACTION_SECONDS)
        await self.clear(self.chat.prompt.text)

    async def _write(self, meant: Meaning) -> str:
        """Write what belongs to an answer; return it, empty if its field did not open."""
        if meant.key not in ("r", "m", "e"):
            return ""
        await asyncio.sleep(self.dice.uniform(0.3, 1.5))
        if not self.chat.approval_prompt.has_class("-noting"):
            return ""
        if meant.key == "e":
            await self.press("ctrl+u", is_burst=self.dice.random() < 0.5)
        await self._fill_in(meant.text)
        return meant.text

    async def _fill_in(self, text: str) -> None:
        """Type, burst or paste a text, and press Enter."""
        way = self.dice.random()
        if way < 0.2 and text:
            self.desk.findings.keys += 1
            self.app._driver.send_message(events.Paste(text))
        elif way < 0.5:
            await self.burst(text)
        else:
            for character in text:
                await self.press("space" if character == " " else character)
        await self.press("enter")

    def _check_arrival(self, question: str, meant: Meaning, written: str, sent: list[str]) -> None:
        """Check that a text is part of the answer, or once in a message or the prompt."""
        desk, prompt = self.desk, self.chat.prompt.text
        if question in desk.answered:
            expected = {""}
        else:
            expected = {written, f"{meant.key}{written}"}
            if not written:
                expected.add("")
        if meant.key == "escape":  # too early, it stopped the turn: what waited is in the prompt
            expected |= {"", *self.taken_back, *self.submitted}
        if "".join((*sent, prompt)) not in expected:
            found = desk.answered.get(question), sent, prompt
            desk.findings.lost.append(f"{meant} became {found}: {desk.recent}")


async def simulate(app: YourtoolApp, desk: Desk, dice: random.Random) -> Findings:
    """Let a person work until all questions were asked; return what happened."""
    async with app.run_test(size=SIZES[0]):
        while app.chat.session is None:
            await asyncio.sleep(0.05)
        person = Typist(app, desk, dice)
        await person.work()
        app.chat.runner.stop()
        await app.chat.runner.wait_for_turn()
        arrived = Counter(map(str, desk.sent))
        arrived += Counter(each.draft.full_text for each in app.chat.runner.queue.entries)
        expected = Counter(person.submitted) - Counter(person.taken_back)
        del expected["/model"], arrived["/model"]
        if arrived != expected:
            desk.findings.lost.append(f"{expected - arrived} missing, {arrived - expected} more")
    return desk.findings
