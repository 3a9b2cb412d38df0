import re

import pytest

from yourtool.providers.tool_ids import ToolIdMap, sanitize_tool_name


@pytest.mark.req("R-CAN-07")
def test_ids_are_ours_whoever_called():
    ids = ToolIdMap()
    for wire in ("toolu_1", "call_1", "0", "", None):
        assert ids.canonical("openai", wire).startswith("tu_")


def test_a_provider_sees_its_own_ids_and_another_ones_that_are_made():
    ids = ToolIdMap()
    ours = ids.canonical("anthropic", "toolu_1")
    assert ids.wire("anthropic", ours) == "toolu_1"
    assert ids.wire("openai", ours) == f"call_{ours[3:]}"
    assert ids.wire("openai", ours, re.compile("[A-Za-z0-9]{9}")) == ours[-9:]


def test_an_id_issued_again_belongs_to_the_first_call_so_that_bytes_stay_the_same():
    ids = ToolIdMap()
    first = ids.canonical("x", "call_0")
    before = ids.wire("x", first)
    second = ids.canonical("x", "call_0")
    assert ids.wire("x", first) == before == "call_0"
    assert ids.wire("x", second) == f"call_{second[3:]}"


def test_a_map_is_rebuilt_from_what_was_stored():
    ids = ToolIdMap()
    first, second = ids.canonical("x", "call_0"), ids.canonical("x", "call_1")
    again = ToolIdMap([(first, "x", "call_0"), (second, "x", "call_1")])
    assert [again.issued_id("x", use) for use in (first, second)] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    ("name", "sent"), [("read_file", "read_file"), ("a.b c", "a_b_c"), ("", "unknown")]
)
def test_names_are_sent_as_every_provider_takes_them(name, sent):
    assert sanitize_tool_name(name) == sent


NINE = re.compile("[A-Za-z0-9]{9}")


@pytest.mark.parametrize("accepted", [NINE, re.compile("[a-zA-Z0-9_-]{1,64}")])
def test_no_two_calls_are_sent_under_the_same_id_and_each_keeps_its_own(accepted):
    tail = "00000ABCDEFGHJ"
    calls = [f"tu_{number:012}{tail}" for number in range(50)]
    ids = ToolIdMap([("tu_theirs", "mistral", calls[0][-9:])])
    sent = [ids.wire("mistral", call, accepted) for call in calls]
    assert len({*sent, calls[0][-9:]}) == len(calls) + 1
    assert all(accepted.fullmatch(each) for each in sent)
    assert [ids.wire("mistral", call, accepted) for call in calls] == sent
    again = ToolIdMap([("tu_theirs", "mistral", calls[0][-9:])])
    assert [again.wire("mistral", call, accepted) for call in calls] == sent


def test_an_id_that_a_provider_issues_after_it_was_made_here_does_not_name_two_calls():
    ids = ToolIdMap()
    ours = ids.canonical("mistral", None)
    made = ids.wire("mistral", ours, NINE)
    later = ids.canonical("mistral", made)
    assert ids.wire("mistral", ours, NINE) == made != ids.wire("mistral", later, NINE)


def test_an_id_of_ours_that_is_too_short_to_cut_is_sent_all_the_same():
    assert NINE.fullmatch(ToolIdMap().wire("mistral", "tu_1", NINE))
