from decimal import Decimal

import pytest

from yourtool.foundation.amounts import format_duration, format_money, format_size


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("0", "$0.00"), ("0E-9", "$0.00"), ("0.0000001", "$0.0000001"), ("0.00004", "$0.00004"),
        ("0.0004", "$0.0004"), ("0.0123", "$0.0123"), ("0.10", "$0.1000"), ("0.9999", "$0.9999"),
        ("0.9999999", "$1.00"), ("1", "$1.00"), ("1.755", "$1.76"), ("1234.5", "$1234.50"),
    ],
)  # fmt: skip
def test_money_has_enough_places_to_differ_from_zero(amount, written):
    assert format_money(Decimal(amount)) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (-3, "0 s"), (0, "0 s"), (0.04, "0 s"), (0.25, "0.2 s"), (4, "4 s"), (9.96, "10 s"),
        (12.3, "12 s"), (59.7, "1 min"), (61, "1 min 1 s"), (120, "2 min"), (3_600, "1 h"),
        (3_601, "1 h"), (7_380.9, "2 h 3 min"), (86_400, "1 d"), (90_061, "1 d 1 h"),
        (366 * 86_400, "366 d"),
    ],
)  # fmt: skip
def test_a_duration_has_its_two_largest_units(seconds, written):
    assert format_duration(seconds) == written


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1_023, "1023 bytes"),
        (1_024, "1.0 KiB"),
        (1_047_500, "1022.9 KiB"),
        (1_048_575, "1.0 MiB"),
        (3 * 2**30, "3,072.0 MiB"),
    ],
)
def test_size_is_in_the_largest_unit(size, shown):
    assert format_size(size) == shown
