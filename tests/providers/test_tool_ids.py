import re

import pytest

from yourtool.providers.tool_ids import ToolIdMap, sanitize_tool_name


@pytest.mark.req("R-CAN-07")
def test_canonical_ids_do_not_depend_on_the_provider():
    ids = ToolIdMap()
    for wire in ("toolu_1", "call_1", "0", "", None):
        assert ids.canonical("openai", wire).startswith("tu_")


def test_provider_gets_its_own_ids_and_other_providers_get_generated_ones():
    ids = ToolIdMap()
    ours = ids.canonical("anthropic", "toolu_1")
    assert ids.wire("anthropic", ours) == "toolu_1"
    assert ids.wire("openai", ours) == f"call_{ours[3:]}"
    assert ids.wire("openai", ours, re.compile("[A-Za-z0-9]{9}")) == ours[-9:]


def test_repeated_id_belongs_to_the_first_call_so_that_bytes_do_not_change():
    ids = ToolIdMap()
    first = ids.canonical("x", "call_0")
    before = ids.wire("x", first)
    second = ids.canonical("x", "call_0")
    assert ids.wire("x", first) == before == "call_0"
    assert ids.wire("x", second) == f"call_{second[3:]}"


def test_id_map_is_rebuilt_from_the_store():
    ids = ToolIdMap()
    first, second = ids.canonical("x", "call_0"), ids.canonical("x", "call_1")
    again = ToolIdMap([(first, "x", "call_0"), (second, "x", "call_1")])
    assert [again.issued_id("x", use) for use in (first, second)] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    ("name", "sent"), [("read_file", "read_file"), ("a.b c", "a_b_c"), ("", "unknown")]
)
def test_tool_names_are_valid_for_every_provider(name, sent):
    assert sanitize_tool_name(name) == sent


NINE = re.compile("[A-Za-z0-9]{9}")


@pytest.mark.parametrize("accepted", [NINE, re.compile("[a-zA-Z0-9_-]{1,64}")])
def test_each_call_has_a_unique_and_stable_wire_id(accepted):
    tail = "00000ABCDEFGHJ"
    calls = [f"tu_{number:012}{tail}" for number in range(50)]
    ids = ToolIdMap([("tu_theirs", "mistral", calls[0][-9:])])
    sent = [ids.wire("mistral", call, accepted) for call in calls]
    assert len({*sent, calls[0][-9:]}) == len(calls) + 1
    assert all(accepted.fullmatch(each) for each in sent)
    assert [ids.wire("mistral", call, accepted) for call in calls] == sent
    again = ToolIdMap([("tu_theirs", "mistral", calls[0][-9:])])
    assert [again.wire("mistral", call, accepted) for call in calls] == sent


def test_provider_id_equal_to_a_generated_one_does_not_name_two_calls():
    ids = ToolIdMap()
    ours = ids.canonical("mistral", None)
    made = ids.wire("mistral", ours, NINE)
    later = ids.canonical("mistral", made)
    assert ids.wire("mistral", ours, NINE) == made != ids.wire("mistral", later, NINE)


def test_canonical_id_that_is_too_short_to_truncate_is_sent():
    assert NINE.fullmatch(ToolIdMap().wire("mistral", "tu_1", NINE))
