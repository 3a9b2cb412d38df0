"""The status line: its parts and the activity."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec.structs import replace
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from tests.tui.fakes import FakeSession
from tests.tui.pilot_helpers import screen_text, settle, until
from tests.tui.test_chat import app_of
from yourtool.settings.config import Mode
from yourtool.tui.theme.display_filters import AsciiFilter
from yourtool.tui.widgets.status import (
    MODE_WORDS,
    StatusFields,
    fit_parts,
    status_parts,
)

FULL = StatusFields(
    model="anthropic:claude-sonnet-4-6",
    pending_model="openai:gpt-5.2",
    mode="ask",
    context=41,
    cost="$0.12",
    activity="waiting for you",
    queued=2,
    branch="main",
)


def words(status, width):
    return [part.text for part in fit_parts(status_parts(status, narrow=width < 60), width)]


@pytest.mark.req("R-TUI-18")
def test_wide_status_line_shows_everything():
    assert words(FULL, 120) == [
        "waiting for you",
        "anthropic:claude-sonnet-4-6 → gpt-5.2",
        "ask first",
        "$0.12",
        "2 queued",
    ]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"context": 49}, []),
        ({"context": 50}, ["50% ctx"]),
        ({"is_other_branch": True}, ["git:main"]),
        ({"sandbox": "partial", "context": 95}, ["95% ctx", "sandbox:partial"]),
    ],
)
def test_part_that_first_matters_is_shown_then(changes, shown):
    few = StatusFields(model="m", branch="main", context=0)
    assert words(replace(few, **changes), 120) == ["m", *shown]


def test_chosen_part_is_always_shown():
    status = StatusFields(model="m", branch="main", context=0, sandbox="full")
    parts = status_parts(status, narrow=False, items=("branch", "context", "sandbox"))
    assert [part.text for part in parts] == ["git:main", "0% ctx", "sandbox:full"]


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("ask", "ask first"),
        ("accept-edits", "⏵⏵ accept edits"),
        ("plan", "⏸ plan only"),
        ("auto", "⏵⏵ auto: never ask"),
    ],
)
def test_each_mode_has_words_and_a_colour_of_its_own(mode, text):
    styles = {name: style for name, (_, style) in MODE_WORDS.items()}
    assert words(StatusFields(mode=mode), 120) == [text]
    assert len(set(styles.values())) == len(Mode)


def test_modes_are_drawn_in_ascii_without_utf_8():
    for text, _ in MODE_WORDS.values():
        [drawn] = AsciiFilter().apply([Segment(text)], Color(0, 0, 0))
        assert drawn.text.isascii() and drawn.cell_length == cell_len(text)


@pytest.mark.parametrize(("level", "shown"), [("full", []), ("none", ["no sandbox"]), ("", [])])
def test_sandbox_is_shown_if_it_is_not_full(level, shown):
    assert [each for each in words(replace(FULL, sandbox=level), 120) if "sandbox" in each] == shown


@pytest.mark.req("R-CTX-01")
@pytest.mark.parametrize(
    ("percent", "style"),
    [(74, ""), (75, "$text-warning"), (89, "$text-warning"), (90, "$text-error")],
)
def test_used_context_is_a_warning_from_three_quarters_on(percent, style):
    parts = status_parts(replace(FULL, context=percent), narrow=False)
    assert [each.style for each in parts if each.text == f"{percent}% ctx"] == [style]


@pytest.mark.req("R-TUI-18")
def test_narrow_status_line_shows_the_most_important_parts():
    assert words(FULL, 44)[:2] == ["waiting for you", "claude-sonnet-4-6 → gpt-5.2"]
    assert "git:main" not in words(FULL, 50)


@given(st.integers(1, 130))
@pytest.mark.req("R-TUI-18")
def test_status_line_never_overflows(width):
    kept = words(FULL, width)
    assert len(kept) == 1 or sum(map(cell_len, kept)) + 2 * (len(kept) - 1) <= width


def test_least_important_part_is_dropped_first():
    ranks = [part.rank for part in fit_parts(status_parts(FULL, narrow=False), 60)]
    assert max(ranks) < len(status_parts(FULL, narrow=False)) - 1


@pytest.mark.req("R-TUI-18")
def test_user_chooses_the_parts_and_their_order():
    status = StatusFields(
        model="anthropic:m", mode="ask", context=10, cost="$1", branch="main", activity="working"
    )

    def shown(status, *items):
        return [part.text for part in status_parts(status, narrow=False, items=items)]

    assert shown(status, "cost", "model", "cost") == ["working", "$1", "anthropic:m"]
    assert shown(status, "branch") == ["working", "git:main"]
    assert shown(status) == ["working"]


def test_mode_auto_is_always_shown():
    status = StatusFields(model="m", mode="auto")
    assert [part.text for part in status_parts(status, narrow=False, items=("model",))] == [
        "m",
        "⏵⏵ auto: never ask",
    ]


def test_little_left_of_a_rate_limit_is_shown_with_any_choice_of_parts():
    status = StatusFields(model="m", headroom="requests 12% left, resets 14:05", cost="$1")
    parts = status_parts(status, narrow=False, items=("model",))
    assert [part.text for part in parts] == ["requests 12% left, resets 14:05", "m"]
    assert [part.text for part in fit_parts(parts, 20)] == ["m"]


async def test_demo_shows_the_branch_of_the_project_and_not_that_of_its_copy(tmp_path):
    project, copy = tmp_path / "project", tmp_path / "copy"
    for directory, branch in ((project, "feature/login"), (copy, "master")):
        (directory / ".git").mkdir(parents=True)
        (directory / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    session = FakeSession([], workspace=copy)
    session.project = project
    app, _ = app_of(tmp_path / "home", session)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert app.chat.status_line.status.branch == "feature/login"
        assert "git:" not in screen_text(app)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
        app.chat.status.end_turn()
        await until(pilot, lambda: "git:other" in screen_text(app))
