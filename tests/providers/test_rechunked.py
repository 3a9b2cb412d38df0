import itertools
from functools import cache

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.recorded_exchanges import (
    NAMES,
    cases,
    complete,
    dialect_of,
    exchange,
    expected,
    model,
    pieces,
    play,
    request,
    sets,
)
from tests.providers.stream_rules import CONTRADICTION, broken_rules
from tests.strategies import examples
from yourtool.errors import NetworkError
from yourtool.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from yourtool.messages.metadata import StopReason
from yourtool.providers.replies.joined_text import join_text


def traits(name):
    return set(exchange(name)["traits"])


SHORT = [
    "anthropic-messages-call-stream",
    "openai-chat-parallel-calls-stream",
    "openai-compat-chat-token-limit-in-call-stream",
    "openai-responses-token-limit-stream",
    "ollama-chat-parallel-calls-stream",
    "gemini-generate-call-stream",
    "openrouter-chat-token-limit-stream",
    "anthropic-messages-f33dc675",
    "openai-chat-fae50610",
    "openai-compat-chat-892aa398",
    "openai-responses-3fe252db",
    "ollama-chat-681d9b76",
    "gemini-generate-c1aa0e6b",
]
STREAMS = [name for name in NAMES if {"stream", "ndjson"} & traits(name)]
FAILING = [name for name in STREAMS if {"error_in_stream", "rs_error", "cut_stream"} & traits(name)]
DOCUMENTS = [
    name
    for name in NAMES
    if "nonstream" in traits(name) and exchange(name)["response"]["status"] == 200
]
LONGEST = 60_000


def body_of(name):
    return exchange(name)["response"]["body"].encode()


@cache
def framing_of(name):
    """What makes the framing with which the adapter reads a recording."""
    return dialect_of(name).to_wire(request(model(exchange(name)["provider"]))).framing


def frames(name, *chunks):
    """All that a dialect gets to see of a body that comes in these chunks."""
    framing = framing_of(name)()
    found = [frame for chunk in chunks for frame in framing.feed(chunk)]
    return found + framing.end(), framing.document


@cache
def ends_of_events(name):
    """How many bytes of a stream had come when another of its events was whole."""
    body, framing = body_of(name), framing_of(name)()
    return [at for at in range(1, len(body) + 1) if framing.feed(body[at - 1 : at])]


def outcome(events, error):
    """Everything but ids, which are ours and new each time, times, and the pieces of a text.

    Pieces that arrive together are one event.
    """
    names, events = {}, list(join_text(events))
    for event in events:
        if use_id := getattr(event, "tool_use_id", None):
            names.setdefault(use_id, f"call {len(names)}")
    plain = msgspec.json.encode([msgspec.to_builtins(event) for event in events]).decode()
    for use_id, name in names.items():
        plain = plain.replace(use_id, name)
    raw = msgspec.json.decode(plain)
    for event in raw:
        event.pop("latency_ms", None)
    return raw, type(error), str(error)


@pytest.mark.parametrize("name", cases(NAMES))
@pytest.mark.sample(3)
def test_body_cut_at_any_byte_has_the_same_frames(name):
    """A dialect is given frames and never bytes, so equal frames are equal replies.

    Of a stream there are the event that is cut and the ones before and after it.
    """
    body = body_of(name)
    inner = ends_of_events(name) if name in STREAMS else []
    edges = sorted({0, *inner, len(body)})
    for number, (begin, end) in enumerate(itertools.pairwise(edges)):
        before, after = edges[max(0, number - 1)], edges[min(number + 2, len(edges) - 1)]
        part = body[before:after]
        uncut = frames(name, part)
        for at in range(begin - before + 1, end - before + 1):
            assert frames(name, part[:at], part[at:]) == uncut


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", cases(SHORT))
async def test_body_cut_at_any_byte_gives_the_same_events(name, step):
    body = body_of(name)
    uncut = outcome(*await play(name, [body]))
    for at in range(1, len(body), step):
        assert outcome(*await play(name, [body[:at], body[at:]])) == uncut


@pytest.mark.parametrize("name", cases(NAMES))
@pytest.mark.sample(3)
async def test_single_bytes_of_any_recording_give_the_same_events(name):
    body = body_of(name)
    assert outcome(*await play(name, pieces(body, 1))) == outcome(*await play(name, [body]))


@pytest.mark.parametrize("name", cases(DOCUMENTS))
@pytest.mark.sample(3)
async def test_truncated_document_is_an_error(name):
    body = body_of(name).rstrip()
    for end in range(0, len(body), max(1, len(body) // 12)):
        events, error = await play(name, [body[:end]])
        assert isinstance(error, NetworkError)
        assert not events or complete(events).stop_reason is StopReason.ERROR


@pytest.mark.blocks_loop("every prefix of a long stream arrives as one piece")
@pytest.mark.parametrize("name", cases(STREAMS))
@pytest.mark.req("R-ADP-09")
@pytest.mark.sample(3)
async def test_stream_truncated_after_any_event_is_an_error_until_it_is_complete(name):
    body, is_complete = body_of(name), False
    uncut, failure = await play(name, [body])
    contradicts = CONTRADICTION in broken_rules(uncut)
    for end in [0, *ends_of_events(name), len(body)]:
        events, error = await play(name, [body[:end]])
        assert set(broken_rules(events)) <= {CONTRADICTION}
        assert not events or contradicts or is_valid_prefix(events, uncut)
        if error is None:
            is_complete = True
            assert complete(events).stop_reason is not StopReason.ERROR
            assert complete(events).stop_detail == expected(name)["stop_reason"]
        else:
            assert not events or complete(events).stop_reason is StopReason.ERROR
            is_cut = error.error_class == "network" and not is_complete
            assert is_cut or str(error) == str(failure)
    assert (failure is not None) is (name in FAILING)
    assert str(error) == str(failure)


def is_valid_prefix(events, uncut):
    """Return whether events are a prefix of the others, and no incomplete call can run."""
    part, later_blocks = complete(events), complete(uncut).final_content
    for block, later in itertools.zip_longest(part.final_content, later_blocks):
        match block:
            case TextBlock(text) | ThinkingBlock(text):
                if type(later) is not type(block) or not later.text.startswith(text):
                    return False
            case ToolUseBlock(use_id) if use_id not in part.tool_input_errors:
                if (block.name, block.input) != (later.name, later.input):
                    return False
            case _:
                pass
    return True


@pytest.mark.parametrize("names", sets())
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
async def test_random_chunks_of_any_recorded_body_give_the_same_events(names, data):
    name = data.draw(st.sampled_from(names))
    body = body_of(name)[:LONGEST]
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=20))
    edges = [0, *sorted(cuts), len(body)]
    chunks = [body[a:b] for a, b in itertools.pairwise(edges)]
    events, error = await play(name, chunks)
    assert set(broken_rules(events)) <= {CONTRADICTION}
    assert outcome(events, error) == outcome(*await play(name, [body]))


@pytest.mark.parametrize("names", sets())
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
async def test_damaged_bytes_give_a_valid_stream_or_a_typed_error(names, data):
    name = data.draw(st.sampled_from(names))
    body = bytearray(body_of(name)[:LONGEST])
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    events, error = await play(name, [bytes(body)])
    assert set(broken_rules(events)) <= {CONTRADICTION}
    if events and error is None:
        complete(events)
