import pytest

from yourtool.messages.blocks import RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.tui.transcript.items import Item
from yourtool.tui.transcript.streaming_message import StreamingMessage

CALL = ToolUseBlock("tu_1", "shell", {"command": "make"})


@pytest.fixture
def items() -> list[Item]:
    return []


@pytest.fixture
def message(items):
    return StreamingMessage(items.append)


def no_calls(call):
    raise AssertionError(call)


def test_pieces_of_a_block_grow_one_item(message, items):
    first = message.append_reply(0, "so ")
    assert message.append_reply(0, "far") is first
    assert items == message.parts == [first]
    assert first.source == "so far" and first.is_streaming


def test_each_block_has_its_own_item(message, items):
    thought = message.append_reasoning(0, "because")
    before, after = message.append_reply(1, "one"), message.append_reply(2, "two")
    assert items == message.parts == [thought, before, after]


def test_skipped_blocks_are_hidden_reasoning(message, items):
    message.append_reply(1, "text")
    message.add_skipped_blocks(3)
    assert len(items) == 3 and items[1:2] == message.parts
    message.add_skipped_blocks(3)
    assert len(items) == 3


def test_final_content_replaces_the_streamed_text_in_place(message, items):
    thought, reply = message.append_reasoning(0, "be"), message.append_reply(1, "te")
    content = (ThinkingBlock("because"), TextBlock("text"))
    assert message.complete(content, no_calls) == [thought, reply] == items
    assert [item.source for item in items] == ["because", "text"]


def test_content_that_was_not_streamed_is_added_in_order(message, items):
    shown = []

    def show(call):
        shown.append((call, len(items)))

    content = (RedactedThinkingBlock("xx"), TextBlock("I look."), CALL, TextBlock("Done."))
    assert message.complete(content, show) == items[1:]
    assert [item.source for item in items] == ["", "I look.", "Done."]
    assert shown == [(CALL, 2)]


def test_content_can_be_completed_again(message, items):
    content = (ThinkingBlock("because"), TextBlock("text"), RedactedThinkingBlock("xx"))
    message.complete(content, no_calls)
    completed = list(items)
    message.complete(content, no_calls)
    assert items == completed


@pytest.mark.parametrize(("cancelled", "last"), [(False, "text"), (True, "(cancelled)")])
def test_end_finishes_the_open_parts(message, cancelled, last):
    thought, reply = message.append_reasoning(0, "because"), message.append_reply(1, "text")
    message.end(cancelled=cancelled)
    assert not thought.is_streaming and not reply.is_streaming
    assert reply.build(40)[-1].text.rstrip() == last
