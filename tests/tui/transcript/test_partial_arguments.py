"""The arguments of a call while they stream."""

import json
import re

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from tests.doubling import LINEAR, growth
from tests.tui.events import EventBuilder
from yourtool.events.deltas import ToolUseEnd, ToolUseInputDelta, ToolUseStart
from yourtool.messages.blocks import ToolUseBlock
from yourtool.tui.transcript.partial_arguments import PartialArguments
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import ToolCard

JSONISH = st.text(st.sampled_from([*'{}[]",:\\u0dD8e/n \n1x', "\ud83d", "é", "\x1b", "\x00"]))
TEXTS = st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=5)
EDIT = {
    "path": "tally.py",
    "edits": [{"old": "counts = {}\nfor word", "new": "counts = Counter()\nfor it\n  pass"}],
}


def read(*pieces):
    partial = PartialArguments()
    for piece in pieces:
        partial.feed(piece)
    return partial


def rows(partial, width=60):
    return [row.text for row in partial.rows(width)[0]]


def body(card, width=60):
    return [row.text for row in card.build(width)]


def streaming(name, *pieces):
    card = ToolCard(name)
    for piece in pieces:
        card.append_arguments(piece)
    return card


@pytest.mark.req("R-TUI-11")
def test_path_and_growing_change_are_shown():
    text = json.dumps(EDIT)
    cut = text.index("Counter") + 4
    card = streaming("edit_file", text[:30], text[30:cut])
    assert body(card) == [
        "Edit tally.py · writing, 2 lines",
        "│ − counts = {}",
        "│ − for word",
        "│ + counts = Coun",
    ]
    card.append_arguments(text[cut:])
    assert body(card)[-1] == "│ +   pass"


def test_command_is_shown_while_it_grows():
    card = streaming("shell", '{"comm', 'and": "git sta')
    assert body(card) == ["Run git sta · writing"]
    card.append_arguments("tus\\ngit diff")
    assert body(card) == [
        "Run git status … · writing, 2 lines (Ctrl+O)",
        "│ git status",
        "│ git diff",
    ]


def test_long_content_shows_its_end_and_counts_the_rest():
    lines = "".join(f"line {number}\n" for number in range(10_000))
    card = streaming("write_file", json.dumps({"path": "a.txt", "content": lines})[:-2])
    shown = body(card)
    assert shown[0] == "Write a.txt · writing, 10,001 lines"
    assert shown[1] == "│ … 9,992 more lines (Ctrl+O)"
    assert shown[-1] == "│ + line 9999"
    card.expand(True)
    assert 100 < len(body(card)) < 1_000


@pytest.mark.req("R-TUI-11")
def test_complete_call_replaces_the_streamed_arguments():
    session, ids = EventBuilder(), {"message_id": "m", "content_block_index": 0}
    call = ToolUseBlock("tu_1", "shell", {"command": "real"})
    timeline = Timeline()
    timeline.apply(ToolUseStart(tool_use_id=call.id, tool_name=call.name, **ids))
    delta = ToolUseInputDelta(tool_use_id=call.id, partial_json='{"command": "fal', **ids)
    timeline.apply(delta)
    [card] = timeline.items
    assert body(card) == ["Run fal · writing"]
    timeline.apply(ToolUseEnd(tool_use_id=call.id, final_input=call.input, **ids))
    assert body(card) == ["Run real · queued"]
    timeline.apply(delta)
    timeline.apply(session.reply(call))
    assert body(card) == ["Run real · queued"]
    timeline.apply(delta)
    timeline.apply(session.failed_request(cut_calls={call.id: call.name}))
    assert "writing" not in body(card)[0]


@given(st.lists(JSONISH))
@example(["{" * 100_000])
@example(['{"a":"\\u', "d83d", '\\ude00"}'])
@pytest.mark.req("R-TUI-07")
def test_any_text_is_read_and_never_controls_the_terminal(pieces):
    card = streaming("tool", *pieces)
    for expanded in (False, True):
        card.expand(expanded)
        assert not re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", "".join(body(card)))


@given(st.lists(JSONISH))
def test_arguments_can_be_split_anywhere(pieces):
    whole, partial = read("".join(pieces)), read(*pieces)
    assert (whole.values, whole.line_breaks) == (partial.values, partial.line_breaks)
    assert rows(whole) == rows(partial)


@given(TEXTS, st.integers(1, 9), st.booleans())
def test_complete_arguments_are_read_exactly(arguments, size, ascii_only):
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    partial = read(*(text[at : at + size] for at in range(0, len(text), size)))
    assert partial.values == {name: value for name, value in arguments.items() if value}


@pytest.mark.parametrize("unit", ["x", "\\n", "\\u00e9", '\\"', "line \\n"])
def test_cost_is_linear_in_the_length_of_the_arguments(unit):
    def arguments(size):
        text = '{"path": "a", "content": "' + unit * size
        return [text[at : at + 10] for at in range(0, len(text), 10)]

    def stream(pieces):
        card = streaming("write_file", *pieces)
        card.build(80)

    assert growth(stream, arguments) < LINEAR


def test_only_the_end_of_a_megabyte_is_stored():
    partial = read('{"content": "', *["x" * 10 for _ in range(100_000)])
    assert sum(len(piece) for _, _, piece in partial._tail) <= 4_200
    assert len(partial.values["content"]) == 1_000


def test_nested_names_belong_to_their_object():
    partial = read('{"edits": [{"old": "a"}, "b"], "path": "p"}')
    assert partial.values == {"path": "p"}
    assert rows(partial) == ["− a"]
