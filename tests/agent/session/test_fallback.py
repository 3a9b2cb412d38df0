"""Another model answers during an outage, with the consent of the user."""

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, MODEL, OTHER, Checked, User, play
from yourtool.errors import AuthError
from yourtool.events.deltas import Notice
from yourtool.events.turns import RouteDecided
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.scripted import Fail, Scripted, ScriptLine, says
from yourtool.settings.agent_config import FallbackConfig

REFUSED_KEY = ScriptLine((Fail(AuthError("bad key", status=401)),))
SIBLING = replace(MODEL, id="anthropic:sibling", aliases=("sibling",))
BLIND = replace(
    OTHER,
    id="openai:blind",
    aliases=("blind",),
    capabilities=replace(OTHER.capabilities, supports_tools=False),
)


class Outage:
    """A session whose model has just become unavailable."""

    def __init__(self, bench, session, adapter, user):
        self.bench, self.session, self.adapter, self.user = bench, session, adapter, user

    async def send(self, prompt="again"):
        """Return the model that answered, and the notices."""
        events = await play(self.session.send(prompt))
        notices = [each.text for each in events if isinstance(each, Notice)]
        return self.adapter.requests[-1].model.id, notices

    def end(self):
        self.bench.availability.reset("anthropic")


async def _start(bench, answer=ALLOW, models=(MODEL, OTHER), **options):
    policy = options.pop("policy", "ask")
    bench.catalogue = Catalogue(models, "2026-01-01")
    adapter, user = Scripted([REFUSED_KEY, *[says("Yes.")] * 4]), User(answer)
    fallback = FallbackConfig(policy=policy, models=options.pop("named", ()))
    settings = {"fallback": fallback}
    session = await bench.session(Checked(adapter), confirm=user, settings=settings, **options)
    await play(session.send("hello"))
    return Outage(bench, session, adapter, user)


@pytest.mark.req("R-SWP-07", "R-RTE-14")
async def test_agreed_model_answers_until_the_outage_is_over_and_each_turn_records_it(bench):
    outage = await _start(bench)
    await play(outage.session.select_model(MODEL.id))
    model, notices = await outage.send()
    [question] = outage.user.asked
    assert question.kind == "fallback"
    assert question.title == "Let openai:other answer?"
    assert question.reason.endswith("openai:other answers until anthropic:test is available.")
    assert model == OTHER.id and notices[0].startswith("`openai:other` answers while")
    assert outage.session.fallbacks.describe() == (
        "openai:other answers while anthropic:test is unavailable."
    )
    assert await outage.send() == (OTHER.id, [])
    outage.end()
    assert outage.session.fallbacks.describe() is None
    model, notices = await outage.send()
    assert (model, notices) == (MODEL.id, ["`anthropic:test` is available and answers again."])
    routes = [each for each in outage.session.state.facts if isinstance(each, RouteDecided)]
    chosen = [each.chosen_model for each in routes]
    assert chosen == [MODEL.id, OTHER.id, OTHER.id, MODEL.id]
    rejected, fallback = routes[1].chain[-2:]
    assert (rejected.candidate_model, rejected.validation_failure) == (
        MODEL.id,
        "provider_unavailable",
    )
    assert fallback.reason == "you agreed, while `anthropic:test` is unavailable"
    assert len(outage.user.asked) == 1
    await outage.session.close()


@pytest.mark.req("R-SWP-07")
async def test_declined_fallback_is_not_offered_again_in_the_same_outage(bench):
    outage = await _start(bench, DENY)
    assert await outage.send() == (MODEL.id, [])
    assert len(outage.user.asked) == 1
    await outage.session.close()


@pytest.mark.req("R-SWP-07")
@pytest.mark.parametrize(
    ("policy", "interactive", "asked"),
    [("never", True, 0), ("auto", True, 1), ("ask", False, 0), ("auto", False, 0)],
)
async def test_another_vendor_never_answers_without_a_yes(bench, policy, interactive, asked):
    outage = await _start(bench, DENY, policy=policy, interactive=interactive)
    model, _ = await outage.send()
    assert (model, len(outage.user.asked)) == (MODEL.id, asked)
    await outage.session.close()


async def test_model_of_the_same_vendor_answers_without_a_question_if_the_policy_is_auto(bench):
    outage = await _start(bench, DENY, models=(MODEL, OTHER, SIBLING), policy="auto")
    bench.availability.reset("anthropic")
    for _ in range(5):
        bench.availability.record_failure(MODEL.id, "server_error")
    model, [notice] = await outage.send()
    assert model == SIBLING.id and notice.startswith("`anthropic:sibling` answers while")
    assert outage.user.asked == []
    reason = outage.session.state.last_route.chain[-1].reason
    assert reason.startswith("`fallback.policy` is `auto`")
    await outage.session.close()


async def test_fallback_can_take_the_turn_and_is_one_of_the_named_models(bench):
    models = (MODEL, BLIND, OTHER)
    outage = await _start(bench, models=models, named=("blind", "nobody", "other"))
    model, notices = await outage.send()
    assert model == OTHER.id
    assert notices[0] == "`fallback.models`: no model is called `nobody`."
    await outage.session.close()


async def test_models_of_the_same_provider_do_not_hide_one_that_is_available(bench):
    siblings = [replace(SIBLING, id=f"anthropic:s{at}", aliases=()) for at in range(12)]
    outage = await _start(bench, models=(MODEL, *siblings, OTHER))
    assert (await outage.send())[0] == OTHER.id
    await outage.session.close()


async def test_message_to_another_model_needs_no_fallback(bench):
    outage = await _start(bench)
    assert await outage.send("@other hello") == (OTHER.id, [])
    assert outage.user.asked == []
    await outage.session.close()
