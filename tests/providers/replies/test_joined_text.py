import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.events.deltas import TextDelta, TextEnd, TextStart, ThinkingDelta
from yourtool.interrupt import Interrupted
from yourtool.providers.replies.joined_text import join_text


def text(value, block=0, message="m"):
    return TextDelta(message_id=message, content_block_index=block, text=value)


def thought(value):
    return ThinkingDelta(message_id="m", content_block_index=0, text=value)


START = TextStart(message_id="m", content_block_index=0)
END = TextEnd(message_id="m", content_block_index=0, text="")
EVENTS = st.sampled_from(
    [START, END, thought("hm"), text("a"), text("b"), text("c", block=1), text("d", message="n")]
)


def test_consecutive_text_of_a_block_becomes_one_event():
    assert list(join_text([START, text("a"), text("b"), text("c"), END])) == [
        START,
        text("abc"),
        END,
    ]


@pytest.mark.parametrize("second", [text("b", block=1), text("b", message="n")])
def test_text_of_another_block_stays_a_separate_event(second):
    assert list(join_text([text("a"), second])) == [text("a"), second]


def test_single_text_is_the_same_event():
    only = text("a")
    assert next(iter(join_text([only]))) is only


@given(st.lists(EVENTS))
def test_other_events_and_all_text_keep_their_order(events):
    def letters(of):
        for event in of:
            if isinstance(event, TextDelta):
                yield from ((event.message_id, event.content_block_index, c) for c in event.text)
            else:
                yield event

    assert list(letters(join_text(events))) == list(letters(events))


@pytest.mark.parametrize("error", [ValueError("a bug"), Interrupted()])
def test_exception_follows_the_text_before_it(error):
    def events():
        yield text("a")
        yield text("b")
        raise error

    joined, found = join_text(events()), []
    with pytest.raises(type(error)):
        found.extend(joined)
    assert found == [text("ab")]


def test_nothing_is_read_ahead_of_an_event_that_is_not_text():
    read = []

    def events():
        for event in (START, text("a")):
            read.append(event)
            yield event

    assert next(join_text(events())) == START
    assert read == [START]
