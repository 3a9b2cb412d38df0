"""Rules as they are stored with a session, and the decisions that they make again."""

from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.models import AdapterCapabilities, Model
from yourtool.routing.policy import Policy, PolicyFile, build_policy, parse_policy
from yourtool.routing.predicates import TurnInput
from yourtool.routing.router import Needs
from yourtool.routing.situation import ModelStatus, Situation, decide_turn

LEAVES = st.sampled_from(
    [
        "has_images = true",
        "has_tool_calls_in_history = false",
        'message_contains_any = ["Prove", "x"]',
        'message_matches = "(?i)prove"',
        "estimated_input_tokens_gt = 5_000",
        'time_of_day_between = ["22:00", "06:00"]',
        "cost_today_exceeds_usd = 0.25",
    ]
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda leaf: (
        leaf.map(lambda part: f"not = {{ {part} }}")
        | st.lists(leaf, min_size=1, max_size=3).map(
            lambda parts: f"any_of = [{', '.join(f'{{ {each} }}' for each in parts)}]"
        )
    ),
    max_leaves=6,
)
TURNS = st.builds(
    TurnInput,
    text=st.sampled_from(["prove it", "hello"]),
    has_images=st.booleans(),
    has_tool_calls=st.booleans(),
    local_time=st.times(),
    spent_today=st.sampled_from([Decimal(0), Decimal("0.5")]),
)


def read(rules):
    return build_policy(parse_policy(rules, "rules", str), PolicyFile(), "/work")


def restore(policy):
    """Return rules as the store returns them."""
    return Policy.from_document(msgspec.json.decode(msgspec.json.encode(policy.to_document())))


def status(model):
    outage = "down" if model == "c:out" else None
    return ModelStatus(
        Model(id=model, wire_name="", capabilities=AdapterCapabilities()), None, outage
    )


def decide_by(policy, turn):
    situation = Situation(turn=turn, needs=Needs(tools=True), global_default="a:default")
    return decide_turn(policy, situation, status, lambda model: 1_000 * len(model))


@given(st.lists(st.tuples(CONDITIONS, st.sampled_from(["a:b", "c:out"])), max_size=4), TURNS)
@pytest.mark.req("R-RTE-06")
def test_stored_rules_decide_as_the_rules_that_were_read(rules, turn):
    text = "".join(
        f'[[rules]]\nname = "r{number}"\nwhen = {{ {when} }}\nuse = "{model}"\n'
        for number, (when, model) in enumerate(rules)
    )
    policy = read(text)
    again = restore(policy)
    assert again.version == policy.version
    assert decide_by(again, turn) == decide_by(policy, turn)


def test_deepest_condition_of_a_file_is_read_from_the_store():
    condition = "has_images = true, has_tool_calls_in_history = true"
    for _ in range(10):
        condition = f"has_images = false, not = {{ {condition} }}"
    policy = read(f'[[rules]]\nwhen = {{ {condition} }}\nuse = "a:b"\n')
    assert restore(policy).version == policy.version


def test_order_of_calls_does_not_change_a_decision():
    policy = read('[[rules]]\nname = "one"\nwhen = { has_images = true }\nuse = "a:b"\n')
    turns = (TurnInput(has_images=True), TurnInput())
    first = [decide_by(policy, turn) for turn in turns]
    assert [decide_by(policy, turn) for turn in reversed(turns)] == first[::-1]
