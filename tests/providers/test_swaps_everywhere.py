import itertools
import logging
import random
from collections import Counter

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.providers.dialect_journeys import (
    RECORDED_SWAP_TARGETS,
    SWAP_TARGETS,
    Session,
    find_problems,
    to_json,
)
from tests.providers.histories import as_message
from tests.providers.random_conversations import (
    KINDS_OF_DAMAGE,
    SEALED,
    build_legal_history,
    damage_history,
    find_damage_kinds,
    marks,
    wire_ids,
)
from tests.providers.recorded_exchanges import (
    READ,
    Playback,
    collect_events,
    complete,
    exchange,
    recorded,
    request,
    sets,
)
from tests.strategies import Writer, examples, histories
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.messages.blocks import TextBlock, ToolResultBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import ReplyMessage, Role
from yourtool.messages.metadata import ResultMetadata
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import ForcedTool
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.provider_specs import BUILT_IN
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import WireAdapter
from yourtool.store.forks import with_new_ids

EITHER_SET = pytest.mark.parametrize(
    "stations",
    [pytest.param(SWAP_TARGETS, id="own"), recorded(RECORDED_SWAP_TARGETS, id="recorded")],
)
MODELS = [station.model.id for station in SWAP_TARGETS.values()]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}}
OWN_ONLY = {
    "anthropic-messages-93c7092e": "a server tool's result has a key newer than the types",
    "anthropic-messages-f69bac28": "begins with the result of a call in the message before",
    "anthropic-messages-continued": "begins with the result of a call in the message before",
    "anthropic-messages-continued-stream": "the same",
}
"""Recordings whose own leftovers the validator refuses when they go back alone."""
OPTIONS = (
    {},
    {"effort": "high", "temperature": 0.3},
    {"effort": "max", "tool_choice": ForcedTool("read_file")},
    {"effort": "off", "tool_choice": "any", "stop_sequences": ("a", " ", "", "b", "c", "d", "e")},
    {"tool_choice": "none", "output_schema": SCHEMA},
    {"effort": "minimal", "output_schema": SCHEMA, "max_output_tokens": 1},
    {"tools": ()},
)
PARTS, EXAMPLES = 10, 1_000
"""Ten thousand random histories, in parts that run side by side."""
FEW_EXAMPLES = 400
"""How many of them `make test` tries."""


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def test_every_dialect_of_the_registry_is_tested_with_swaps():
    providers = {station.model.provider for station in SWAP_TARGETS.values()}
    assert providers == {row.name for row in BUILT_IN if row.api != "scripted"}


@EITHER_SET
@pytest.mark.parametrize("there", SWAP_TARGETS)
@pytest.mark.parametrize("here", SWAP_TARGETS)
@pytest.mark.req("R-SWP-01", "R-SWP-03", "R-CAN-07")
@pytest.mark.sample(3)
async def test_session_with_all_content_swaps_to_any_dialect_and_back(
    here, there, stations, tmp_path
):
    session, first, second = Session(tmp_path), stations[here], stations[there]
    await session.run_turns(first)
    before = session.body(first, session.history)
    await session.run_turns(second)
    away = session.body(second, session.history)
    back = session.body(first, session.history)
    await session.run_turns(first)
    assert session.problems == []
    turns = before[first.turns][:-1]
    assert len(turns) > 5
    assert back[first.turns][: len(turns)] == turns
    for secret in first.secrets():
        assert secret in to_json(back)
        assert (secret in to_json(away)) is (first is second)


@pytest.mark.parametrize("names", sets())
@pytest.mark.parametrize("author", SWAP_TARGETS)
@pytest.mark.req("R-SWP-01")
async def test_every_recorded_reply_can_be_followed_in_every_dialect(author, names):
    for name in (name for name in names if author_of(name) == author and name not in OWN_ONLY):
        speaker = speaker_of(name)
        playback = Playback([exchange(name)["response"]["body"].encode()])
        adapter = WireAdapter(
            speaker.dialect(),
            playback,
            speaker.model.provider,
            timeouts=StreamTimeouts(linger=0.001),
        )
        outgoing = request(speaker.model)
        events, error = await collect_events(adapter, outgoing)
        if error is not None or exchange(name)["response"]["status"] != 200:
            continue
        history = _continue_from(complete(events), speaker.model)
        for station in (speaker, *(each for each in SWAP_TARGETS.values() if each is not speaker)):
            view = build_request_view(history, station.model)
            later = request(station.model, view, (READ,), tool_ids=outgoing.tool_ids, effort="high")
            posted = station.dialect().to_wire(later).body
            assert find_problems(station, msgspec.json.decode(posted)) == [], (name, station.api)


def author_of(name):
    """The station whose wire format a recording is in."""
    provider, api = exchange(name)["provider"], exchange(name)["api"]
    if provider in ("anthropic", "ollama", "openrouter"):
        return provider
    return "google" if provider == "gemini" else f"openai {api}"


def speaker_of(name):
    """That station; a server like OpenAI's accepts fields that OpenAI does not have."""
    station, provider = SWAP_TARGETS[author_of(name)], exchange(name)["provider"]
    if provider != "openai-compat":
        return station
    own = replace(station.model, id=f"{provider}:{station.model.wire_name}")
    return replace(station, model=own, api=(provider, station.api[1]))


def _continue_from(whole, model):
    """A history with the reply between prompts, and results for its calls."""
    writer = Writer()
    outgoing, said = writer.message(Role.USER, [TextBlock("?")]), as_message(whole, model, writer)
    answers = [
        writer.message(
            Role.TOOL,
            [ToolResultBlock(call.id, (TextBlock("x"),))],
            ResultMetadata(parent_tool_use_id=call.id),
        )
        for call in said.tool_uses
    ]
    return [outgoing, said, *answers, writer.message(Role.USER, [TextBlock("and?")])]


@EITHER_SET
@pytest.mark.parametrize("name", SWAP_TARGETS)
@pytest.mark.req("D4")
async def test_message_stored_without_a_wire_format_is_replayed(name, stations, tmp_path):
    session, station = Session(tmp_path), stations[name]
    await session.run_turns(station)
    assert session.body(station, [_unnamed(each) for each in session.history]) == session.body(
        station, session.history
    )
    assert session.problems == []


def _unnamed(message):
    """The message as it was stored before provider extras had a wire format."""
    if not isinstance(message, ReplyMessage) or (raw := message.metadata.provider_raw) is None:
        return message
    scope = {name: value for name, value in raw["scope"].items() if name != "api"}
    assert len(scope) == len(raw["scope"]) - 1
    metadata = replace(message.metadata, provider_raw={**raw, "scope": scope})
    return replace(message, metadata=metadata)


@EITHER_SET
@pytest.mark.parametrize("forked", SWAP_TARGETS)
@pytest.mark.req("R-PER-08")
async def test_request_of_a_fork_equals_that_of_its_original_in_every_dialect(
    forked, stations, tmp_path
):
    session, station = Session(tmp_path), stations[forked]
    await session.run_turns(station)
    fork = Session(tmp_path)
    fork.history, fork.ids = _copied(session)
    assert {call.id for each in fork.history for call in each.tool_uses}.isdisjoint(
        call.id for each in session.history for call in each.tool_uses
    )
    for other in stations.values():
        outgoing, original = (each.body(other, each.history) for each in (fork, session))
        if other.model.provider == station.model.provider:
            assert _without_generated_ids(outgoing, fork) == _without_generated_ids(
                original, session
            )
        for secret in station.secrets():
            assert (secret in to_json(outgoing)) is (other is station)
    await fork.run_turns(station)
    assert fork.problems == session.problems == []


def _copied(session):
    """The history and the ids of providers as a fork of the session has them."""
    known = session.ids.issued_id
    facts = [
        LlmCallCompleted(
            provider_tool_ids={
                call.id: wire
                for call in each.tool_uses
                if (wire := known(each.metadata.provider or "", call.id))
            },
            message=each,
            id=each.id,
            timestamp=each.created_at,
            session_id=each.session_id,
        )
        for each in session.history
    ]
    copies = with_new_ids(facts, "sess_00000000000000000000000002")
    ids = ToolIdMap(
        (ours, copy.provider, wire)
        for copy in copies
        for ours, wire in copy.provider_tool_ids.items()
    )
    return [copy.message for copy in copies], ids


def _without_generated_ids(body, session):
    text = to_json(body)
    for number, call in enumerate(call for each in session.history for call in each.tool_uses):
        text = text.replace(f"call_{call.id.removeprefix('tu_')}", f"call {number}")
    return text.replace(session.history[0].session_id, "session")


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.req("R-SWP-02", "R-LOOP-05")
def test_ten_thousand_valid_or_damaged_histories_give_valid_requests(part):
    _try_histories(part * EXAMPLES, EXAMPLES)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.req("R-SWP-02", "R-LOOP-05")
@pytest.mark.sample(2)
def test_any_valid_or_damaged_history_gives_a_valid_request(part):
    _try_histories(part * FEW_EXAMPLES, FEW_EXAMPLES)


def _try_histories(first, examples):
    damages = Counter()
    for seed in range(first, first + examples):
        draw = random.Random(f"request of {seed}")
        station = draw.choice([*SWAP_TARGETS.values()])
        authors = draw.choice((MODELS, [station.model.id]))
        history = build_legal_history(seed, authors)
        left = damage_history(seed, history)
        _check(
            left,
            _minimal_station(draw, station),
            draw.choice(("drop", "text")),
            draw.choice(OPTIONS),
        )
        damages.update({station.api, *find_damage_kinds(history, left)})
    assert len(damages) == len(SWAP_TARGETS) + len(KINDS_OF_DAMAGE)
    assert min(damages.values()) > examples / 20


def _minimal_station(draw, station):
    """The station, or one whose model can do nothing but talk."""
    if draw.random() < 0.7:
        return station
    return replace(station, model=replace(station.model, capabilities=AdapterCapabilities()))


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(history=histories(max_turns=2), seed=st.integers(0, 2**32))
@pytest.mark.req("R-SWP-02")
@pytest.mark.remaining
def test_any_generated_history_gives_a_valid_request_in_every_dialect(history, seed):
    for station in SWAP_TARGETS.values():
        for aloud in ("drop", "text"):
            _check(damage_history(seed, history), station, aloud, OPTIONS[seed % len(OPTIONS)])


def _check(messages, station, aloud, options):
    view = build_request_view(messages, station.model, aloud)
    assert build_request_view(view, station.model, aloud) == view
    assert validate_session(view) == []
    spoken = [message for message in view if message.role is not Role.SYSTEM]
    assert not spoken or spoken[0].role is Role.USER
    known = {"tools": (READ,), "tool_ids": ToolIdMap(wire_ids(messages))}
    outgoing = request(station.model, view, **{**known, **options})
    posted = station.dialect().to_wire(outgoing).body
    assert station.dialect().to_wire(outgoing).body == posted
    body = msgspec.json.decode(posted)
    if spoken:  # else nothing is sent: the loop refuses
        assert find_problems(station, body) == []
    sent_text = "".join(_words(body))
    assert [mark for mark in marks(messages) if mark not in sent_text] == []
    if station.model.id not in {
        each.metadata.model for each in messages if isinstance(each, ReplyMessage)
    }:
        assert not any(secret.encode() in posted for secret in SEALED)


def _words(body):
    """All texts of a body; a text with a signature in it is in parts."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        parts = (part for key, part in body.items() if key != "thoughtSignature")
        yield from itertools.chain.from_iterable(map(_words, parts))
    elif isinstance(body, list):
        yield from itertools.chain.from_iterable(map(_words, body))
