"""The parts of the program without which the other tests pass."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T", bound=Callable[..., Any])
ROOT = Path(__file__).parents[1]
REMOVABLE = (
    "extensions/agents",
    "extensions/asides",
    "extensions/editors",
    "extensions/importers",
    "extensions/lab",
    "extensions/linear",
    "extensions/repair",
    "extensions/settings_import",
    "extensions/settings_list",
    "extensions/vim",
    "tools/mcp",
)


def is_removed(part: str) -> bool:
    """Whether a part is not in the program."""
    return not (ROOT / "yourtool" / part).exists()


def find_needs(tests: Iterable[str]) -> list[pytest.MarkDecorator]:
    """Return the marks of a test that looks for tests: it needs the parts to which these belong."""
    names = tuple(tests)
    return [
        pytest.mark.needs(part)
        for part in REMOVABLE
        if any(name.startswith(f"tests/{part}/") for name in names)
    ]


def needs_all(test: T) -> T:
    """Mark a test that compares something with all parts of the program."""
    for part in REMOVABLE:
        test = pytest.mark.needs(part)(test)
    return test
