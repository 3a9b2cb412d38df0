"""Arguments of `/goal`."""

import re
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from yourtool.errors import UsageError

USAGE = "[--turns N] [--cost USD] [--minutes N] TEXT [-- COMMAND]"
_OPTION = re.compile(r"--(turns|cost|minutes)[ =]+([^\s=]\S*)\s*")
_CHECK = re.compile(r"(?:^|\s)--\s+")
_MOST = 10_000


class Goal(Struct, frozen=True, kw_only=True):
    """A goal with its limits."""

    text: str
    check: str = ""
    """The command that succeeds when it is met; empty: a model decides."""
    turns: int = 20
    cost_usd: Decimal = Decimal(5)
    minutes: int = 60


def parse_goal(argument: str) -> Goal:
    """Return the goal of an argument, such as `--turns 5 make it pass -- make test`.

    Raises:
        UsageError: it has no text, or the value of an option is no positive number.
    """
    values = dict[str, str]()
    rest = argument.strip()
    while (found := _OPTION.match(rest)) is not None:
        values[found[1]], rest = found[2], rest[found.end() :]
    text, *check = _CHECK.split(rest, maxsplit=1)
    if not text.strip():
        raise UsageError(f"A goal needs a text: `/goal {USAGE}`.")
    if check and not check[0].strip():
        raise UsageError("After `--` follows the command that checks the goal.")
    numbers = {name: _parse(name, value) for name, value in values.items()}
    return Goal(
        text=text.strip(),
        check=check[0].strip() if check else "",
        turns=int(numbers.get("turns", 20)),
        cost_usd=numbers.get("cost", Decimal(5)),
        minutes=int(numbers.get("minutes", 60)),
    )


def _parse(name: str, value: str) -> Decimal:
    try:
        number = Decimal(value.lstrip("$"))
    except InvalidOperation:
        number = Decimal(0)
    is_whole = name == "cost" or number == number.to_integral_value()
    if not (number.is_finite() and 0 < number <= _MOST and is_whole):
        raise UsageError(f"`--{name}` of `/goal` takes a positive number, not `{value}`.")
    return number
