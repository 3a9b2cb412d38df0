import logging
import os

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.exchanges import READ, request
from tests.providers.journeys import STATIONS, Session, encoded, problems
from tests.providers.rough import damaged, legal
from tests.strategies import histories
from yourtool.invariants import validate_session
from yourtool.messages import Role
from yourtool.providers.hygiene import view
from yourtool.providers.registry import BUILT_IN

MODELS = [station.model.id for station in STATIONS.values()]
PARTS = 4
EXAMPLES = int(os.environ.get("YOURTOOL_EXAMPLES", "2000"))
"""`YOURTOOL_EXAMPLES=10000 pytest tests/providers/test_swaps_everywhere.py` is the long run."""


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def test_every_dialect_of_the_registry_is_a_station():
    providers = {station.model.provider for station in STATIONS.values()}
    assert providers == {row.name for row in BUILT_IN if row.api != "scripted"}


@pytest.mark.parametrize("there", STATIONS)
@pytest.mark.parametrize("here", STATIONS)
async def test_a_rich_session_goes_there_and_back_r_swp_01_r_swp_03_r_can_07(here, there):
    session, first, second = Session(), STATIONS[here], STATIONS[there]
    await session.stay(first)
    before = session.body(first, session.history)
    await session.stay(second)
    away = session.body(second, session.history)
    back = session.body(first, session.history)
    await session.stay(first)
    assert session.problems == []
    turns = before[first.turns][:-1]
    assert len(turns) > 5
    assert back[first.turns][: len(turns)] == turns
    for secret in first.secrets():
        assert secret in encoded(back)
        assert (secret in encoded(away)) is (first is second)


@pytest.mark.parametrize("part", range(PARTS))
def test_any_history_whole_or_damaged_makes_a_valid_request_r_swp_02_r_loop_05(part):
    for seed in range(part, EXAMPLES, PARTS):
        station = list(STATIONS.values())[seed % len(STATIONS)]
        _check(damaged(seed, legal(seed, MODELS)), station, "text" if seed % 5 == 0 else "drop")


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(history=histories(max_turns=2), seed=st.integers(0, 2**32))
def test_any_drawn_history_makes_a_valid_request_for_every_dialect_r_swp_02(history, seed):
    for station in STATIONS.values():
        for aloud in ("drop", "text"):
            _check(damaged(seed, history), station, aloud)


def _check(messages, station, aloud):
    shown = view(messages, station.model, aloud)
    assert view(shown, station.model, aloud) == shown
    assert validate_session(shown) == []
    asked = request(station.model, shown, (READ,))
    posted = station.dialect().to_wire(asked).body
    if any(message.role is Role.USER for message in shown):
        assert problems(station, msgspec.json.decode(posted)) == []
    assert station.dialect().to_wire(asked).body == posted
