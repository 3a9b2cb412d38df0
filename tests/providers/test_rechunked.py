import itertools
import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.exchanges import NAMES, complete, exchange, expected, pieces, play
from tests.providers.rules import CONTRADICTION, broken_rules
from yourtool.errors import NetworkError
from yourtool.messages import StopReason


def traits(name):
    return set(exchange(name)["traits"])


SHORT = [
    "anthropic-messages-f33dc675",
    "openai-chat-fae50610",
    "openai-compat-chat-892aa398",
    "openai-responses-3fe252db",
    "ollama-chat-681d9b76",
    "gemini-generate-c1aa0e6b",
]
STREAMS = [
    name
    for name in NAMES
    if {"stream", "ndjson"} & traits(name)
    and not {"error_in_stream", "rs_error", "cut_stream"} & traits(name)
]
DOCUMENTS = [
    name
    for name in NAMES
    if "nonstream" in traits(name) and exchange(name)["response"]["status"] == 200
]
LONGEST = 60_000
SMALL = 20_000
MOST = 200


def body_of(name):
    return exchange(name)["response"]["body"].encode()


def outcome(events, error):
    """Everything but ids, which are ours and new each time, and times."""
    names = {}
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


@pytest.mark.parametrize("name", SHORT)
async def test_every_place_to_cut_gives_the_same_events(name):
    body = body_of(name)
    whole = outcome(*await play(name, [body]))
    for at in range(0, len(body), 3):
        assert outcome(*await play(name, [body[:at], body[at:]])) == whole


@pytest.mark.parametrize("name", NAMES)
async def test_single_bytes_of_any_recording_give_the_same_events(name):
    """Every boundary there is, all at once; the largest bodies in pieces of a prime length."""
    body = body_of(name)
    size = 1 if len(body) < SMALL else 7
    assert outcome(*await play(name, pieces(body, size))) == outcome(*await play(name, [body]))


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_document_cut_anywhere_is_an_error(name):
    body = body_of(name).rstrip()
    for end in range(0, len(body), max(1, len(body) // 12)):
        events, error = await play(name, [body[:end]])
        assert isinstance(error, NetworkError)
        assert not events or complete(events).stop_reason is StopReason.ERROR


@pytest.mark.parametrize("name", STREAMS)
async def test_a_stream_cut_after_any_event_is_an_error_until_all_was_said_r_adp_09(name):
    """Cut after every event; of the longest, after the first and last ones and some between."""
    body = body_of(name)
    ends = [found.end() for found in re.finditer(rb"\r?\n\r?\n|\n(?=\{)", body)]
    ends = ends if len(ends) <= MOST else [*ends[:10], *ends[10:-15:9], *ends[-15:]]
    whole_from = None
    for end in ends:
        events, error = await play(name, [body[:end]])
        assert set(broken_rules(events)) <= {CONTRADICTION}
        if error is None:
            whole_from = whole_from or end
            assert complete(events).stop_reason is not StopReason.ERROR
            assert complete(events).stop_detail == expected(name)["stop_reason"]
        else:
            assert whole_from is None
            assert error.error_class == "network"
            assert not events or complete(events).stop_reason is StopReason.ERROR
    assert (await play(name, [body]))[1] is None


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
async def test_random_cuts_of_any_recorded_body_give_the_same_events(data):
    name = data.draw(st.sampled_from(NAMES))
    body = body_of(name)[:LONGEST]
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=20))
    edges = [0, *sorted(cuts), len(body)]
    chunks = [body[a:b] for a, b in itertools.pairwise(edges)]
    events, error = await play(name, chunks)
    assert set(broken_rules(events)) <= {CONTRADICTION}
    assert outcome(events, error) == outcome(*await play(name, [body]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
async def test_damaged_bytes_give_a_valid_stream_or_an_error_of_ours(data):
    name = data.draw(st.sampled_from(NAMES))
    body = bytearray(body_of(name)[:LONGEST])
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    events, error = await play(name, [bytes(body)])
    assert set(broken_rules(events)) <= {CONTRADICTION}
    if events and error is None:
        complete(events)
