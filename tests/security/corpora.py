"""Corpora of hostile input: our own, and the larger set if it is present."""

import json
from typing import Any

import pytest

from tests.security.commands import COMMANDS
from tests.security.paths import FIXTURE, PATHS
from tests.security.payloads import PAYLOADS
from tests.shared import SHARED

MISSING = "the larger set is not here; `YOURTOOL_SHARED` names its directory"
"""What a table of figures shows without the larger set."""
_RECORDED = SHARED / "security"


def load_recorded(name: str) -> Any:
    """Return a corpus of the larger set, or an empty one without the set."""
    path = _RECORDED / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def _cases(own: list[dict[str, Any]], larger: list[dict[str, Any]]) -> list[Any]:
    ours = [pytest.param(case, id=case["id"]) for case in own]
    return ours + [pytest.param(case, id=case["id"], marks=pytest.mark.recorded) for case in larger]


def command_cases() -> list[Any]:
    return _cases(COMMANDS, load_recorded("shell_commands"))


def path_cases() -> list[Any]:
    """Return the cases with the common fixture in `base`."""
    ours = [{**case, "base": FIXTURE} for case in PATHS]
    base = load_recorded("fixture")
    return _cases(ours, [{**case, "base": base} for case in load_recorded("path_cases")])


def payload_cases() -> list[Any]:
    return _cases(PAYLOADS, load_recorded("terminal_payloads"))


def payload_sets() -> list[Any]:
    """Return both sets as parameters of a test that shows a full case."""
    larger = load_recorded("terminal_payloads")
    return [
        pytest.param(PAYLOADS, id="own"),
        pytest.param(larger, id="recorded", marks=pytest.mark.recorded),
    ]
