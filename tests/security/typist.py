"""A simulated person at the keyboard, questions that come and go, and an oracle.

The person types in bursts, pauses, corrects, recalls, searches, pastes, and answers questions. A
key answers deliberately only if the person looked at the screen, saw the question for a while and
decided. Every other answer is unintended. All that the person types as text has to arrive.

A message with the first letter `n`, a second after the last key and at a question that was there
before, is a note by the rules of the interface. A person who has seen the question types none by
the way.

The person is modelled after studies of typing: 4 to 15 keys a second with lognormal intervals
(Dhakal et al., "Observations on Typing from 136 Million Keystrokes", CHI 2018). During a pause of
more than `LOOK_SECONDS` the person looks at the screen; within shorter ones nothing is noticed.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from math import exp
from pathlib import Path
from typing import Any

from msgspec import Struct
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
from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.events.catalog import Event
from yourtool.events.turns import TurnCancelled
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.picker import Picker

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
VERDICTS = {
    "a": (Verdict.ALLOW, Scope.ONCE),
    "s": (Verdict.ALLOW, Scope.SESSION),
    "w": (Verdict.ALLOW, Scope.ALWAYS),
    "d": (Verdict.DENY, Scope.ONCE),
    "n": (Verdict.DENY, Scope.ONCE),
    "x": (Verdict.DENY, Scope.ONCE),
    "escape": (Verdict.DENY, Scope.ONCE),
}


class Findings(Struct):
    """What happened, and what should not have."""

    questions: int = 0
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
        self.intended: dict[str, str] = {}
        """The key with which the person decided to answer, by question."""
        self.limit = limit
        self.recent: list[str] = []
        self.notes: list[str] = []
        self.asked_at: dict[str, float] = {}
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
        dice, question = self.dice, approval_request(f"make step-{number}")
        assert self.confirm is not None
        is_withdrawn = dice.random() < 0.6
        seconds = dice.uniform(0.1, 5) if is_withdrawn else 30
        self.remember(f"ASK {question.id}")
        self.asked_at[question.id] = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                decision = await self.confirm(question)
                self.remember(
                    f"ANSWER {question.id} {decision.verdict} {decision.scope} {decision.note}"
                )
                self.notes.append(decision.note or "")
                self._judge(question, decision)
                return
        self.remember(f"WITHDRAW {question.id}")

    def _judge(self, question: Confirmation, decision: Decision) -> None:
        key = self.intended.get(question.id, "")
        if key and VERDICTS[key] == (decision.verdict, decision.scope):
            self.findings.deliberate += 1
            return
        self.findings.unintended.append(f"meant {key or 'nothing'}: {self.recent}")


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

    @property
    def chat(self) -> ChatScreen:
        """The screen."""
        return self.app.chat

    def _record_submissions(self) -> None:
        handler = self.chat.input
        submit, edit = handler.submit, handler.edit

        def record_submit(draft, **options):
            if draft.full_text.strip():
                self.submitted.append(draft.full_text)
            submit(draft, **options)

        def record_edit(message):
            found = edit(message)
            if found is not None:
                self.taken_back.append(found.full_text)
            return found

        handler.submit, handler.edit = record_submit, record_edit

    # ── the keyboard ────────────────────────────────────────────────────────────────────────────

    async def press(self, key: str) -> None:
        """Press a key, and let the usual time between two keys pass."""
        self.desk.findings.keys += 1
        self.pressed_at = asyncio.get_running_loop().time()
        screen = self.app.screen
        self.desk.remember(key if screen is self.chat else f"{key} in {type(screen).__name__}")
        assert self.desk.findings.keys < 400 * self.desk.limit, self.desk.recent
        self.app._driver.send_message(build_key(key))
        spread = exp(self.dice.gauss(0, 0.35))
        await asyncio.sleep(min(1.1, spread / self.rate))

    async def type(self, text: str) -> None:
        """Type a text with a few mistakes that are corrected, and pauses within it."""
        for at, character in enumerate(text):
            if at and self.dice.random() < 0.03:
                await self.press(self.dice.choice("asdnwe"))
                await self.press("backspace")
            await self.press("space" if character == " " else character)
            self.line += character
            if character == " " and self.dice.random() < 0.05:
                await asyncio.sleep(self.dice.uniform(0.3, 4))

    async def enter(self) -> None:
        """Send what the person believes to be in the prompt."""
        expected, before = self.line, len(self.submitted)
        await self.press("enter")
        await asyncio.sleep(0)
        found = self.submitted[before:]
        if found != ([expected] if expected.strip() else []):
            self.desk.findings.lost.append(f"{expected!r} became {found}: {self.desk.recent}")
        self.line = ""

    async def clear(self) -> None:
        """Remove what is in the prompt, as it is on the screen."""
        await asyncio.sleep(REACTION_SECONDS)
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
            if pause > LOOK_SECONDS:
                await self.look()
        await asyncio.sleep(5)

    def compose(self) -> str:
        """Return a message."""
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(1, 6)))

    async def write(self) -> None:
        """Write a message; send it, mostly."""
        text = self.compose()
        if self._has_seen_question():  # `n` would open a note
            text = text.lstrip("n ") or "ok"
        await self.type(text)
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
        size = Size(*self.dice.choice(SIZES))
        self.app._driver._size = size
        self.app.post_message(events.Resize(size, size))
        await asyncio.sleep(0.1)

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
        panel = self.chat.approval_prompt
        if panel.confirmation is None:
            return
        if self.dice.random() < 0.1:
            return
        if self.chat.prompt.text:
            await self.clear()
        await asyncio.sleep(self.dice.uniform(0.3, 3))
        if (question := panel.confirmation) is None or not self._shows_question():
            return
        await asyncio.sleep(self.dice.uniform(0.1, REACTION_SECONDS))
        await self.answer(question)
        await asyncio.sleep(self.dice.uniform(0.9, 1.5))
        await self.clear()

    def _has_seen_question(self) -> bool:
        """Whether the person looked at the screen, and a question has been there for a while."""
        now, question = asyncio.get_running_loop().time(), self.chat.approval_prompt.confirmation
        if question is None or now < self.pressed_at + LOOK_SECONDS:
            return False
        return now > self.desk.asked_at[question.id] + REACTION_SECONDS

    def _shows_question(self) -> bool:
        return self.app.screen is self.chat and not self.chat.prompt.text

    async def answer(self, question: Confirmation) -> None:
        """Press the key of an answer."""
        letters = [each.letter for each in self.chat.approval_prompt.options.options]
        key = self.dice.choice([*(set(letters) & set(VERDICTS)), "escape"])
        if key == "x":
            for waiting in self.chat.approval_prompt._questions._entries:
                self.desk.intended[waiting[0].id] = key
        self.desk.intended[question.id] = key
        self.desk.remember(f"MEANS {key} for {question.id}")
        await self.press(key)
        if key == "n":
            await self._write_note("other file" if self.dice.random() < 0.7 else "")

    async def _write_note(self, note: str) -> None:
        """Write the reason of a denial, which arrives as a note or, too early, as a message."""
        if self.dice.random() < 0.5:
            await asyncio.sleep(1)
        for character in note:
            await self.press("space" if character == " " else character)
        sent, prompt = len(self.submitted), self.chat.prompt.text
        await self.press("enter")
        await asyncio.sleep(0)
        arrived = [*self.desk.notes[-1:], *self.submitted[sent:], prompt]
        if not any(note in each for each in arrived):
            self.desk.findings.lost.append(f"note {note!r}: {self.desk.recent}")


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
        arrived += Counter(draft.full_text for draft in app.chat.runner.queue.drafts)
        expected = Counter(person.submitted) - Counter(person.taken_back)
        del expected["/model"], arrived["/model"]
        if arrived != expected:
            desk.findings.lost.append(f"{expected - arrived} missing, {arrived - expected} more")
    return desk.findings
