"""Random sequences of what the user and the turn do with the queue, compared with a model of it.

Every message is in one place: in one of the two lists, in the prompt for editing, given to the
turn, sent, or removed by the user. The model predicts the lists after every step.
"""

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.strategies import examples
from tests.tui.fakes import FakeSession, failed_request, message, turn_end, turn_start
from tests.tui.input.test_turn_runner import FakeDisplay
from yourtool.errors import StoreError
from yourtool.events.turns import TurnCancelled, TurnSteered
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.pending_attachments import PendingAttachments
from yourtool.tui.input.prompt_input import PromptInput
from yourtool.tui.input.turn_runner import TurnRunner

STEPS = st.sampled_from([-1, 1])


class SteppedSession(FakeSession):
    """A session whose turn makes the steps that the test chooses."""

    def __init__(self, workspace) -> None:
        super().__init__((), workspace=workspace)
        self.steered: list[str] = []
        self.steps: asyncio.Queue[str] = asyncio.Queue()

    async def _play(self):
        interrupt = self._interrupt = Interrupt()
        yield self._applied(turn_start(self.sent[-1]))
        try:
            while (step := await interrupt.guard(self.steps.get())) != "end":
                if step == "fail":
                    yield self._applied(failed_request())
                    yield self._applied(turn_end(StopReason.ERROR))
                    return
                while (content := await self.steering()) is not None:
                    if step == "full disk":
                        raise StoreError("The disk is full.")
                    self.steered.append(content[0].text)
                    steered = message(Role.USER, content[0].text)
                    yield self._applied(TurnSteered(message=steered))
            yield self._applied(turn_end())
        except Interrupted:
            yield self._applied(
                TurnCancelled(reason="user_cancel", partial_llm_calls=0, partial_tool_calls=0)
            )
        finally:
            self._interrupt = None


class QueueMachine(RuleBasedStateMachine):
    """The user, the turn, and a model of both lists."""

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.session = SteppedSession(None)
        self.display = FakeDisplay()
        self.runner = TurnRunner(self.display, PendingAttachments(lambda _: None))
        self.runner.enter = "queue"
        self.input = PromptInput(self.runner, lambda _: None)
        self.runner.set_session(self.session)
        self.steering, self.waiting = [], []
        self.sent, self.steered, self.removed = [], [], []
        self.edited: tuple[str, bool, str | None] | None = None
        self.running = self.paused = False
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            for task in self.display.tasks:
                task.cancel()
            self.settle()
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def settle(self) -> None:
        async def run() -> None:
            for _ in range(30):
                await asyncio.sleep(0)

        self.loop.run_until_complete(run())

    def act(self, function, *arguments, **options):
        async def call():
            return function(*arguments, **options)

        result = self.loop.run_until_complete(call())
        self.settle()
        return result

    def new_text(self) -> str:
        self.count += 1
        return f"m{self.count}"

    def send(self, text: str) -> None:
        self.sent.append(text)
        self.running, self.paused = True, False

    def send_next(self) -> None:
        if self.waiting and not self.running and not self.paused:
            self.send(self.waiting.pop(0))

    def end_turn(self, *, paused: bool) -> None:
        self.running = False
        self.waiting[:0] = self.steering
        self.steering = []
        self.paused = paused and bool(self.waiting)
        self.send_next()

    # ── the user ────────────────────────────────────────────────────────────────────────────────

    @precondition(lambda self: self.edited is None)
    @rule()
    def enqueue(self) -> None:
        text = self.new_text()
        self.act(self.input.submit, Draft(text))
        if self.running:
            self.waiting.append(text)
        else:
            self.send(text)

    @precondition(lambda self: self.edited is None)
    @rule()
    def steer(self) -> None:
        text = self.new_text()
        self.act(self.input.submit, Draft(text), "steer")
        if self.running:
            self.steering.append(text)
        else:
            self.send(text)

    def choose(self, data: st.DataObject) -> int:
        return data.draw(st.integers(0, len(self.steering) + len(self.waiting) - 1))

    @precondition(lambda self: self.edited is None and (self.steering or self.waiting))
    @rule(data=st.data())
    def edit(self, data) -> None:
        at = self.choose(data)
        entries = [*self.steering, *self.waiting]
        draft = self.act(self.input.edit, self.runner.queue.entries[at])
        assert draft == Draft(entries[at])
        follower = entries[at + 1] if at + 1 < len(entries) else None
        self.edited = (entries[at], at < len(self.steering), follower)
        (self.steering if at < len(self.steering) else self.waiting).remove(entries[at])
        self.paused = self.paused and bool(self.steering or self.waiting)

    @precondition(lambda self: self.edited is not None)
    @rule()
    def put_back(self) -> None:
        text, steered, follower = self.edited
        self.edited = None
        self.act(self.input.submit, Draft(text))
        if not self.running and not self.waiting:
            self.send(text)
            return
        target = self.steering if steered and self.running else self.waiting
        target.insert(target.index(follower) if follower in target else len(target), text)
        if not self.running and target[0] == text:
            self.paused = False
            self.send_next()

    @precondition(lambda self: self.edited is not None)
    @rule()
    def discard_edited(self) -> None:
        self.removed.append(self.edited[0])
        self.edited = None
        self.act(self.input.forget_edited)

    @precondition(lambda self: self.steering or self.waiting)
    @rule(data=st.data())
    def remove(self, data) -> None:
        at = self.choose(data)
        self.act(self.runner.queue.remove, self.runner.queue.entries[at])
        target = self.steering if at < len(self.steering) else self.waiting
        text = [*self.steering, *self.waiting][at]
        target.remove(text)
        self.removed.append(text)
        self.paused = self.paused and bool(self.steering or self.waiting)

    @precondition(lambda self: self.steering or self.waiting)
    @rule(data=st.data(), step=STEPS)
    def move(self, data, step) -> None:
        at = self.choose(data)
        self.act(self.runner.queue.move, self.runner.queue.entries[at], step)
        target, at = (
            (self.steering, at)
            if at < len(self.steering)
            else (self.waiting, at - len(self.steering))
        )
        if 0 <= at + step < len(target):
            target[at], target[at + step] = target[at + step], target[at]

    @precondition(lambda self: self.steering or self.waiting)
    @rule(data=st.data())
    def switch(self, data) -> None:
        at = self.choose(data)
        self.act(self.runner.switch, self.runner.queue.entries[at])
        if at < len(self.steering):
            self.waiting.insert(0, self.steering.pop(at))
        elif self.running:
            self.steering.append(self.waiting.pop(at - len(self.steering)))

    @rule()
    def resume(self) -> None:
        """Enter in the empty prompt."""
        if self.edited is None:
            self.act(self.input.submit, Draft())
            self.paused = False
            self.send_next()

    # ── the turn ────────────────────────────────────────────────────────────────────────────────

    @precondition(lambda self: self.running)
    @rule()
    def tool_ends(self) -> None:
        self.act(self.session.steps.put_nowait, "tool")
        self.steered += self.steering
        self.steering = []

    @precondition(lambda self: self.running)
    @rule()
    def store_fails(self) -> None:
        """The turn ends with an error if it takes a message, which it cannot store."""
        self.act(self.session.steps.put_nowait, "full disk")
        if self.steering:
            self.end_turn(paused=True)

    @precondition(lambda self: self.running)
    @rule()
    def turn_ends(self) -> None:
        self.act(self.session.steps.put_nowait, "end")
        self.end_turn(paused=False)

    @precondition(lambda self: self.running)
    @rule()
    def turn_fails(self) -> None:
        self.act(self.session.steps.put_nowait, "fail")
        self.end_turn(paused=True)

    @precondition(lambda self: self.running)
    @rule()
    def interrupt(self) -> None:
        self.display.prompt = "so that the prompt of the turn does not return"
        self.act(self.runner.stop)
        self.display.prompt = ""
        self.end_turn(paused=True)

    # ── what holds at all times ─────────────────────────────────────────────────────────────────

    @invariant()
    def lists_are_those_of_the_model(self) -> None:
        if not hasattr(self, "loop"):
            return
        queue = self.runner.queue
        assert [each.draft.text for each in queue.steering] == self.steering
        assert [draft.text for draft in queue.drafts] == self.waiting
        assert self.session.sent == self.sent
        assert self.session.steered == self.steered
        assert self.runner.is_running is self.running
        assert bool(queue.pause_reason) is self.paused

    @invariant()
    def every_message_is_in_one_place(self) -> None:
        if not hasattr(self, "loop"):
            return
        places = [*self.session.sent, *self.session.steered, *self.removed]
        places += [each.draft.text for each in self.runner.queue.entries]
        places += [self.edited[0]] if self.edited else []
        assert sorted(places) == sorted(f"m{n}" for n in range(1, self.count + 1))


@pytest.mark.remaining
def test_no_message_is_lost_or_doubled_and_the_order_is_kept():
    run_state_machine_as_test(
        QueueMachine, settings=settings(max_examples=examples(100), deadline=None)
    )
