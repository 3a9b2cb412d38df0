"""Models that their provider stops offering."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, play
from yourtool.events.deltas import Notice
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.scripted import Scripted, says


def _ending(days: int, successor: str = "next-1"):
    end = datetime.now(UTC).date() + timedelta(days=days)
    return replace(MODEL, ends=end, successor=successor), end


def _texts(events):
    return [event.text for event in events if isinstance(event, Notice)]


@pytest.mark.parametrize(("days", "is_warned"), [(61, False), (60, True), (1, True)])
async def test_user_is_warned_once_from_60_days_before_a_model_ends(bench, days, is_warned):
    model, end = _ending(days)
    bench.catalogue = Catalogue([model, OTHER], "2026-01-01")
    session = await bench.session(Scripted([says("One."), says("Two.")]))
    texts = _texts([*await play(session.send("hello")), *await play(session.send("and now?"))])
    warning = f"`{model.id}` ends on {end}; `{model.provider}:next-1` replaces it"
    assert texts.count(warning) == is_warned
    await session.close()


@pytest.mark.parametrize("successor", ["next-1", ""])
async def test_default_model_that_has_ended_is_refused_with_its_replacement(bench, successor):
    model, end = _ending(0, successor)
    bench.catalogue = Catalogue([model, OTHER], "2026-01-01")
    adapter = Scripted([says("never")])
    session = await bench.session(adapter)
    texts = "\n".join(_texts(await play(session.send("hello"))))
    assert f"`{model.id}` ended on {end}" in texts
    assert (f"`{model.provider}:next-1` replaces it" in texts) == bool(successor)
    assert session.state.last_route.chain[-1].validation_failure == "ended"
    assert not adapter.requests
    await session.close()


async def test_model_that_has_ended_is_asked_with_a_warning_if_the_user_names_it(bench):
    model, end = _ending(-3)
    bench.catalogue = Catalogue([model, OTHER], "2026-01-01")
    adapter = Scripted([says("I still answer.")])
    session = await bench.session(adapter)
    await play(session.select_model(model.id))
    texts = _texts(await play(session.send("hello")))
    assert f"`{model.id}` ended on {end}; `{model.provider}:next-1` replaces it" in texts
    assert len(adapter.requests) == 1
    await session.close()
