"""What of a reply is stored while it streams."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.agent.harness import play
from tests.store.turns import FactBuilder, reply_metadata
from yourtool.agent.turn.checkpoints import Checkpoints
from yourtool.events.deltas import MessageStart, TextDelta, ThinkingDelta
from yourtool.messages.blocks import TextBlock, ThinkingBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import MessageStatus
from yourtool.providers.scripted import Scripted, says


class Log:
    """Collects checkpoints in place of a recorder."""

    def __init__(self):
        self.stored = []

    async def checkpoint(self, end):
        self.stored.append(end)


def text(piece, index=0):
    return TextDelta(message_id="m", content_block_index=index, text=piece)


@pytest.fixture
def log():
    return Log()


def start(log, seconds=0.0):
    checkpoints = Checkpoints(log, lambda partial: partial, seconds)
    checkpoints.start(100)
    checkpoints.add(MessageStart(message_id="m", model="a:b"))
    return checkpoints


async def test_checkpoint_has_all_blocks_that_arrived_and_estimated_tokens(log):
    checkpoints = start(log)
    checkpoints.add(ThinkingDelta(message_id="m", content_block_index=0, text="Let me"))
    checkpoints.add(ThinkingDelta(message_id="m", content_block_index=0, text=" see."))
    checkpoints.add(text("The tide ", 1))
    checkpoints.add(text("is high.", 1))
    await asyncio.sleep(0.01)
    [partial] = log.stored
    assert partial.final_content == (ThinkingBlock("Let me see."), TextBlock("The tide is high."))
    assert (partial.usage.input_tokens, partial.usage.output_tokens) == (100, 7)
    assert partial.usage.estimated
    await checkpoints.stop()


async def test_nothing_is_stored_without_new_text_or_after_the_end(log):
    checkpoints = start(log)
    await asyncio.sleep(0.01)
    assert log.stored == []
    checkpoints.add(text("a"))
    await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)
    assert len(log.stored) == 1
    checkpoints.add(text("b"))
    await checkpoints.stop()
    await asyncio.sleep(0.01)
    assert len(log.stored) == 1


async def test_text_of_an_attempt_that_failed_is_not_part_of_the_next_one(log):
    checkpoints = start(log)
    checkpoints.add(text("lost"))
    checkpoints.add(MessageStart(message_id="n", model="a:b"))
    checkpoints.add(text("kept"))
    await asyncio.sleep(0.01)
    assert [(each.message_id, each.final_content) for each in log.stored] == [
        ("n", (TextBlock("kept"),))
    ]
    await checkpoints.stop()


async def open_turn(bench, *texts):
    """Store a turn whose process died in its first request, with checkpoints of the reply."""
    builder = FactBuilder(workspace=str(bench.workspace))
    await bench.store.append(
        builder.session_start(), builder.turn_start(), builder.route(), builder.request()
    )
    metadata = replace(reply_metadata(), status=MessageStatus.PARTIAL)
    for each in texts:
        message = builder.message(Role.ASSISTANT, [TextBlock(each)], metadata)
        await bench.store.save_partial(builder.broken(None, message))
    return builder


@pytest.mark.req("R-PER-02")
async def test_part_of_a_reply_of_a_dead_process_is_in_the_resumed_session(bench):
    builder = await open_turn(bench, "The tide", "The tide is")
    adapter = Scripted([says("Yes.")])
    again = await bench.session(adapter, resume=builder.session_id)
    part = again.state.messages[-1]
    assert (part.text, part.metadata.status) == ("The tide is", MessageStatus.CANCELLED)
    await play(again.send("and now?"))
    assert "The tide is" in [message.text for message in adapter.requests[0].messages]
    await again.close()
    third = await bench.session(Scripted([says("Yes.")]), resume=builder.session_id)
    assert [each.text for each in third.state.messages].count("The tide is") == 1
    await third.close()


async def test_checkpoint_of_a_call_that_has_ended_is_ignored(bench):
    builder = await open_turn(bench)
    reply = builder.reply(TextBlock("The tide is high."))
    await bench.store.append(reply)
    metadata = replace(reply_metadata(), status=MessageStatus.PARTIAL)
    late = replace(reply.message, content=(TextBlock("The"),), metadata=metadata)
    await bench.store.save_partial(builder.broken(None, late))
    again = await bench.session(Scripted([]), resume=builder.session_id)
    assert [each.text for each in again.state.messages[1:]] == ["The tide is high."]
    await again.close()
