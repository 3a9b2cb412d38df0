import re

import pytest

from yourtool.providers.tool_ids import ToolIdMap, tool_name


def test_ids_are_ours_whoever_called_r_can_07():
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
    assert [again.known_wire("x", use) for use in (first, second)] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    ("name", "sent"), [("read_file", "read_file"), ("a.b c", "a_b_c"), ("", "unknown")]
)
def test_names_are_sent_as_every_provider_takes_them(name, sent):
    assert tool_name(name) == sent
