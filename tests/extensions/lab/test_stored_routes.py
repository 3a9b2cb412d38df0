"""Stored decisions on models made again: under the same rules, other ones, prices and windows."""

import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from tests.agent.harness import BLIND, MODEL, OTHER, PRICE, SMALL, Bench, DefaultModels, play
from tests.providers.histories import image
from yourtool.errors import AuthError, ErrorClass, SwapRefusedError
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.turns import RouteDecided, RoutingSnapshot, TurnStarted
from yourtool.extensions.lab.stored_routes import ReplaySettings, replay_routes
from yourtool.messages.blocks import TextBlock
from yourtool.models import Price
from yourtool.providers.scripted import Scripted, fails, says
from yourtool.routing.policy import PolicyFile, build_policy, parse_policy
from yourtool.routing.situation import ModelStatus
from yourtool.settings.agent_config import RoutingConfig
from yourtool.store.forks import fork

CHEAP = Price(input_per_mtok_usd=Decimal(1), output_per_mtok_usd=Decimal(5))
IMAGES = '[[rules]]\nname = "pictures"\nwhen = { has_images = true }\nuse = "other"\n'
ALWAYS = '[[rules]]\nname = "always"\nwhen = {}\nuse = "other"\n'


def settings_of(bench, rules=None, **others):
    def build(workspace):
        parsed = parse_policy(rules, "rules", lambda name: bench.catalogue.resolve(name).id)
        return build_policy(parsed, PolicyFile(), workspace)

    return ReplaySettings(
        find_status=lambda model: ModelStatus(bench.catalogue.get(model)),
        find_price=others.pop("find_price", lambda _: PRICE),
        build_policy=None if rules is None else build,
        **others,
    )


async def replay(bench, rules=None, since=None, **others):
    return await replay_routes(bench.store, settings_of(bench, rules, **others), since)


def steps(change):
    return (change.old.model, change.old.slot, change.new.model, change.new.rule_name)


async def facts_of(bench, session_id, kind):
    return [fact for fact in await bench.store.read(session_id) if isinstance(fact, kind)]


@pytest.fixture
async def session(bench):
    opened = await bench.session(Scripted([says("Yes.")] * 20))
    yield opened
    await opened.close()


@pytest.mark.req("R-RTE-06")
async def test_other_rules_list_each_turn_that_they_change_with_its_cost(bench, session):
    await play(session.send("hello"))
    await play(session.send((TextBlock("what is this?"), image())))
    report = await replay(bench, IMAGES, find_price=lambda _: CHEAP)
    [change] = report.changes
    assert report.decisions == 2
    assert steps(change) == (MODEL.id, "global_default", OTHER.id, "pictures")
    assert change.new.reason == "has_images = true"
    assert (change.session_id, change.requests, change.unpriced_requests) == (session.id, 1, 0)
    calls = await facts_of(bench, session.id, LlmCallCompleted)
    usage = calls[1].usage
    assert change.old_cost_usd == usage.cost_usd > 0
    expected = (usage.input_tokens * 1 + usage.output_tokens * 5) / Decimal(10**6)
    assert change.new_cost_usd == expected
    assert (report.old_cost_usd, report.new_cost_usd) == (usage.cost_usd, expected)


async def test_same_rules_change_nothing(bench, session):
    (bench.root / "routing.toml").write_text(IMAGES)
    await play(session.send("hello"))
    await play(session.send((TextBlock("what is this?"), image())))
    report = await replay(bench)
    assert (report.decisions, report.identical, report.changes) == (2, 2, ())
    assert (report.old_cost_usd, report.skipped) == (0, ())


async def test_settings_are_stored_once_for_each_change(bench, session):
    for text in ("one", "two", "@other three", "four", "@other five"):
        await play(session.send(text))
    (bench.root / "routing.toml").write_text(ALWAYS)
    await play(session.send("six"))
    snapshots = await facts_of(bench, session.id, RoutingSnapshot)
    assert len({each.settings for each in snapshots}) == len(snapshots) == 3
    assert [[each.id for each in found.models] for found in snapshots] == [
        [MODEL.id],
        [MODEL.id, OTHER.id],
        [MODEL.id, OTHER.id],
    ]
    await session.close()
    again = await bench.session(Scripted([says("Yes.")]), resume=session.id)
    await play(again.send("seven"))
    await again.close()
    assert len(await facts_of(bench, session.id, RoutingSnapshot)) == 3
    assert (await replay(bench)).identical == 7


async def test_choices_of_the_user_stay_under_other_rules(bench, session):
    await play(session.send("@test hello"))
    await play(session.select_model("test"))
    await play(session.send("hello"))
    report = await replay(bench, ALWAYS)
    assert (report.decisions, report.changes) == (2, ())


async def test_decision_of_an_older_version_is_named_and_not_made_again(bench, session):
    await play(session.send("hello"))
    [route] = await facts_of(bench, session.id, RouteDecided)
    await bench.database.write(
        lambda connection: connection.execute(
            "UPDATE events SET payload_json = json_remove(payload_json, '$.inputs') WHERE id = ?",
            (route.id,),
        )
    )
    await play(session.send("again"))
    report = await replay(bench, ALWAYS)
    assert (report.decisions, len(report.changes)) == (1, 1)
    [skipped] = report.skipped
    assert (skipped.session_id, skipped.decisions) == (session.id, 1)
    assert "older version" in skipped.reason


async def test_rules_on_skills_need_what_the_turn_stored_about_skills(bench, session):
    await play(session.send("hello"))
    rules = '[[rules]]\nwhen = { skills_matching_message_includes = ["x"] }\nuse = "other"\n'
    report = await replay(bench, rules)
    assert report.decisions == 0
    assert ["skills" in each.reason for each in report.skipped] == [True]


async def test_rules_that_cannot_be_read_any_more_are_named(bench, session):
    (bench.root / "routing.toml").write_text(ALWAYS)
    await play(session.send("hello"))
    await bench.database.write(
        lambda connection: connection.execute(
            "UPDATE events SET payload_json = replace(payload_json, '\"when\":{}',"
            " '\"when\":{\"phase_of_the_moon\":1}') WHERE type = 'routing.policy_changed'"
        )
    )
    report = await replay(bench)
    assert report.decisions == 0
    assert [each.reason for each in report.skipped] == ["their rules are not stored"]
    assert (await replay(bench, ALWAYS)).decisions == 1


async def test_other_prices_decide_where_a_rule_tests_the_cost_of_the_day(bench, session):
    rules = '[[rules]]\nname = "enough"\nwhen = { cost_today_exceeds_usd = %s }\nuse = "other"\n'
    await play(session.send("hello"))
    spent = session.state.cost_usd
    (bench.root / "routing.toml").write_text(rules % (spent * 2))
    await play(session.send("hello"))
    assert (await replay(bench)).identical == 2
    dear = Price(input_per_mtok_usd=Decimal(300), output_per_mtok_usd=Decimal(1500))
    report = await replay(bench, find_price=lambda _: dear, has_other_prices=True)
    [change] = report.changes
    assert steps(change)[2:] == (OTHER.id, "enough")
    assert report.new_cost_usd == 100 * report.old_cost_usd
    report = await replay(bench, rules % (spent / 2))
    assert [steps(each)[2:] for each in report.changes] == [(OTHER.id, "enough")]


async def test_cost_of_the_day_begins_at_midnight_utc(bench, session):
    await play(session.send("yesterday"))
    await bench.database.write(
        lambda connection: connection.execute(
            "UPDATE events SET timestamp_us = timestamp_us - 86400000000"
        )
    )
    await play(session.send("today"))
    rules = '[[rules]]\nname = "enough"\nwhen = { cost_today_exceeds_usd = 0 }\nuse = "other"\n'
    assert (await replay(bench, rules)).changes == ()
    await play(session.send("later today"))
    assert len((await replay(bench, rules)).changes) == 1


async def test_other_windows_decide_again_whether_a_turn_fits(bench, session):
    await play(session.send("hello"))

    def shrink(model):
        found = bench.catalogue.get(model)
        return replace(found, capabilities=replace(found.capabilities, max_context_tokens=10))

    report = await replay(bench, find_model=shrink)
    [change] = report.changes
    assert change.new.model is None
    assert "takes 10" in change.new.reason
    assert change.new_cost_usd == 0 < change.old_cost_usd


async def test_turn_without_a_model_and_unpriced_models_have_no_made_up_cost(bench):
    session = await bench.session(
        Scripted([says("Yes.")] * 2), defaults=DefaultModels(None, "nokey:x")
    )
    await play(session.send("hello"))
    report = await replay(bench, ALWAYS)
    [change] = report.changes
    assert (change.old.model, change.new.model) == (None, OTHER.id)
    assert (change.requests, change.old_cost_usd, change.new_cost_usd) == (0, 0, 0)
    await play(session.send("@test hello"))
    report = await replay(bench, find_price=lambda _: None, has_other_prices=True)
    assert (report.unpriced_requests, report.old_cost_usd, report.new_cost_usd) == (1, 0, 0)
    await session.close()


async def test_copies_are_not_counted_twice_and_their_own_turns_are(bench, session):
    await play(session.send("hello"))
    copy = await fork(bench.store, session.id)
    assert (await replay(bench)).decisions == 1
    again = await bench.session(Scripted([says("Yes.")]), resume=copy)
    await play(again.retry())
    await again.close()
    report = await replay(bench)
    assert (report.decisions, report.identical) == (2, 2)
    assert {each.session_id for each in (await replay(bench, ALWAYS)).changes} == {session.id, copy}


async def test_time_limits_the_turns(bench, session):
    await play(session.send("hello"))
    soon = datetime.now(UTC) + timedelta(minutes=1)
    assert (await replay(bench, since=soon)).decisions == 0
    assert (await replay(bench, since=soon - timedelta(hours=1))).decisions == 1


async def test_retry_is_decided_on_the_prompt_that_it_repeats(bench, session):
    rules = '[[rules]]\nname = "tide"\nwhen = { message_contains_any = ["tide"] }\nuse = "other"\n'
    await play(session.send("the tide"))
    await play(session.retry())
    routes = await facts_of(bench, session.id, RouteDecided)
    assert [each.inputs.prompt for each in routes] == [UNSET, "the tide"]
    assert [steps(each)[3] for each in (await replay(bench, rules)).changes] == ["tide", "tide"]


async def test_learned_choices_and_advice_are_made_again(bench):
    bench.learning = replace(EAGER, surface_disagreement=True)
    session = await bench.session(Scripted([says("Yes.")] * 20))
    await play(session.send("@other read the tide tables"))
    await play(session.send("@other read the tide tables"))
    await play(session.send("read the tide tables"))
    await play(session.select_model("test"))
    await play(session.send("read the tide tables"))
    routes = await facts_of(bench, session.id, RouteDecided)
    await session.close()
    assert [(each.chosen_model, each.chain[-1].policy) for each in routes] == [
        (OTHER.id, "per_message_override"),
        (OTHER.id, "per_message_override"),
        (OTHER.id, "pattern"),
        (MODEL.id, "pattern"),
    ]
    assert [each.chain[-1].verdict for each in routes[2:]] == ["chose", "deferred"]
    report = await replay(bench)
    assert (report.decisions, report.identical, report.changes) == (4, 4, ())
    [change] = (await replay(bench, ALWAYS.replace('"other"', '"test"'))).changes
    assert steps(change) == (OTHER.id, "pattern", MODEL.id, "always")


async def test_prompts_of_different_sizes_are_decided_by_their_own_size(bench):
    session = await bench.session(
        Scripted([says("Yes.")] * 20), defaults=DefaultModels(SMALL.id, OTHER.id)
    )
    for text in ("short", "long " * 3_000, "short too", "long " * 3_000):
        await play(session.send(text))
    await session.close()
    chosen = [each.chosen_model for each in await facts_of(bench, session.id, RouteDecided)]
    assert chosen == [SMALL.id, OTHER.id, OTHER.id, OTHER.id]
    assert (await replay(bench)).identical == len(chosen)


LEAVES = st.sampled_from(
    [
        'message_matches = "(?i)prove"',
        'message_contains_any = ["tide"]',
        "estimated_input_tokens_gt = 40",
        "estimated_input_tokens_lt = 90",
        "has_images = true",
        "has_tool_calls_in_history = false",
        'file_extensions_in_context = ["py"]',
        'workspace_path_matches = "work$"',
        'time_of_day_between = ["06:00", "05:59"]',
        "cost_today_exceeds_usd = 0.00001",
        'skills_matching_message_includes = ["release-notes"]',
        "",
    ]
)


def nest(leaf):
    lists = st.lists(leaf, min_size=1, max_size=3).map(
        lambda parts: ", ".join(f"{{ {each} }}" for each in parts)
    )
    return (
        lists.map(lambda parts: f"any_of = [{parts}]")
        | lists.map(lambda parts: f"all_of = [{parts}]")
        | leaf.map(lambda part: f"not = {{ {part} }}")
    )


EAGER = RoutingConfig(patterns=True, min_samples=1, min_confidence=0, disagreement_confidence=0)
MODELS = (MODEL, OTHER, BLIND, SMALL)
NAMES = st.sampled_from([each.id for each in MODELS])
RULES = st.lists(st.tuples(st.recursive(LEAVES, nest, max_leaves=4), NAMES), max_size=4).map(
    lambda rules: "".join(
        f'[[rules]]\nname = "r{number}"\nwhen = {{ {when} }}\nuse = "{model}"\n'
        for number, (when, model) in enumerate(rules)
    )
)
PROMPTS = st.sampled_from(["prove it", "the tide " * 40, "release-notes", "x", "@other go"])
ACTIONS = st.one_of(
    PROMPTS.map(lambda text: ("send", text)),
    PROMPTS.map(lambda text: ("picture", text)),
    st.just(("retry", "")),
    st.sampled_from(["test", "other", "blind", "small", None]).map(lambda name: ("model", name)),
    RULES.map(lambda text: ("rules", text)),
    st.tuples(st.just("outage"), NAMES),
    st.tuples(st.just("recovery"), NAMES),
)


async def act(bench, session, action, argument):
    """Do one thing that a user, a file or a provider does."""
    match action:
        case "send":
            await play(session.send(argument))
        case "picture":
            await play(session.send((TextBlock(argument), image())))
        case "retry" if session.state.prompts:
            await play(session.retry())
        case "model":
            with suppress(SwapRefusedError):
                await play(session.select_model(argument, use_placeholders=argument == "blind"))
        case "rules":
            (bench.root / "routing.toml").write_text(argument)
        case "outage":
            bench.availability.record_failure(argument, ErrorClass.AUTH)
        case "recovery":
            bench.availability.record_success(argument)
        case _:
            pass


@pytest.mark.remaining
@pytest.mark.blocks_loop("writes many small files and estimates in the thread of the test")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(ACTIONS, min_size=3, max_size=8),
    st.sampled_from([DefaultModels(None, MODEL.id), DefaultModels(SMALL.id, OTHER.id)]),
    st.booleans(),
    st.sampled_from([None, EAGER, replace(EAGER, surface_disagreement=True)]),
)
@pytest.mark.req("R-RTE-06")
async def test_same_rules_on_any_history_give_every_decision_again(
    actions, defaults, is_failing, learning
):
    broken = fails(AuthError("no"))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.learning = learning
        answers = [broken if is_failing else says("Yes."), says("Yes.")] * 50
        session = await bench.session(Scripted(answers), defaults=defaults)
        for action, argument in (*actions, ("send", "the last one")):
            await act(bench, session, action, argument)
        await session.close()
        facts = await bench.store.read(session.id)
        report = await replay(bench)
        await bench.close()
    turns = [fact.turn_id for fact in facts if isinstance(fact, TurnStarted)]
    assert [fact.turn_id for fact in facts if isinstance(fact, RouteDecided)] == turns
    assert (report.decisions, report.identical) == (len(turns), len(turns))
    assert (report.changes, report.skipped) == ((), ())
