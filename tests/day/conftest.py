"""Prints the table of `make day`, and stores its cells in the cache of pytest."""

import msgspec
import pytest

from tests.day.projects import PROJECTS
from tests.day.runner import Cell
from tests.day.table import format_table


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the cells that the tests recorded, also those of other processes."""
    if config.option.markexpr != "day":
        return
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.getreports(kind)]
    recorded = [text for each in reports for name, text in each.user_properties if name == "cells"]
    cells = [cell for text in recorded for cell in msgspec.json.decode(text, type=list[Cell])]
    cells.sort(key=lambda cell: list(PROJECTS).index(cell.project))
    if config.cache is not None:
        config.cache.set("day/cells", msgspec.to_builtins(cells))
    terminalreporter.section("an ordinary day")
    for line in format_table(cells):
        terminalreporter.write_line(line)
    terminalreporter.write_line("every cell as JSON: .pytest_cache/v/day/cells")
