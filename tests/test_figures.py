"""The tables that `make security` and `make craft` print."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import figures
from tests.figures import TABLES, count_case, format_figures, record_figure
from tests.security.corpora import MISSING


@pytest.fixture(autouse=True)
def empty(monkeypatch):
    monkeypatch.setattr(
        figures, "_measured", {name: {} for table in TABLES.values() for name in table}
    )
    monkeypatch.setattr(figures, "_cases", figures.Counter())


@pytest.mark.parametrize("table", TABLES)
def test_every_row_is_printed_with_its_goal_in_order(table):
    rows = format_figures(table)[1:]
    assert [row.partition("  ")[0] for row in rows] == [
        each.measure for each in TABLES[table].values()
    ]
    assert all(row.endswith("not measured in this run") for row in rows)


def test_measured_rows_have_a_line_for_each_part():
    record_figure("sandbox", "0 of 60", part="full, root")
    record_figure("sandbox", "1 of 60", part="full, user")
    found = [row for row in format_figures("security") if row.startswith("sandbox probes")]
    assert [row.split("; ")[1].split()[0:2] for row in found] == [
        ["full,", "root"],
        ["full,", "user"],
    ]
    assert found[1].endswith("1 of 60")


def test_cases_that_pass_are_counted():
    for passed in (True, True, False):
        count_case("payloads", passed)
    assert any(row.endswith("2 of 3 pass") for row in format_figures("security"))


def test_row_that_is_not_in_the_table_is_an_error():
    with pytest.raises(KeyError):
        record_figure("speed", "1")


def test_table_says_which_larger_sets_are_missing(tmp_path):
    path_case = "test_path_is_judged_as_in_the_corpus_and_counted[inside-plain-read-000-components]"
    tests = (
        "tests/cli/test_permissions.py::test_figures_of_the_recorded_corpus",
        f"tests/security/test_paths.py::{path_case}",
    )
    options = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "security"]
    options += ["--basetemp", str(tmp_path / "base")]  # else it deletes those of earlier runs
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "YOURTOOL_SHARED": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [row for row in done.stdout.splitlines() if row.endswith(MISSING)]
    assert [row.split(";")[0].split(":")[0] for row in said] == [
        "commands of the corpus",
        "path cases in three modes",
    ]
