"""Words and options of a search.

The options are those of `yourtool sessions search`.
"""

import shlex
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from msgspec import Struct

from yourtool.agent.money.cost_report import parse_since
from yourtool.errors import UsageError
from yourtool.foundation.files import expand_home
from yourtool.foundation.suggestions import find_closest
from yourtool.paths import to_stored_path
from yourtool.store.base import EVERYTHING, SearchFilter

OPTIONS = "--model NAME, --file PATH, --tool-failed, --since T, --until T, --min-cost USD, --here"
_WITH_VALUE = ("--model", "--file", "--since", "--until", "--min-cost", "--dir")
_FLAGS = ("--tool-failed", "--here")


class Search(Struct, frozen=True, kw_only=True):
    """What is searched for."""

    words: str = ""
    wanted: SearchFilter = EVERYTHING
    workspaces: tuple[str, ...] = ()
    """Empty: sessions of all directories."""


def parse_search(text: str, workspace: Path, now: datetime) -> Search:
    """Return the search that a text describes; `workspace` is the directory of `--here`.

    Raises:
        UsageError: an option is unknown, or its value is invalid or missing.
    """
    words, values, workspaces = list[str](), dict[str, Any](), ()
    for option, value in _read_options(text):
        match option:
            case "":
                words.append(value)
            case "--model":
                values["model"] = value
            case "--file":
                values["file"] = value.removeprefix("./")
            case "--tool-failed":
                values["tool_failed"] = True
            case "--since" | "--until":
                values[option[2:]] = parse_since(value, now, option)
            case "--min-cost":
                values["min_cost"] = _parse_amount(value)
            case "--dir":
                workspaces = (to_stored_path(workspace / expand_home(Path(value))),)
            case _:
                workspaces = (to_stored_path(workspace),)
    return Search(words=" ".join(words), wanted=SearchFilter(**values), workspaces=workspaces)


def _read_options(text: str) -> Iterator[tuple[str, str]]:
    """Yield options with their values; words have an empty option."""
    if "--" not in text:
        yield "", text.strip()
        return
    parts = iter(_split(text))
    for part in parts:
        option, has_value, value = part.partition("=")
        if not part.startswith("--"):
            yield "", part
        elif option in _FLAGS and not has_value:
            yield option, ""
        elif option in _WITH_VALUE:
            value = value if has_value else next(parts, "")
            if not value:
                raise UsageError(f"`{option}` needs a value; the options are {OPTIONS}.")
            yield option, value
        else:
            near = find_closest(option, (*_WITH_VALUE, *_FLAGS))
            hint = f"did you mean `{near}`?" if near else f"the options are {OPTIONS}."
            raise UsageError(f"`{option}` is no option of a search; {hint}")


def _split(text: str) -> list[str]:
    """Return the parts of a command line, of which quoted ones can have spaces."""
    try:
        return shlex.split(text)
    except ValueError:  # a single quotation mark, such as an apostrophe
        return text.split()


def _parse_amount(text: str) -> Decimal:
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise UsageError(f"`--min-cost {text}` is no amount in US dollars, such as `0.50`.")
    return amount
