"""The model that judges turns after their end, within its limits."""

import json
from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, play
from yourtool.agent.money.budgets import Budgets, JudgeBudget
from yourtool.agent.session.judging import INSTRUCTIONS, JUDGEMENT
from yourtool.errors import AuthError
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from yourtool.events.turns import TurnEvaluated, TurnStarted
from yourtool.providers.scripted import Scripted, fails, says
from yourtool.settings.agent_config import BudgetConfig, RoutingConfig

CONFIG = RoutingConfig(judge=OTHER.id, judge_max_call_usd=Decimal(1), judge_max_day_usd=Decimal(1))
GOOD = says(json.dumps({"score": 0.25, "confidence": 0.9, "reason": "It edits\x1b[2J nothing."}))
NONSENSE = says("Splendid!")


async def open_session(bench, *replies, config=CONFIG, **settings):
    adapter = Scripted(replies)
    settings["judge_budget"] = JudgeBudget(config=config, store=bench.store)
    return adapter, await bench.session(adapter, settings=settings)


async def send(session, text="fix the parser"):
    events = await play(session.send(text))
    await session.judge.wait()
    return events


async def facts_of(bench, session, *kinds):
    return [fact for fact in await bench.store.read(session.id) if isinstance(fact, kinds)]


@pytest.mark.req("R-RTE-15")
async def test_turn_is_judged_after_its_end_and_the_result_is_stored_and_shown(bench):
    adapter, session = await open_session(bench, says("Fixed."), GOOD, says("Again."))
    before = session._env.spending.limit_reached
    await send(session)
    [route_turn] = [fact.turn_id for fact in await facts_of(bench, session, LlmCallCompleted)][:1]
    [found] = await facts_of(bench, session, TurnEvaluated)
    assert (found.evaluated_turn, found.source, found.model) == (route_turn, "judge", OTHER.id)
    assert (found.score, found.confidence, found.requests) == (0.25, 0.9, 1)
    assert "\x1b" not in found.reason
    judged = adapter.requests[1]
    assert judged.model.id == OTHER.id
    assert judged.model.capabilities.max_output_tokens == 1_000
    assert judged.tools == ()
    text = judged.messages[-1].text
    assert text.startswith(INSTRUCTIONS) and "fix the parser" in text and "Fixed." in text
    ended = (await facts_of(bench, session, LlmCallCompleted))[1]
    assert (ended.purpose, ended.turn_id) == (JUDGEMENT, None)
    assert found.cost_usd == ended.usage.cost_usd > 0
    assert session.state.cost_usd == session._env.spending.budgets.session_cost
    assert [each.text for each in session.state.messages] == ["fix the parser", "Fixed."]
    shown = session.explain()
    assert shown[-1].startswith(f"Judged by {OTHER.id}: 0.25, confidence 0.90: It edits")
    assert len(shown) <= 12
    assert session._env.spending.limit_reached == before
    past_turns = pytest.importorskip("yourtool.extensions.lab.past_turns")
    [turn] = await past_turns.read_past_turns(bench.store, str(bench.workspace))
    assert turn.judged is not None
    outcome = turn.to_outcome()
    assert outcome is not None
    assert outcome.score == pytest.approx((1 * 0.5 + 0.25 * 0.9) / 1.4, abs=1e-4)
    await session.close()


@pytest.mark.parametrize(
    ("replies", "requests", "reason"),
    [
        ((NONSENSE, NONSENSE), 2, "replied in another form"),
        ((fails(AuthError("no key")),), 1, "no key"),
        ((says('{"score": 7, "confidence": 1}'), says("{}")), 2, "replied in another form"),
    ],
)
async def test_judgement_that_fails_changes_nothing_and_counts(bench, replies, requests, reason):
    config = replace(CONFIG, judge_max_day_calls=requests)
    adapter, session = await open_session(
        bench, says("Fixed."), *replies, says("More."), config=config
    )
    await send(session)
    assert await facts_of(bench, session, TurnEvaluated) == []
    assert reason in session.explain()[-1]
    assert bench.availability.outage_reason(OTHER.id) is None
    assert len(adapter.requests) == 1 + requests
    await send(session, "and now?")
    assert session.state.messages[-1].text == "More."
    assert "`judge_max_day_calls`" in session.explain()[-1]
    assert len(adapter.requests) == 2 + requests
    await session.close()


async def test_reply_in_another_form_is_asked_for_twice(bench):
    _, session = await open_session(bench, says("Fixed."), NONSENSE, GOOD)
    await send(session)
    [found] = await facts_of(bench, session, TurnEvaluated)
    ends = [each for each in await facts_of(bench, session, LlmCallCompleted) if each.purpose]
    assert found.requests == len(ends) == 2
    assert found.cost_usd == sum(each.usage.cost_usd for each in ends)
    await session.close()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"judge_max_call_usd": Decimal("0.0001")}, "`judge_max_call_usd`"),
        ({"judge_max_day_usd": Decimal("0.0001")}, "`judge_max_day_usd`"),
        ({"judge_max_day_calls": 0}, "`judge_max_day_calls`"),
        ({"judge": "nobody"}, "nobody"),
        ({"judge": "nokey:x"}, "nokey"),
    ],
)
async def test_nothing_is_sent_beyond_a_limit_or_without_the_model(bench, change, reason):
    config = replace(CONFIG, **change)
    adapter, session = await open_session(bench, says("Fixed."), config=config)
    await send(session)
    assert len(adapter.requests) == 1
    assert len(await facts_of(bench, session, LlmCallStarted)) == 1
    assert session.explain()[-1].startswith("Not judged: ")
    assert reason in session.explain()[-1]
    await session.close()


async def test_limits_of_the_day_count_the_judgements_of_all_sessions(bench):
    config = replace(CONFIG, judge_max_day_calls=1)
    for judged in (1, 0):
        adapter, session = await open_session(bench, says("Fixed."), GOOD, config=config)
        await send(session)
        assert len(adapter.requests) == 1 + judged
        await session.close()


async def test_budget_of_the_user_forbids_it_without_a_question(bench):
    budgets = Budgets(config=BudgetConfig(session=Decimal("0.001")))
    adapter, session = await open_session(bench, says("Fixed."), GOOD)
    session._env.spending.budgets = budgets
    budgets.session_cost = Decimal(0)
    session._env.spending.budgets.allowed.add("session")
    await play(session.send("fix it"))
    budgets.allowed.clear()
    await session.judge.wait()
    assert len(adapter.requests) == 1
    assert "`budget.session`" in session.explain()[-1]
    assert session.limit_reached is None
    await session.close()


async def test_next_prompt_stops_a_judgement_and_is_judged_itself(bench):
    adapter, session = await open_session(bench, says("Fixed."), says("Next."), GOOD)
    await play(session.send("fix it"))
    await send(session, "next")
    [found] = await facts_of(bench, session, TurnEvaluated)
    turns = [fact.turn_id for fact in await facts_of(bench, session, TurnStarted)]
    assert found.evaluated_turn == turns[1]
    assert "Fixed." not in adapter.requests[-1].messages[-1].text
    await session.close()


async def test_closing_the_session_stops_a_judgement(bench):
    _, session = await open_session(bench, says("Fixed."), GOOD)
    await play(session.send("fix it"))
    await session.close()
    assert await facts_of(bench, session, TurnEvaluated) == []
    assert session.explain()[-1].startswith("Not judged: ")


async def test_without_a_configured_model_and_for_failed_turns_nothing_is_judged(bench):
    adapter, session = await open_session(bench, says("Fixed."), config=RoutingConfig())
    await send(session)
    assert len(adapter.requests) == 1
    await session.close()
    adapter, session = await open_session(bench, fails(AuthError("no")))
    await send(session)
    assert len(adapter.requests) == 1
    assert [each.model for each in await facts_of(bench, session, LlmCallFailed)] == [MODEL.id]
    await session.close()
