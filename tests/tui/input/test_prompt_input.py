"""What Enter and Up do with the prompt, without a screen."""

import asyncio
import contextlib
import threading
import time

import pytest

from tests.tui.input.test_turn_runner import Busy, Stage
from yourtool.tui.input import prompt_history
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.prompt_history import PromptHistory
from yourtool.tui.input.prompt_input import PromptInput


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


async def test_accepted_prompts_are_recalled_and_invalid_ones_stay(stage, tmp_path):
    warnings: list[str] = []
    prompt_input = PromptInput(stage.runner, warnings.append)
    await prompt_input.open_history(tmp_path / "state", tmp_path)
    session = stage.open()
    assert prompt_input.accepts(Draft("one"))
    prompt_input.submit(Draft("one"))
    assert not prompt_input.accepts(Draft("/unknown"))
    assert len(warnings) == 1
    await stage.finish()
    assert session.sent == ["one"]
    prompt_input.close()
    assert prompt_input.recall(-1, Draft("half")) == Draft("one")
    assert prompt_input.recall(1, Draft("one")) == Draft("half")
    prompt_input.close()


async def test_up_takes_the_last_queued_message_back_first(stage):
    stage.runner.enter = "queue"
    prompt_input = PromptInput(stage.runner, lambda _: None)
    for text in ("one", "two"):
        prompt_input.submit(Draft(text))
    assert prompt_input.recall(-1, Draft()) == Draft("two")
    assert stage.queued == ["one"]


@pytest.fixture
async def busy(stage):
    """A running turn, with three messages that wait for it and two for its end."""
    busy = Busy(stage)
    stage.runner.enter = "queue"
    prompt_input = PromptInput(stage.runner, lambda _: None)
    for text in ("a", "b", "c"):
        prompt_input.submit(Draft(text), way="steer")
    for text in ("x", "y", "z"):
        prompt_input.submit(Draft(text))
    return stage, prompt_input, busy


@pytest.mark.parametrize("at", range(6))
async def test_edited_message_returns_to_its_place(busy, at):
    stage, prompt_input, turn = busy
    entries = stage.runner.queue.entries
    draft = prompt_input.edit(entries[at])
    assert draft == entries[at].draft and len(stage.runner.queue) == 5
    prompt_input.submit(Draft(f"{draft.text}!"))
    expected = [*"abcxyz"]
    expected[at] += "!"
    assert stage.steering + stage.queued == expected
    prompt_input.submit(Draft("new"))
    assert stage.queued[-1] == "new"
    await turn.finish()


async def test_edited_message_returns_to_its_place_after_the_end_of_its_turn(busy):
    stage, prompt_input, _ = busy
    for at in (1, 3):
        draft = prompt_input.edit(stage.runner.queue.entries[at])
        if at == 1:
            stage.runner.stop()
            await stage.finish()
        prompt_input.submit(draft)
        assert stage.queued == [*"abcxyz"]


async def test_edited_message_can_go_to_the_other_list(busy):
    stage, prompt_input, turn = busy
    prompt_input.submit(prompt_input.edit(stage.runner.queue.waiting[0]), way="steer")
    assert (stage.steering, stage.queued) == ([*"abcx"], [*"yz"])
    await turn.finish()


async def test_first_message_of_a_paused_queue_is_sent_when_it_was_edited(busy):
    stage, prompt_input, turn = busy
    stage.runner.stop()
    await stage.finish()
    prompt_input.submit(prompt_input.edit(stage.runner.queue.entries[2]))
    assert turn.session.sent == ["one"]
    prompt_input.submit(prompt_input.edit(stage.runner.queue.entries[0]))
    await stage.finish()
    assert turn.session.sent == ["one", *"abcxyz"]


async def test_message_typed_after_the_edited_one_was_cleared_is_a_new_one(busy):
    stage, prompt_input, turn = busy
    prompt_input.edit(stage.runner.queue.waiting[0])
    prompt_input.forget_edited()
    prompt_input.submit(Draft("new"))
    assert stage.queued == ["y", "z", "new"]
    await turn.finish()


async def test_a_slow_disk_with_earlier_prompts_does_not_block_the_keys(
    stage, tmp_path, monkeypatch
):
    threads, read, claim = [], PromptHistory._read, PromptHistory.claim_draft

    def note(call, history):
        threads.append(threading.current_thread())
        return call(history)

    monkeypatch.setattr(PromptHistory, "_read", lambda history: note(read, history))
    monkeypatch.setattr(PromptHistory, "claim_draft", lambda history: note(claim, history))
    prompt_input = PromptInput(stage.runner, print)
    await prompt_input.open_history(tmp_path / "state", tmp_path)
    prompt_input.close()
    assert len(threads) == 2
    assert threading.main_thread() not in threads


@pytest.fixture
def slow_draft(monkeypatch):
    """Reading the draft takes a moment, in which the thread has its lock already."""
    read, is_reading = prompt_history._read_draft, threading.Event()

    def read_slowly(file):
        is_reading.set()
        time.sleep(0.2)
        return read(file)

    monkeypatch.setattr(prompt_history, "_read_draft", read_slowly)
    return is_reading


async def test_quitting_while_the_draft_of_an_earlier_run_is_read_leaves_it(
    stage, tmp_path, slow_draft
):
    first = PromptInput(stage.runner, print)
    await first.open_history(tmp_path / "state", tmp_path)
    first.save(Draft("important"))
    first.close()
    slow_draft.clear()
    second = PromptInput(stage.runner, print)
    opening = asyncio.create_task(second.open_history(tmp_path / "state", tmp_path))
    await asyncio.to_thread(slow_draft.wait)
    second.save(Draft("typed meanwhile"))
    second.save(Draft())
    opening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await opening
    second.close()
    third = PromptInput(stage.runner, print)
    assert (await third.open_history(tmp_path / "state", tmp_path)).text == "important"
    third.close()


async def test_prompts_of_the_start_are_recalled_in_their_order(stage, tmp_path, slow_draft):
    prompt_input = PromptInput(stage.runner, print)
    prompt_input.submit(Draft("one"))
    opening = asyncio.create_task(prompt_input.open_history(tmp_path / "state", tmp_path))
    await asyncio.to_thread(slow_draft.wait)
    prompt_input.submit(Draft("two"))
    await opening
    assert [each.text for each in prompt_input.entries or ()] == ["one", "two"]
    prompt_input.close()
