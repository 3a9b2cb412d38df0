"""Amounts as people read them."""

from decimal import Decimal


def money(amount: Decimal) -> str:
    """Return US dollars: cents, and below one dollar enough places to tell them from nothing."""
    if amount == 0:
        return "$0.00"
    places = 2 if round(amount, 4) >= 1 else max(4, -amount.adjusted())
    return f"${amount:.{places}f}"
