"""Routing rules in sessions: read again when a file changes, and stored with the session."""

import asyncio
import os

import msgspec
import pytest

from tests.agent.harness import MODEL, DefaultModels, play
from tests.providers.histories import image
from yourtool.agent.history.state import State
from yourtool.events.turns import RouteDecided, RoutingPolicyChanged, RoutingPolicyInvalid
from yourtool.messages.blocks import TextBlock
from yourtool.providers.scripted import Scripted, calls, says

OTHER = "openai:other"
ALWAYS = f'[[rules]]\nname = "always"\nwhen = {{}}\nuse = "{OTHER}"\n'


def write(bench, text):
    """Write the rules of the user, with another time than before."""
    file = bench.root / "routing.toml"
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    os.utime(file, ns=(before + 1_000_000, before + 1_000_000))


def rule(condition, name="one", use=OTHER):
    return f'[[rules]]\nname = "{name}"\nwhen = {{ {condition} }}\nuse = "{use}"\n'


async def send(session, content="hello"):
    """Return the chosen model and the events of a turn."""
    events = await play(session.send(content))
    [route] = [each for each in events if isinstance(each, RouteDecided)]
    return route.chosen_model, events


def of_kind(events, kind):
    return [each for each in events if isinstance(each, kind)]


@pytest.fixture
async def session(bench):
    opened = await bench.session(Scripted([says("Yes.")] * 20))
    yield opened
    await opened.close()


@pytest.mark.req("R-RTE-08")
async def test_rules_apply_from_the_next_message_after_a_change(bench, session):
    assert (await send(session))[0] == MODEL.id
    write(bench, ALWAYS)
    model, events = await send(session)
    assert model == OTHER
    [changed] = of_kind(events, RoutingPolicyChanged)
    assert changed.policy == {"rules": [{"name": "always", "when": {}, "use": OTHER}]}
    assert session.state.messages[-1].metadata.routing.rule_name == "always"
    _, events = await send(session)
    assert of_kind(events, RoutingPolicyChanged) == []
    (bench.root / "routing.toml").unlink()
    model, events = await send(session)
    assert model == MODEL.id
    assert [each.version for each in of_kind(events, RoutingPolicyChanged)] == [""]


@pytest.mark.req("R-RTE-08")
async def test_mistake_is_reported_once_and_the_rules_before_stay_in_use(bench, session):
    write(bench, ALWAYS)
    await send(session)
    write(bench, ALWAYS.replace("when", "whn"))
    model, events = await send(session)
    assert model == OTHER
    [invalid] = of_kind(events, RoutingPolicyInvalid)
    assert invalid.using_last_known_good
    assert ":3: `rules.whn`: there is no such key; did you mean `when`?" in invalid.errors[0]
    _, events = await send(session)
    assert of_kind(events, RoutingPolicyInvalid) == []
    write(bench, "rules = [")
    _, events = await send(session)
    assert len(of_kind(events, RoutingPolicyInvalid)) == 1
    write(bench, "")
    assert (await send(session))[0] == MODEL.id


async def test_malformed_file_that_appears_in_a_session_is_reported_and_changes_nothing(
    bench, session
):
    assert (await send(session))[0] == MODEL.id
    write(bench, f'{ALWAYS}[tiers]\nfast = "{OTHER}"\n')
    model, events = await send(session)
    assert model == MODEL.id
    [invalid] = of_kind(events, RoutingPolicyInvalid)
    [error] = invalid.errors
    assert ":5: `tiers`: must name all tiers; `balanced` and `deep` have no model" in error
    assert of_kind(events, RoutingPolicyChanged) == []
    write(bench, ALWAYS)
    assert (await send(session))[0] == OTHER


@pytest.mark.parametrize("content", [b"\xff\xfe", b"# " + b"x" * 2**20], ids=["bytes", "large"])
async def test_file_that_cannot_be_read_is_a_mistake_and_no_crash(bench, session, content):
    (bench.root / "routing.toml").write_bytes(content)
    model, events = await send(session)
    assert model == MODEL.id
    [invalid] = of_kind(events, RoutingPolicyInvalid)
    assert not invalid.using_last_known_good
    assert str(bench.root / "routing.toml") in invalid.errors[0]


@pytest.mark.req("R-RTE-03")
async def test_model_that_the_user_named_overrides_every_rule(bench, session):
    write(bench, ALWAYS)
    assert (await send(session, f"@{MODEL.id} hello"))[0] == MODEL.id
    await play(session.select_model(MODEL.id))
    assert (await send(session))[0] == MODEL.id
    await play(session.select_model(None))
    assert (await send(session))[0] == OTHER


@pytest.mark.req("R-RTE-09")
async def test_rule_whose_model_cannot_take_the_turn_lets_the_next_one_try(bench, session):
    write(bench, rule("has_images = true", "blind", "a:blind") + ALWAYS)
    bench.catalogue.resolve("a:blind")
    model, events = await send(session, (TextBlock("what is this?"), image()))
    [route] = of_kind(events, RouteDecided)
    assert model == OTHER
    steps = [(each.rule_name, each.verdict, each.validation_failure) for each in route.chain[2:]]
    assert steps == [("blind", "rejected", "no_vision_support"), ("always", "chose", None)]
    assert len(session.explain()) <= 12


async def test_conditions_test_the_message_the_history_and_the_files_of_calls(bench):
    (bench.workspace / "tide.sql").write_text("select 1")
    script = [says("Yes."), calls("read_file", path="tide.sql"), *[says("Yes.")] * 4]
    session = await bench.session(Scripted(script))
    write(
        bench,
        rule('file_extensions_in_context = ["sql"]', "sql")
        + rule("has_tool_calls_in_history = true", "calls"),
    )
    assert (await send(session))[0] == MODEL.id
    assert (await send(session))[0] == MODEL.id  # the call follows the decision
    model, events = await send(session)
    [route] = of_kind(events, RouteDecided)
    assert (model, route.chain[-1].rule_name) == (OTHER, "sql")
    await session.close()


async def test_cost_of_the_day_is_known_to_rules(bench, session):
    write(bench, rule("cost_today_exceeds_usd = 0.0"))
    assert (await send(session))[0] == MODEL.id
    assert session.state.cost_usd > 0
    assert (await send(session))[0] == OTHER


async def test_tokens_are_those_of_the_request_to_the_model_of_the_rule(bench, session):
    write(bench, rule("estimated_input_tokens_gt = 5_000"))
    assert (await send(session))[0] == MODEL.id
    assert (await send(session, "tide " * 10_000))[0] == OTHER


async def test_defaults_of_the_rules_precede_those_of_the_settings(bench):
    write(bench, f'global_default = "{OTHER}"\n')
    session = await bench.session(
        Scripted([says("Yes.")] * 2), defaults=DefaultModels(None, MODEL.id)
    )
    assert (await send(session))[0] == OTHER
    write(bench, f'[workspaces."{bench.workspace.resolve()}"]\ndefault = "{MODEL.id}"\n')
    assert (await send(session))[0] == MODEL.id
    await session.close()


@pytest.mark.req("R-RTE-06")
async def test_same_prompt_gets_one_answer_a_thousand_times(bench, session):
    write(bench, rule('message_contains_any = ["tide"]') + rule("has_images = true", "two"))
    await send(session, "the tide")
    state = State()
    for fact in await bench.store.read(session.id):
        state.apply(fact)
    routes = session._env.routes
    decided = await asyncio.to_thread(lambda: [routes.decide(None, state) for _ in range(1_000)])
    assert {(each.chosen_model, each.winner_index, each.chain) for each in decided} == {
        (OTHER, decided[0].winner_index, decided[0].chain)
    }


async def test_policy_is_stored_with_the_session(bench, session):
    write(bench, ALWAYS)
    await send(session)
    await session.close()
    [(text,)] = await bench.database.read(
        lambda connection: connection.execute(
            "SELECT routing_policy_json FROM sessions WHERE id = ?", (session.id,)
        ).fetchall()
    )
    assert msgspec.json.decode(text)["rules"][0]["name"] == "always"
    again = await bench.session(Scripted([says("Yes.")]), resume=session.id)
    _, events = await send(again)
    assert of_kind(events, RoutingPolicyChanged) == []
    await again.close()
