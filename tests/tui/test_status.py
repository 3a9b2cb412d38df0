"""The status line: its parts, the activity and the branch."""

import subprocess

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec.structs import replace
from rich.cells import cell_len

from tests.tui.fakes import failed, message, replied, started
from yourtool.effects import SideEffects
from yourtool.events.model_calls import LlmCallStarted
from yourtool.events.tools import (
    ToolCalled,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolFailed,
)
from yourtool.messages.message import Role
from yourtool.tui.transcript.items import ErrorItem
from yourtool.tui.transcript.text_items import ReplyItem, ThinkingItem
from yourtool.tui.widgets.status import (
    StatusFields,
    describe_activity,
    find_branch,
    fit_parts,
    status_parts,
)

FULL = StatusFields(
    model="anthropic:claude-sonnet-4-6",
    pending_model="openai:gpt-5.2",
    mode="ask",
    context=41,
    cost="$0.12",
    activity="working",
    seconds=75,
    queued=2,
    branch="main",
)


def words(status, width):
    return [part.text for part in fit_parts(status_parts(status, narrow=width < 60), width)]


@pytest.mark.req("R-TUI-18")
def test_wide_status_line_shows_everything():
    assert words(FULL, 120) == [
        "working 1 min 15 s",
        "anthropic:claude-sonnet-4-6 → gpt-5.2",
        "ask",
        "41% ctx",
        "$0.12",
        "2 queued",
        "git:main",
    ]


@pytest.mark.req("R-TUI-18")
def test_narrow_status_line_shows_the_most_important_parts():
    assert words(FULL, 47)[:2] == ["working 1 min 15 s", "claude-sonnet-4-6 → gpt-5.2"]
    assert "git:main" not in words(FULL, 50)


@given(st.integers(1, 130))
@pytest.mark.req("R-TUI-18")
def test_status_line_never_overflows(width):
    kept = words(FULL, width)
    assert len(kept) == 1 or sum(map(cell_len, kept)) + 2 * (len(kept) - 1) <= width


def test_least_important_part_is_dropped_first():
    ranks = [part.rank for part in fit_parts(status_parts(FULL, narrow=False), 60)]
    assert max(ranks) < len(status_parts(FULL, narrow=False)) - 1


def sent(provider="anthropic"):
    return LlmCallStarted(
        model=f"{provider}:x", provider=provider, estimated_input_tokens=1, request_id="r"
    )


def called(number):
    return ToolCalled(
        tool_use_id=f"tu_{number}",
        tool_name="shell",
        input_hash="",
        input_size_bytes=1,
        side_effects=SideEffects.EXECUTE,
    )


def gave_up(number):
    return ToolFailed(
        tool_use_id=f"tu_{number}",
        tool_name="shell",
        error_class="timeout",
        error_message="",
        latency_ms=1,
        message=message(Role.TOOL, ""),
    )


ASKED = ToolConfirmationRequested(
    tool_use_id="tu_1",
    tool_name="shell",
    side_effects=SideEffects.EXECUTE,
    confirmation_request_id="c1",
    input_summary="",
)
ALLOWED = ToolConfirmationResolved(
    tool_use_id="tu_1", confirmation_request_id="c1", decision="allow"
)


@pytest.mark.req("R-TUI-18")
def test_stalled_reply_is_shown_as_silent():
    status = StatusFields(activity="writing", seconds=75, silent_seconds=32)
    assert status_parts(status, narrow=False)[0].text == "writing 1 min 15 s, no output for 32 s"


def waits(seconds):
    failure = ErrorItem("head", "cause", "advice", clock=lambda: 5.0)
    failure.schedule_retry(seconds, "2 of 3")
    return failure


@pytest.mark.parametrize(
    ("facts", "arriving", "words"),
    [
        ([started("go")], None, "working"),
        ([started("go"), sent()], None, "waiting for anthropic"),
        ([started("go"), sent("ev\x1bil")], None, "waiting for ev␛il"),
        ([started("go"), sent()], ThinkingItem(), "thinking"),
        ([started("go"), sent()], ReplyItem(), "writing"),
        ([started("go"), sent(), failed()], None, "waiting to retry"),
        ([started("go"), sent(), replace(failed(), retryable=False)], None, "ending the turn"),
        ([started("go"), sent(), failed()], waits(10), "waiting to retry"),
        ([started("go"), sent(), failed()], waits(0), "waiting for anthropic"),
        ([started("go"), sent(), replied("x"), ASKED], None, "waiting for you"),
        ([started("go"), sent(), replied("x"), ASKED, ALLOWED, called(1)], None, "running shell"),
        ([started("go"), sent(), replied("x"), called(1), called(2)], None, "running 2 tools"),
        ([sent(), replied("x"), called(1), called(2), gave_up(1)], None, "running shell"),
        ([sent(), replied("x"), called(1), gave_up(1), sent()], None, "waiting for anthropic"),
    ],
)
@pytest.mark.req("R-TUI-18")
def test_status_line_shows_the_activity(facts, arriving, words):
    assert describe_activity(facts, arriving) == words


def test_branch_is_read_without_a_process(tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "topic/x", tmp_path], check=True)
    (tmp_path / "deep").mkdir()
    assert find_branch(tmp_path / "deep") == "topic/x"
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert find_branch(tmp_path) == "01234567"


def test_branch_of_a_worktree_is_found(tmp_path):
    real = tmp_path / "repo" / ".git" / "worktrees" / "w"
    real.mkdir(parents=True)
    (real / "HEAD").write_text("ref: refs/heads/side\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {real}\n")
    assert find_branch(tmp_path / "w") == "side"
