"""Style sheets that are parsed once for all apps of the tests.

An app parses the CSS of its widgets when it starts, which takes a sixth of the time of its test.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[tuple[Any, ...], list[RuleSet]] = {}


def _parse_once(sheet: Stylesheet, css: str, read_from: Any, *more: Any, **named: Any) -> Any:
    variables: Iterable[Any] = sheet._variables.items()
    key = (css, read_from, more, *named.values(), *variables)
    if key not in _parsed:
        _parsed[key] = _parse(sheet, css, read_from, *more, **named)
    return _parsed[key]


def share_parsed_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every app take the rules that another one parsed with the same variables."""
    monkeypatch.setattr(Stylesheet, "_parse_rules", _parse_once)
