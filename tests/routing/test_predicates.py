import re
from datetime import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.routing.predicates import (
    COMBINATORS,
    PREDICATES,
    ConditionError,
    TurnInput,
    describe,
    holds,
    iter_tests,
    parse_condition,
    to_table,
)

TURN = TurnInput(
    text="Please PROVE that it ends",
    has_images=True,
    has_tool_calls=True,
    workspace="/home/me/work/api",
    skills=frozenset({"release-notes"}),
    file_extensions=frozenset({".sql"}),
    local_time=time(23, 30),
    spent_today=Decimal("5.10"),
)
EMPTY = TurnInput()
TRUE_AND_FALSE = [
    ("message_matches", r"(?i)\bprove\b", r"^prove"),
    ("message_contains_any", ["nothing", "please prove"], ["proof"]),
    ("estimated_input_tokens_gt", 999, 1_000),
    ("estimated_input_tokens_lt", 1_001, 1_000),
    ("has_images", True, False),
    ("has_tool_calls_in_history", True, False),
    ("skills_matching_message_includes", ["other", "release-notes"], ["other"]),
    ("file_extensions_in_context", ["py", "SQL"], [".py"]),
    ("workspace_path_matches", "^/home/me/work/", "^/srv"),
    ("time_of_day_between", ["22:00", "06:00"], ["06:00", "23:30"]),
    ("cost_today_exceeds_usd", 5, 5.1),
]


def is_true(table, turn=TURN, tokens=1_000):
    return holds(parse_condition(table), turn, lambda: tokens)


@pytest.mark.parametrize(("name", "right", "wrong"), TRUE_AND_FALSE)
@pytest.mark.req("R-RTE-12")
def test_each_predicate_is_true_and_false(name, right, wrong):
    assert is_true({name: right})
    assert not is_true({name: wrong})
    assert is_true({"not": {name: wrong}})


def test_every_predicate_has_a_case_or_no_value_to_test():
    tested = {name for name, *_ in TRUE_AND_FALSE}
    assert {each.name for each in PREDICATES.values() if each.has_source} == tested
    assert not is_true({"team_budget_remaining_lt": 10**6})


@pytest.mark.parametrize(
    ("hours", "inside", "outside"),
    [
        (("22:00", "06:00"), ("22:00", "23:59", "00:00", "05:59"), ("06:00", "21:59")),
        (("09:00", "17:30"), ("09:00", "17:29"), ("08:59", "17:30", "00:00")),
    ],
)
def test_span_of_hours_includes_its_start_and_can_include_midnight(hours, inside, outside):
    def is_in(clock):
        turn = TurnInput(local_time=time.fromisoformat(clock))
        return is_true({"time_of_day_between": list(hours)}, turn)

    assert all(map(is_in, inside))
    assert not any(map(is_in, outside))


def test_keys_of_one_table_must_all_hold_and_the_empty_table_always_holds():
    assert is_true({"has_images": True, "message_contains_any": ["prove"]})
    assert not is_true({"has_images": True, "message_contains_any": ["x"]})
    assert is_true({}, EMPTY)
    assert is_true({"any_of": [{"has_images": False}, {"has_tool_calls_in_history": True}]})
    assert not is_true({"all_of": [{"has_images": False}, {"has_tool_calls_in_history": True}]})


def nested(leaf):
    lists = st.lists(leaf, min_size=1, max_size=3)
    return (
        lists.map(lambda parts: {"any_of": parts})
        | lists.map(lambda parts: {"all_of": parts})
        | leaf.map(lambda part: {"not": part})
    )


LEAVES = st.sampled_from(
    [{name: value} for name, *values in TRUE_AND_FALSE for value in values] + [{}]
)


@given(st.recursive(LEAVES, nested, max_leaves=12), st.booleans())
def test_random_nesting_gives_the_value_that_its_parts_define(table, is_empty):
    turn = EMPTY if is_empty else TURN

    def value(table):
        [(name, content)] = [*table.items()] or [(None, None)]
        match name:
            case None:
                return True
            case "any_of":
                return any(map(value, content))
            case "all_of":
                return all(map(value, content))
            case "not":
                return not value(content)
            case _:
                return is_true(table, turn)

    condition = parse_condition(table)
    assert holds(condition, turn, lambda: 1_000) is value(table)
    again = parse_condition(to_table(condition))
    assert to_table(again) == to_table(condition)
    assert describe(again) == describe(condition)


@pytest.mark.parametrize(
    ("table", "path", "message", "nearest"),
    [
        ({"mesage_matches": "x"}, ("mesage_matches",), "no such predicate", "message_matches"),
        ({"any": []}, ("any",), "no such predicate", "any_of"),
        ({"message_matches": "("}, ("message_matches",), r"`\(` is not a pattern of RE2", None),
        ({"message_matches": "(?=x)"}, ("message_matches",), "is not a pattern of RE2", None),
        ({"message_matches": 3}, ("message_matches",), "expected `str`, got `int`", None),
        ({"has_images": 1}, ("has_images",), "expected `bool`", None),
        ({"message_contains_any": []}, ("message_contains_any",), "not empty", None),
        ({"message_contains_any": [" "]}, ("message_contains_any",), "not empty", None),
        ({"time_of_day_between": ["25:00", "1"]}, ("time_of_day_between",), "two times", None),
        ({"time_of_day_between": ["06:00"]}, ("time_of_day_between",), "two times", None),
        ({"time_of_day_between": ["06:00"] * 2}, ("time_of_day_between",), "never holds", None),
        ({"cost_today_exceeds_usd": -1}, ("cost_today_exceeds_usd",), "negative", None),
        ({"cost_today_exceeds_usd": float("nan")}, ("cost_today_exceeds_usd",), "at most", None),
        ({"cost_today_exceeds_usd": float("inf")}, ("cost_today_exceeds_usd",), "at most", None),
        ({"estimated_input_tokens_gt": 10**30}, ("estimated_input_tokens_gt",), "at most", None),
        ({"any_of": []}, ("any_of",), "must be a list of tables", None),
        ({"any_of": {}}, ("any_of",), "must be a list of tables", None),
        ({"any_of": [{}, 3]}, ("any_of", 1), "must be a table", None),
        ({"not": [{}]}, ("not",), "must be a table", None),
        ({"not": {"all_of": [{"x": 1}]}}, ("not", "all_of", 0, "x"), "no such predicate", None),
        ("always", (), "must be a table", None),
    ],
)
def test_mistake_in_a_condition_names_its_place_and_the_nearest_word(table, path, message, nearest):
    with pytest.raises(ConditionError, match=message) as caught:
        parse_condition(table)
    assert (caught.value.path, caught.value.nearest) == (path, nearest)


def test_deep_nesting_is_a_mistake_and_not_a_crash():
    table = {}
    for _ in range(2_000):
        table = {"not": table}
    with pytest.raises(ConditionError, match="nested more than 10 times"):
        parse_condition(table)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", "((a*)*)*b"])
@pytest.mark.req("R-RTE-16")
def test_pattern_that_takes_exponential_time_elsewhere_is_matched_in_time(pattern):
    assert is_true({"message_matches": pattern}, TurnInput(text="a" * 60_000 + "!")) is False


@given(st.text(alphabet="ab(|)*+?{2,}[^]\\d.$", max_size=12), st.text(max_size=40))
def test_any_pattern_is_a_mistake_or_is_matched(pattern, text):
    try:
        condition = parse_condition({"message_matches": pattern})
    except ConditionError as error:
        assert "is not a pattern of RE2" in str(error)
    else:
        assert holds(condition, TurnInput(text=text), lambda: 0) in (True, False)
        assert [each.kind.name for each in iter_tests(condition)] == ["message_matches"]


def test_names_of_combinators_are_no_predicates():
    assert not set(COMBINATORS) & PREDICATES.keys()
    assert all(re.fullmatch("[a-z_]+", name) for name in PREDICATES)
