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
def test_unparsable_values_are_mistakes_in_the_file(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_toml(text, Decimal)


def test_invalid_toml_is_reported_with_its_position():
    with pytest.raises(tomllib.TOMLDecodeError, match="at line 2"):
        parse_toml("a = 1\nb = x")


def test_numbers_are_parsed_as_exactly_as_requested():
    assert parse_toml("a = 0.1", Decimal) == {"a": Decimal("0.1")}
    assert parse_toml("a = 0.1") == {"a": 0.1}
