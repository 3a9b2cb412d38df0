"""The queue and the turns of a session, without a screen."""

import asyncio

import pytest

from tests.tui.fakes import (
    FakeSession,
    TakeMessages,
    default_route,
    failed_request,
    turn,
    turn_end,
    turn_start,
)
from yourtool.agent.commands.base import Invocation
from yourtool.errors import UsageError
from yourtool.events.deltas import MessageStart, TextDelta, ThinkingDelta, ToolUseStart
from yourtool.events.turns import TurnCancelled, TurnCompleted, TurnSteered
from yourtool.messages.metadata import StopReason
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.pending_attachments import PendingAttachments
from yourtool.tui.input.turn_runner import TurnRunner

HELLO = turn("hello", "Hi.")


class FakeDisplay:
    """Records what the runner shows; `prompt` is the text that the user is typing."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self.shown, self.notes, self.commands, self.faults = [], [], [], []
        self.restored: list[Draft] = []
        self.prompt = ""
        self.command_error: Exception | None = None
        self.turns_shown = 0

    def run_worker(self, work, *, group):
        self.tasks.append(asyncio.create_task(work()))

    def mark_turn_started(self):
        self.turns_shown += 1

    def show_event(self, event):
        self.shown.append(event)

    def mark_turn_ended(self):
        self.turns_shown -= 1

    def refresh_status(self): ...

    def scroll_to_end(self): ...

    def note(self, level, text):
        self.notes.append((level, text))

    def report_exception(self, error):
        self.faults.append(error)

    def restore_draft(self, draft, *, selected):
        if not self.prompt:
            self.restored.append(draft)
        return not self.prompt

    def has_text(self):
        return bool(self.prompt)

    async def run_command(self, invocation: Invocation):
        self.commands.append(invocation.command.name)
        if self.command_error is not None:
            raise self.command_error


class Stage:
    def __init__(self, workspace) -> None:
        self.workspace = workspace
        self.display = FakeDisplay()
        self.runner = TurnRunner(self.display, PendingAttachments(lambda _: None))

    def open(self, *scripts) -> FakeSession:
        session = FakeSession(*scripts or (HELLO,), workspace=self.workspace)
        self.runner.set_session(session)
        return session

    def submit(self, *texts: str) -> None:
        for text in texts:
            self.runner.submit(Draft(text))

    async def finish(self) -> None:
        while self.display.tasks:
            await self.display.tasks.pop(0)

    def steer(self, *texts: str) -> None:
        for text in texts:
            self.runner.steer(Draft(text))

    @property
    def steering(self) -> list[str]:
        return [message.draft.text for message in self.runner.queue.steering]

    @property
    def queued(self) -> list[str]:
        return [draft.text for draft in self.runner.queue.drafts]


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


async def test_messages_wait_for_the_session_and_are_sent_in_order(stage):
    stage.submit("one", "two")
    assert stage.queued == ["one", "two"]
    session = stage.open()
    stage.runner.send_next()
    await stage.finish()
    assert session.sent == ["one", "two"]
    assert len([each for each in stage.display.shown if isinstance(each, TurnCompleted)]) == 2
    assert not stage.runner.is_running and stage.display.turns_shown == 0


async def test_stopped_turn_pauses_the_queue_until_the_user_resumes_it(stage):
    session = stage.open([turn_start("one"), asyncio.Event()], HELLO)
    stage.submit("one", "two")
    while not session.busy:
        await asyncio.sleep(0)
    stage.runner.stop()
    assert stage.runner.is_stopping
    await stage.runner.wait_for_turn()
    await stage.finish()
    assert session.sent == ["one"]
    assert (stage.queued, stage.runner.queue.pause_reason) == (["two"], "you stopped the turn")
    stage.runner.resume()
    await stage.finish()
    assert session.sent == ["one", "two"]


async def stop_after(stage, *before):
    """Send a message and stop its turn after some events."""
    session = stage.open([turn_start("hello"), default_route(), *before, asyncio.Event()])
    stage.submit("hello")
    shown = stage.display.shown
    task = asyncio.create_task(stage.finish())
    while len(shown) < 2 + len(before):
        await asyncio.sleep(0)
    stage.runner.stop()
    await task
    assert isinstance(session.state.facts[-1], TurnCancelled)
    return session


async def test_prompt_returns_if_its_turn_is_stopped_before_the_reply(stage):
    await stop_after(stage, MessageStart(message_id="m", model="demo:tour"))
    assert stage.display.restored == [Draft("hello")]
    assert stage.queued == []


@pytest.mark.parametrize(
    "part",
    [
        TextDelta(message_id="m", content_block_index=0, text="H"),
        ThinkingDelta(message_id="m", content_block_index=0, text="H"),
        ToolUseStart(message_id="m", content_block_index=0, tool_use_id="t", tool_name="shell"),
    ],
    ids=lambda part: type(part).__name__,
)
async def test_prompt_does_not_return_once_a_part_of_the_reply_arrived(stage, part):
    await stop_after(stage, part)
    assert stage.display.restored == []


async def test_prompt_does_not_return_over_text_that_the_user_types(stage):
    stage.display.prompt = "next"
    await stop_after(stage)
    assert stage.display.restored == []
    assert stage.queued == []


async def test_failed_turn_can_be_retried_from_a_paused_queue(stage):
    session = stage.open([turn_start("one"), failed_request(), turn_end(StopReason.ERROR)], HELLO)
    stage.submit("one", "two")
    await stage.finish()
    queue = stage.runner.queue
    assert (queue.pause_reason, queue.can_retry) == ("the turn failed", True)
    assert session.sent == ["one"]


async def test_unsent_message_returns_to_the_prompt_or_to_the_front_of_the_queue(stage):
    session = stage.open()
    stage.submit("@nobody one")
    await stage.finish()
    assert stage.display.restored == [Draft("@nobody one")] and stage.queued == []
    stage.display.prompt = "half a sentence"
    stage.submit("@nobody two", "three")
    await stage.finish()
    assert stage.queued == ["@nobody two", "three"]
    assert stage.runner.queue.pause_reason == "the message could not be sent"
    assert session.sent == []


async def test_fault_of_the_core_is_reported_and_pauses_the_queue(stage):
    session = stage.open([turn_start("one"), ZeroDivisionError("a fault")], HELLO)
    stage.submit("one", "two")
    await stage.finish()
    assert [str(each) for each in stage.display.faults] == ["a fault"]
    assert stage.runner.queue.pause_reason == "the program failed"
    assert session.sent == ["one"]


async def test_command_runs_during_a_turn_and_later_messages_wait_for_it(stage):
    session = stage.open()
    stage.submit("one", "/cost", "two")
    assert stage.queued == ["two"]
    await stage.finish()
    assert stage.display.commands == ["cost"]
    assert session.sent == ["one", "two"]


async def test_failed_command_returns_to_the_prompt_and_pauses_the_queue(stage):
    session = stage.open()
    stage.display.command_error = UsageError("No such model.")
    stage.submit("/model nobody", "for that model only")
    await stage.finish()
    assert stage.display.notes == [("error", "No such model.")]
    assert stage.display.restored == [Draft("/model nobody")]
    assert stage.runner.queue.pause_reason == "a command failed"
    assert session.sent == []


async def test_running_turn_clears_the_reason_of_the_pause(stage):
    gate = asyncio.Event()
    session = stage.open(
        [turn_start("one"), failed_request(), turn_end(StopReason.ERROR)], [gate, *HELLO], HELLO
    )
    stage.submit("one", "two")
    await stage.finish()
    assert stage.runner.queue.pause_reason
    stage.runner.start_turn(session.retry())
    assert stage.runner.queue.pause_reason == ""
    gate.set()
    await stage.finish()
    assert session.sent == ["one", "two"]


async def test_paused_queue_waits_for_the_user_after_a_change_of_the_session(stage):
    stage.open([turn_start("one"), failed_request(), turn_end(StopReason.ERROR)])
    stage.submit("one", "two")
    await stage.finish()
    assert stage.runner.queue.can_retry
    new = FakeSession(HELLO, workspace=stage.workspace)
    stage.runner.set_session(new)
    stage.runner.send_next()
    await stage.finish()
    queue = stage.runner.queue
    assert (queue.pause_reason, queue.can_retry) == ("the session changed", False)
    stage.runner.resume()
    await stage.finish()
    assert new.sent == ["two"]


# ── messages to the running turn ────────────────────────────────────────────────────────────────


class Busy:
    """A turn that takes messages at `tools`, and ends at `end`."""

    def __init__(self, stage, *after) -> None:
        self.stage, self.tools, self.end = stage, asyncio.Event(), asyncio.Event()
        script = [turn_start("one"), self.tools, TakeMessages(), self.end, *(after or HELLO[1:])]
        self.session = stage.open(script, HELLO)
        stage.submit("one")

    async def finish(self) -> None:
        self.tools.set()
        self.end.set()
        await self.stage.finish()

    @property
    def steered(self) -> list[str]:
        return [
            each.message.text for each in self.stage.display.shown if isinstance(each, TurnSteered)
        ]


async def let_run():
    for _ in range(20):
        await asyncio.sleep(0)


async def test_turn_takes_the_messages_for_it_after_its_tools_and_leaves_the_others(stage):
    busy = Busy(stage)
    stage.submit("three")
    stage.steer("two")
    stage.submit("/steer and this")
    assert (stage.steering, stage.queued) == (["two", "and this"], ["three"])
    busy.tools.set()
    await let_run()
    assert (busy.steered, stage.steering) == (["two", "and this"], [])
    await busy.finish()
    assert busy.session.sent == ["one", "three"]


async def test_messages_that_the_turn_did_not_take_are_sent_first_after_it(stage):
    busy = Busy(stage)
    busy.tools.set()
    await let_run()
    stage.submit("three")
    stage.steer("two")
    await busy.finish()
    assert busy.session.sent == ["one", "two", "three"] and busy.steered == []


async def test_steering_without_a_turn_sends_the_message(stage):
    session = stage.open()
    stage.steer("one")
    await stage.finish()
    assert session.sent == ["one"]


@pytest.mark.parametrize("text", ["/cost", "!ls"])
async def test_commands_are_never_given_to_the_turn(stage, text):
    busy = Busy(stage)
    stage.steer(text)
    assert stage.steering == []
    stage.runner.queue.waiting.clear()
    await busy.finish()


async def test_steering_without_text_takes_the_last_waiting_message(stage):
    busy = Busy(stage)
    stage.submit("two", "three", "/steer")
    assert (stage.steering, stage.queued) == (["three"], ["two"])
    await busy.finish()
    assert (busy.steered, busy.session.sent) == (["three"], ["one", "two"])


async def test_folded_paste_of_steer_is_given_in_full(stage):
    busy = Busy(stage)
    paste = "line\n" * 12
    stage.runner.submit(Draft("/steer see [Pasted text #1: 12 lines]\nand this", (paste,)))
    await busy.finish()
    assert busy.steered == [f"see {paste}\nand this"]


async def test_file_that_a_message_to_the_turn_mentions_is_attached(stage):
    (stage.workspace / "a.txt").write_text("a cat\n")
    busy = Busy(stage)
    stage.steer("look at @a.txt", "and @none.txt")
    await busy.finish()
    first, second = busy.steered
    assert first.startswith("look at @a.txt") and first.endswith("a cat\n")
    assert second == "and @none.txt"


async def test_message_that_the_turn_cannot_take_returns_to_the_prompt_with_the_reason(stage):
    busy = Busy(stage)
    stage.steer("@gpt look")
    assert stage.display.restored == [Draft("@gpt look")]
    assert stage.display.notes == [("warning", "The running turn stays with its model.")]
    await busy.finish()


async def test_message_that_was_delivered_but_not_stored_is_sent_after_the_turn(stage):
    session = stage.open([turn_start("one"), asyncio.Event(), ZeroDivisionError()], HELLO)
    stage.submit("one")
    stage.submit("three")
    stage.steer("two")
    await let_run()
    assert await session.steering() is not None  # the turn then fails to store the message
    stage.runner.stop()
    await stage.finish()
    assert stage.queued == ["two", "three"] and session.sent == ["one"]


async def test_messages_to_a_stopped_turn_wait_in_front_of_the_others(stage):
    busy = Busy(stage)
    stage.submit("three")
    stage.steer("two")
    await let_run()
    stage.runner.stop()
    await stage.finish()
    assert stage.runner.queue.pause_reason == "you stopped the turn"
    assert (stage.queued, stage.steering, busy.steered) == (["two", "three"], [], [])
    stage.runner.resume()
    await stage.finish()
    assert busy.session.sent == ["one", "two", "three"]


async def test_messages_to_a_failed_turn_wait_for_the_user(stage):
    busy = Busy(stage, failed_request(), turn_end(StopReason.ERROR))
    busy.tools.set()
    await let_run()
    stage.steer("two")
    await busy.finish()
    queue = stage.runner.queue
    assert (stage.queued, queue.pause_reason, queue.can_retry) == (["two"], "the turn failed", True)


async def test_messages_to_the_turn_go_to_the_next_session_if_it_was_stopped(stage):
    Busy(stage)
    stage.steer("two")
    await let_run()
    stage.runner.stop()
    await stage.finish()
    new = stage.open()
    assert stage.runner.queue.pause_reason == "the session changed"
    stage.runner.resume()
    await stage.finish()
    assert new.sent == ["two"]


# ── commands in the queue ───────────────────────────────────────────────────────────────────────


async def test_command_that_needs_the_end_of_the_turn_waits_in_order(stage):
    busy = Busy(stage)
    stage.submit("two", "/new", "three")
    assert stage.queued == ["two", "/new", "three"]
    await busy.finish()
    assert stage.display.commands == ["new"]
    assert busy.session.sent == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("command", "is_queued"),
    [
        ("/model gpt", True),
        ("/model -", True),
        ("/effort high", True),
        ("/model", False),
        ("/model show", False),
        ("/mode plan", False),
    ],
)
async def test_change_of_the_model_waits_behind_messages_for_the_old_one(stage, command, is_queued):
    busy = Busy(stage)
    stage.submit("two", command)
    assert (command in stage.queued) is is_queued
    await busy.finish()
    assert stage.display.commands == [command.split()[0][1:]]


async def test_change_of_the_model_runs_at_once_without_waiting_messages(stage):
    busy = Busy(stage)
    stage.submit("/model gpt")
    assert stage.queued == []
    await busy.finish()
    assert stage.display.commands == ["model"]


async def test_queued_command_that_opens_a_list_waits_for_an_empty_prompt(stage):
    busy = Busy(stage)
    stage.submit("/resume", "two")
    stage.display.prompt = "half a sent"
    await busy.finish()
    assert stage.runner.queue.pause_reason == "a command waits for an empty prompt"
    assert (stage.queued, stage.display.commands) == (["/resume", "two"], [])
    stage.display.prompt = ""
    stage.runner.resume()
    await stage.finish()
    assert stage.display.commands == ["resume"] and busy.session.sent == ["one", "two"]
