import itertools

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.exchanges import NAMES, complete, exchange, pieces, play
from tests.providers.rules import broken_rules

SHORT = ["anthropic-messages-f33dc675", "openai-chat-fae50610", "openai-compat-chat-892aa398"]
LONGEST = 60_000


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


@pytest.mark.parametrize("name", SHORT)
async def test_single_bytes_give_the_same_events(name):
    body = body_of(name)
    assert outcome(*await play(name, pieces(body, 1))) == outcome(*await play(name, [body]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
async def test_random_cuts_of_any_recorded_body_give_the_same_events(data):
    name = data.draw(st.sampled_from(NAMES))
    body = body_of(name)[:LONGEST]
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=20))
    edges = [0, *sorted(cuts), len(body)]
    chunks = [body[a:b] for a, b in itertools.pairwise(edges)]
    events, error = await play(name, chunks)
    assert broken_rules(events) == []
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
    assert broken_rules(events) == []
    if events and error is None:
        complete(events)
