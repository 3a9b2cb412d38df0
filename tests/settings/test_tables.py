import tomllib
from decimal import Decimal

import pytest

from yourtool.settings.tables import parse_toml


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = " + "[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ("a = " + "{ b = " * 5_000 + "1" + " }" * 5_000, "nested too deeply"),
        ("a = " + "9" * 5_000, "too large"),
        ("a = 1e" + "9" * 30, "too large"),
        ("a = -1e-" + "9" * 30, "too large"),
        ("[" + "a ." * 32_000 + "a]", "more than 100 parts"),
        ("x = {" + '\'=,\'."\\"".' * 16_000 + "a = 1}", "more than 100 parts"),
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


def test_many_dots_outside_of_keys_are_no_mistake():
    numbers, dots = "[" + "0.5, " * 200 + "]", "." * 200
    text = f'a = {numbers}\nb = \'{dots}\' # {dots}\n# {dots}\nc = """{dots}"""\n'
    assert parse_toml(text) == {"a": [0.5] * 200, "b": dots, "c": dots}
