import tomllib
from decimal import Decimal

import pytest

from yourtool.tables import parse_toml


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = " + "[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ("a = " + "{ b = " * 5_000 + "1" + " }" * 5_000, "nested too deeply"),
        ("a = " + "9" * 5_000, "too large"),
        ("a = 1e" + "9" * 30, "too large"),
        ("a = -1e-" + "9" * 30, "too large"),
    ],
)
@pytest.mark.req("R-RTE-07")
def test_what_no_parser_can_hold_is_a_mistake_in_the_file(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_toml(text, Decimal)


def test_what_is_not_toml_is_told_with_its_place():
    with pytest.raises(tomllib.TOMLDecodeError, match="at line 2"):
        parse_toml("a = 1\nb = x")


def test_numbers_stay_as_exact_as_they_are_asked_for():
    assert parse_toml("a = 0.1", Decimal) == {"a": Decimal("0.1")}
    assert parse_toml("a = 0.1") == {"a": 0.1}
