"""Verdicts on past turns, and figures of models in a workspace."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from tests.agent.harness import User, play
from tests.provider_server import ProviderServer, Reply
from yourtool.agent.commands.base import Choose
from yourtool.agent.commands.models import list_models
from yourtool.agent.route_preview import RoutePreview
from yourtool.agent.runtime import Runtime
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.events.turns import RouteDecided, RouteOverridden
from yourtool.extensions.lab.evaluation import (
    ModelFigures,
    PastTurn,
    Signals,
    evaluate,
    measure,
)
from yourtool.extensions.lab.past_turns import fold_turns, read_past_turns
from yourtool.extensions.lab.patterns import Fingerprint
from yourtool.paths import resolve_paths
from yourtool.settings.config import Mode, RunOptions
from yourtool.store.forks import fork

AT = datetime(2026, 11, 23, tzinfo=UTC)
GOOD, BAD = "mine:good", "mine:bad"
BROKEN_EDIT = ("edit_file", {"path": "notes.txt", "old": "no such text", "new": "x"})
EDIT = ("write_file", {"path": "out.txt", "content": "done\n"})


def past(model: str = GOOD, seconds: float = 10, cost: str | None = "0.02", **signals) -> PastTurn:
    return PastTurn(
        id=f"t{seconds}",
        session_id="s",
        at=AT,
        model=model,
        fingerprint=Fingerprint(),
        signals=Signals(**signals),
        seconds=seconds,
        cost_usd=None if cost is None else Decimal(cost),
    )


def score(**signals) -> float:
    return evaluate(Signals(**signals)).score


def test_turn_without_problems_has_the_highest_score():
    assert score(requests=3, calls=5, edits=2, is_followed=True) == 1


@pytest.mark.parametrize(
    ("signals", "most"),
    [
        ({"calls": 10, "failed_calls": 1}, 0.7),
        ({"is_undone": True}, 0.4),
        ({"is_retried": True}, 0.5),
        ({"is_interrupted": True}, 0.6),
        ({"has_error": True}, 0.2),
        ({"is_refusal": True}, 0.5),
        ({"is_empty": True}, 0.4),
        ({"is_cut_off": True}, 0.7),
        ({"calls": 30}, 0.9),
        ({"failed_requests": 2}, 0.8),
        ({"is_replaced": True}, 0.8),
    ],
)
def test_every_bad_sign_lowers_the_score(signals, most):
    assert score(**signals) == pytest.approx(most, abs=0.03)


_ANY = {
    each.name: st.booleans() if each.type is bool else st.integers(0, 50)
    for each in fields(Signals)
}


@given(st.builds(Signals, **_ANY))
def test_verdict_is_within_its_limits_and_an_undo_never_raises_the_score(signals):
    verdict = evaluate(signals)
    assert 0 <= verdict.score <= 1
    assert 0 <= verdict.confidence <= 1
    undone = evaluate(replace(signals, is_undone=True))
    assert undone.score <= verdict.score
    assert undone.confidence >= verdict.confidence


def test_turn_after_which_nothing_happened_is_the_least_certain():
    certainties = [
        evaluate(each).confidence
        for each in (
            Signals(),
            Signals(is_followed=True),
            Signals(has_error=True),
            Signals(is_undone=True),
        )
    ]
    assert certainties == sorted(certainties)
    assert past().to_outcome() is not None


@pytest.mark.req("R-RTE-15")
def test_figures_are_sums_and_means_of_the_turns_of_a_model():
    turns = [
        past(seconds=10, edits=3, failed_edits=1, failed_requests=1),
        past(seconds=20, edits=1, is_undone=True, is_retried=True),
        *[past(seconds=6) for _ in range(3)],
    ]
    found = measure([*turns, past(BAD, cost=None)])
    assert found[GOOD] == ModelFigures(
        turns=5,
        edits=4,
        failed_edits=1,
        retries=2,
        reverts=1,
        seconds=9.6,
        cost_usd=Decimal("0.02"),
    )
    assert found[GOOD].describe() == (
        "here 5 turns, 75 % of 4 edits, $0.0200 and 9.6 s each, 2 retried, 1 taken back"
    )
    assert found[BAD].cost_usd is None


def test_figures_of_few_turns_are_not_shown():
    assert measure([past()] * 4)[GOOD].describe() is None
    assert measure([past(cost=None)] * 5)[GOOD].describe() == "here 5 turns, 10 s each"


@dataclass
class Place:
    """A workspace with a provider that has two models."""

    runtime: Runtime
    server: ProviderServer
    workspace: Path

    async def talk(
        self, model: str | None, *prompts: tuple[str, list[Reply]]
    ) -> list[RouteDecided]:
        """Send prompts in a new session with their replies; return the routes."""
        session = await self.runtime.new_session(User(), model)
        routes = list[RouteDecided]()
        try:
            for prompt, replies in prompts:
                self.server.script = list(replies)
                events = await play(session.send(prompt))
                routes += [each for each in events if isinstance(each, RouteDecided)]
        finally:
            await session.close()
        return routes


@pytest.fixture
async def place(tmp_path, home):
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "notes.txt").write_text("one\n")
    with ProviderServer() as server:
        (home / "config.toml").write_text(
            f'model = "{BAD}"\n[providers.mine]\nbase_url = "{server.compatible_url}"\n'
            "[routing]\npatterns = true\nsurface_disagreement = true\n"
            "disagreement_confidence = 0.1\n"
        )
        (home / "models.toml").write_text(
            "".join(f'[models."{each}"]\nsupports_tools = true\n' for each in (GOOD, BAD))
        )
        options = RunOptions(workspace=workspace, mode=Mode.AUTO)
        runtime = await Runtime.open(resolve_paths(), options)
        yield Place(runtime, server, workspace)
        await runtime.close()


def good_turn(prompt: str):
    return prompt, [Reply(calls=[EDIT]), Reply("I changed the file.")]


def bad_turn(prompt: str):
    return prompt, [Reply(calls=[BROKEN_EDIT]), Reply("I cannot do this.")]


async def test_stored_turns_are_folded_with_their_signals(place):
    await place.talk(GOOD, good_turn("fix the parser"), bad_turn("explain the tests"))
    last, first = await read_past_turns(place.runtime.store, str(place.workspace))
    assert (first.model, last.model) == (GOOD, GOOD)
    assert first.signals == Signals(requests=2, calls=1, edits=1, is_followed=True)
    assert last.signals == Signals(
        requests=2,
        calls=1,
        failed_calls=1,
        edits=1,
        failed_edits=1,
        is_refusal=True,
        is_followed=True,  # by the end of the session
    )
    assert first.fingerprint.intents == {"debug"}
    assert last.fingerprint.extensions == {".txt"}
    assert first.cost_usd is None
    assert await read_past_turns(place.runtime.store, "/elsewhere") == ()


@pytest.mark.remaining
async def test_undo_redo_and_retry_are_signals_of_the_turn_before(place):
    session = await place.runtime.new_session(User(), GOOD)
    place.server.script = [Reply(calls=[EDIT]), Reply("Done."), Reply("Again.")]
    await play(session.send("fix the parser"))

    async def fold():
        return fold_turns(await place.runtime.store.read(session.id), str(place.workspace))

    await play(session.files.undo())
    assert [each.signals.is_undone for each in await fold()] == [True]
    await play(session.files.redo())
    assert [each.signals.is_undone for each in await fold()] == [False]
    await play(session.retry())
    await session.close()
    first, again = await fold()
    assert (first.signals.is_retried, again.signals.is_retried) == (True, False)
    assert again.fingerprint.words == first.fingerprint.words


async def test_turns_that_a_fork_copied_count_once(place):
    await place.talk(GOOD, good_turn("fix the parser"))
    [summary] = await place.runtime.store.list(str(place.workspace))
    await fork(place.runtime.store, summary.id)
    assert len(await read_past_turns(place.runtime.store, str(place.workspace))) == 1


async def learn(place: Place) -> None:
    """Store six good turns of one model, and four bad ones of the other."""
    await place.talk(GOOD, *[good_turn(f"fix parser bug {number}") for number in range(6)])
    await place.talk(BAD, *[bad_turn(f"fix parser bug {number}") for number in range(4)])


@pytest.mark.req("R-RTE-15")
@pytest.mark.remaining
async def test_past_turns_choose_the_model_with_figures_in_the_reason(place):
    [first] = await place.talk(None, ("fix parser bug 0", [Reply("Fine.")]))
    assert first.chosen_model == BAD
    assert "no past turns" in first.chain[3].reason
    await learn(place)
    [route] = await place.talk(None, ("fix parser bug 7", [Reply("Fine.")]))
    assert route.chosen_model == GOOD
    step = route.chain[route.winner_index]
    assert (step.policy, step.verdict) == ("pattern", "chose")
    assert step.confidence is not None
    assert step.confidence > 0.3
    assert [each.model for each in step.pattern_alternatives] == [GOOD, BAD]
    assert re.match(
        r"score 0\.9\d in \d similar turns, confidence 0\.\d+; next `mine:bad` [\d.]+ in \d;"
        r" here 6 turns, 100 % of 6 edits, .* each",
        step.reason,
    )


async def test_turns_of_the_running_session_count_at_once(place):
    routes = await place.talk(GOOD, *[good_turn(f"fix parser bug {number}") for number in range(5)])
    assert {each.chain[-1].policy for each in routes} == {"manual_sticky"}
    session = await place.runtime.new_session(User())
    for reply in (Reply("1"), Reply("2")):
        place.server.script = [reply]
        await play(session.send("fix parser bug"))
    assert session.state.last_model == GOOD
    assert session.state.last_route is not None
    assert "in 6 similar turns" in session.state.last_route.chain[-1].reason
    await session.close()


@pytest.mark.req("R-RTE-15")
@pytest.mark.remaining
async def test_rule_wins_and_the_disagreement_is_shown_answered_and_hidden(place, home):
    await learn(place)
    (home / "routing.toml").write_text(f'[[rules]]\nwhen = {{}}\nuse = "{BAD}"\n')
    session = await place.runtime.new_session(User())

    async def send() -> tuple[RouteDecided, list[str]]:
        place.server.script = [Reply("Fine.")]
        events = await play(session.send("fix parser bug 8"))
        [route] = [each for each in events if isinstance(each, RouteDecided)]
        return route, [each.text for each in events if isinstance(each, Notice)]

    route, notices = await send()
    assert route.chosen_model == BAD
    assert [each.verdict for each in route.chain[-2:]] == ["chose", "deferred"]
    assert any("/route override" in each for each in notices)
    events = await play(session.models.override_route())
    assert any(isinstance(each, RouteOverridden) for each in events)
    route, _ = await send()
    assert (route.chosen_model, len(route.chain)) == (GOOD, 2)
    with pytest.raises(UsageError, match="recommend no other model"):
        await play(session.models.dismiss_advice())
    await play(session.select_model(None))
    route, _ = await send()
    assert route.chain[-1].verdict == "deferred"
    await play(session.models.dismiss_advice())
    route, _ = await send()
    assert route.chain[-1].verdict == "chose"
    await session.close()


@pytest.mark.remaining
async def test_preview_has_the_recommendation_and_without_consent_there_is_none(place, home):
    await learn(place)
    preview = await RoutePreview.open(place.runtime)
    assert preview.decide("fix parser bug 9").chosen_model == GOOD
    file = home / "config.toml"
    file.write_text(file.read_text().replace("patterns = true", "patterns = false"))
    other = await Runtime.open(resolve_paths(), RunOptions(workspace=place.workspace))
    decided = (await RoutePreview.open(other)).decide("fix parser bug 9")
    await other.close()
    assert (decided.chosen_model, decided.chain[3].reason) == (BAD, "learned routing is off")


@pytest.mark.remaining
async def test_picker_shows_the_figures_of_models_with_enough_turns(place):
    await learn(place)
    session = await place.runtime.new_session(User())
    async for result in list_models(session, place.runtime, ""):
        assert isinstance(result, Choose)
        rows = result.choices if result.update is None else await result.update
        details = {row.value: row.detail for row in rows}
        assert "here 6 turns, 100 % of 6 edits" in details[GOOD]
        assert "here " not in details[BAD]
    await session.close()


@pytest.mark.req("R-RTE-15")
async def test_configured_model_judges_turns_and_its_verdict_changes_what_is_learned(place, home):
    file = home / "config.toml"
    file.write_text(file.read_text().replace("[routing]\n", f'[routing]\njudge = "{BAD}"\n'))
    options = RunOptions(workspace=place.workspace, mode=Mode.AUTO, interactive=True)
    runtime = await Runtime.open(resolve_paths(), options)
    session = await runtime.new_session(User(), GOOD)
    verdict = '{"score": 0.0, "confidence": 1.0, "reason": "It is not done."}'
    place.server.script = [Reply("Done."), Reply(verdict)]
    await play(session.send("fix the parser"))
    await session.judge.wait()
    assert session.judge.describe() == [f"Judged by {BAD}: 0.00, confidence 1.00: It is not done."]
    await session.close()
    [turn] = await read_past_turns(runtime.store, str(place.workspace))
    outcome = turn.to_outcome()
    await runtime.close()
    assert turn.judged is not None
    assert (turn.judged.score, turn.judged.confidence) == (0, 1)
    assert outcome is not None
    assert outcome.score < 0.5
    assert len(place.server.requests) == 2
