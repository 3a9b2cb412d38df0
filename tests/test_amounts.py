from decimal import Decimal

import pytest

from yourtool.amounts import money


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("0", "$0.00"), ("0E-9", "$0.00"), ("0.0000001", "$0.0000001"), ("0.00004", "$0.00004"),
        ("0.0004", "$0.0004"), ("0.0123", "$0.0123"), ("0.10", "$0.1000"), ("0.9999", "$0.9999"),
        ("0.9999999", "$1.00"), ("1", "$1.00"), ("1.755", "$1.76"), ("1234.5", "$1234.50"),
    ],
)  # fmt: skip
def test_money_is_written_with_enough_places_to_tell_it_from_nothing(amount, written):
    assert money(Decimal(amount)) == written
