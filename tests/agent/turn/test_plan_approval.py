"""A plan is proposed, approved, changed or declined."""

import pytest
from msgspec import UNSET

from tests.agent.harness import ALLOW, DENY, Bench
from tests.agent.turn.calls.test_admission import edited, results, run
from yourtool.effects import Decision, PlanAnswer, Verdict
from yourtool.events.tools import ToolConfirmationResolved
from yourtool.providers.scripted import calls
from yourtool.run_result import Outcome
from yourtool.settings.config import Mode

PLAN = "# Plan\n\n1. Edit `a.py`"


def accept(plan):
    return Decision(verdict=Verdict.ALLOW, plan=plan)


def stored_answers(events):
    return [(e.decision, e.plan) for e in events if isinstance(e, ToolConfirmationResolved)]


@pytest.mark.req("R-LOOP-13", "R-CONF-09")
@pytest.mark.parametrize(
    ("answer", "mode"),
    [(PlanAnswer.ASK, Mode.ASK), (PlanAnswer.ACCEPT_EDITS, Mode.ACCEPT_EDITS), (None, Mode.ASK)],
)
async def test_approved_plan_ends_plan_mode_and_the_answer_is_stored(bench: Bench, answer, mode):
    line = calls("propose_plan", plan=PLAN)
    session, user, events = await run(bench, line, accept(answer), mode=Mode.PLAN)
    (question,) = user.asked
    assert (question.kind, question.preview.body, question.rules) == ("plan", PLAN, ())
    assert session.mode is mode
    assert "approved the plan" in results(session)[0]
    assert stored_answers(events) == [("allow", answer or UNSET)]
    await session.close()


@pytest.mark.req("R-LOOP-13")
async def test_declined_plan_keeps_plan_mode_and_the_model_gets_the_note(bench: Bench):
    line = calls("propose_plan", plan=PLAN)
    answer = Decision(verdict=Verdict.DENY, note="use sqlite")
    session, _, events = await run(bench, line, answer, mode=Mode.PLAN)
    assert session.mode is Mode.PLAN
    assert "did not approve the plan" in results(session)[0]
    assert "use sqlite" in results(session)[0]
    assert stored_answers(events) == [("deny", UNSET)]
    await session.close()


@pytest.mark.req("R-LOOP-13", "R-CONF-02")
async def test_changed_plan_is_shown_again_and_the_model_gets_all_of_it(bench: Bench):
    line = calls("propose_plan", plan=PLAN)
    changed = "# Mine\n\n" + "step\n" * 2_000
    session, user, _ = await run(bench, line, edited(changed), ALLOW, mode=Mode.PLAN)
    assert [question.preview.body for question in user.asked] == [PLAN, changed]
    assert session.mode is Mode.ASK
    assert changed in results(session)[0]
    await session.close()


@pytest.mark.req("R-LOOP-13")
async def test_changed_plan_can_still_be_declined(bench: Bench):
    line = calls("propose_plan", plan=PLAN)
    session, _, _ = await run(bench, line, edited("other"), DENY, mode=Mode.PLAN)
    assert session.mode is Mode.PLAN
    await session.close()


@pytest.mark.req("R-LOOP-13")
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO])
async def test_outside_plan_mode_nobody_is_asked_and_the_model_goes_on(bench: Bench, mode):
    session, user, _ = await run(bench, calls("propose_plan", plan=PLAN), mode=mode)
    assert user.asked == []
    assert session.mode is mode
    assert "No plan has to be approved" in results(session)[0]
    await session.close()


@pytest.mark.req("R-LOOP-13", "R-CLI-01")
async def test_without_a_user_the_plan_is_the_answer_and_the_turn_ends(bench: Bench):
    line = calls("propose_plan", plan=PLAN)
    session, user, events = await run(bench, line, mode=Mode.PLAN, interactive=False)
    outcome = Outcome()
    for event in events:
        outcome.apply(event)
    result = outcome.result(session.id)
    assert (result.result, result.exit_code, result.permission_denials) == (PLAN, 0, ())
    assert result.num_requests == 1
    assert user.asked == []
    assert session.mode is Mode.PLAN
    await session.close()


@pytest.mark.req("R-LOOP-13", "R-CONF-09")
@pytest.mark.parametrize("answer", [PlanAnswer.MODEL, PlanAnswer.FRESH])
async def test_plan_that_is_carried_out_elsewhere_ends_the_turn_and_plan_mode(bench: Bench, answer):
    line = calls("propose_plan", plan=PLAN) + calls("read_file", path="a.txt")
    session, _, events = await run(bench, line, accept(answer), mode=Mode.PLAN)
    assert [type(each).__name__ for each in events].count("LlmCallStarted") == 1
    assert session.mode is Mode.ASK
    assert "not carried out in this turn" in results(session)[0]
    await session.close()


@pytest.mark.req("R-LOOP-13", "R-CONF-01")
@pytest.mark.parametrize("answer", [accept(PlanAnswer.ACCEPT_EDITS), DENY])
async def test_later_calls_of_the_reply_are_not_run_after_the_answer_to_a_plan(
    bench: Bench, answer
):
    write = calls("write_file", path="b.txt", content="x")
    line = calls("propose_plan", plan=PLAN) + write + calls("propose_plan", plan=PLAN)
    session, user, _ = await run(bench, line, answer, mode=Mode.PLAN)
    assert len(user.asked) == 1
    assert not (bench.workspace / "b.txt").exists()
    assert all("the user had answered your plan" in each for each in results(session)[1:])
    await session.close()
