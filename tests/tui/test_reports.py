"""Pure functions of the interface: status line, picker rows, reports, key tables."""

import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from hypothesis import given
from rich.cells import cell_len

from tests.tui.fakes import GPT, SONNET, WHEN, failed, message, replied, started
from yourtool.agent.commands import COMMANDS
from yourtool.amounts import Spending
from yourtool.effects import SideEffects
from yourtool.events.model_calls import LlmCallStarted
from yourtool.events.tools import (
    ToolCalled,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolFailed,
)
from yourtool.messages.message import Role
from yourtool.messages.usage import UsageExtra
from yourtool.models import AdapterCapabilities, Model
from yourtool.tui.drafts import Draft
from yourtool.tui.keys import KEYS
from yourtool.tui.reports import context_report, cost_report, format_price, help_report
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_handlers import COMMAND_HANDLERS
from yourtool.tui.screens.picker_choices import (
    history_choices,
    model_choices,
    session_choices,
)
from yourtool.tui.transcript.items import ErrorItem
from yourtool.tui.transcript.text_items import ReplyItem, ThinkingItem
from yourtool.tui.widgets.approval import ApprovalPrompt
from yourtool.tui.widgets.prompt import Prompt
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


# Tables of commands and keys


@pytest.mark.req("R-TUI-21")
def test_every_command_of_the_table_has_a_handler():
    assert set(COMMAND_HANDLERS) == {command.name for command in COMMANDS}


@pytest.mark.req("R-TUI-21")
def test_every_key_of_the_table_has_an_action():
    owners = {"chat": ChatScreen, "prompt": Prompt, "approval": ApprovalPrompt}
    for key in KEYS:
        if key.action:
            name = key.action.partition("(")[0]
            assert hasattr(owners[key.place], f"action_{name}"), key.id


@pytest.mark.req("R-TUI-21")
def test_help_lists_every_command_and_key():
    rows = [row for section in help_report() for row in section.rows]
    names = [name for name, _ in rows]
    assert all(command.usage in names for command in COMMANDS)
    assert all((key.label, key.description) in rows for key in KEYS)
    aliases = [alias for command in COMMANDS for alias in command.aliases]
    assert all(any(f"`/{alias}`" in text for _, text in rows) for alias in aliases)


def test_key_ids_are_unique():
    assert len({key.id for key in KEYS}) == len(KEYS)


# Status line


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


# Pickers


def no_openai(provider):
    return "no key: set `OPENAI_API_KEY`" if provider == "openai" else None


@pytest.mark.req("R-TUI-19")
def test_configured_models_come_first_and_others_have_a_reason():
    first, second = model_choices([GPT, SONNET], no_openai, SONNET.id)
    assert (first.value, first.enabled) == (SONNET.id, True)
    assert "200k context" in first.detail
    assert "$3 in, $15 out" in first.detail
    assert "⚒▣--✻" in first.detail
    assert "in use" in first.title
    assert (second.enabled, second.detail) == (False, "no key: set `OPENAI_API_KEY`")


@pytest.mark.req("R-TUI-19")
def test_capabilities_have_fixed_columns_and_guesses_are_marked():
    model = Model(
        id="x:y",
        wire_name="y",
        capabilities=AdapterCapabilities(supports_tools=False, supports_images=True),
        known=False,
    )
    [choice] = model_choices([model], lambda provider: None, "")
    assert choice.detail.startswith("-▣-")
    assert "guess" in choice.detail
    assert "unpriced" in choice.detail


def summary(**changes):
    values = {
        "id": "sess_1",
        "title": "fix it",
        "workspace_path": "/w",
        "active_model": None,
        "turn_count": 1,
        "unpriced": False,
        "cost_usd": Decimal("0.5"),
        "updated_at": WHEN - timedelta(hours=2),
    }
    return SimpleNamespace(**{**values, **changes})


@pytest.mark.req("R-TUI-20")
def test_sessions_of_this_workspace_come_first_then_the_newest(tmp_path):
    here = str(tmp_path)
    rows = session_choices(
        [
            summary(id="a", updated_at=WHEN),
            summary(id="b", workspace_path=here, updated_at=WHEN - timedelta(days=3)),
            summary(id="c", workspace_path=here, turn_count=2),
            summary(id="d", cost_usd=Decimal(0), unpriced=True, updated_at=WHEN),
        ],
        tmp_path,
        WHEN,
    )
    assert [row.value for row in rows][:3] == ["c", "b", "a"]
    assert "· unpriced ·" in rows[3].detail
    assert rows[0].detail == "2 h ago · 2 turns · $0.5000 · default model · here"


def test_earlier_prompts_are_listed_once_latest_first():
    rows = history_choices([Draft("a"), Draft("b\nmore"), Draft("a")])
    assert [(row.value, row.title) for row in rows] == [("2", "a"), ("1", "b …")]


# Reports


@pytest.mark.req("R-CST-02")
def test_cost_is_the_sum_of_the_completed_requests():
    facts = [
        started("one"),
        replied("a", cost="0.25"),
        started("two"),
        replied("b", cost="0.50"),
        replied("c", cost="1", model=GPT.id),
    ]
    totals, models, roles = cost_report(facts, Spending(cost_usd=Decimal(3), requests=4))
    assert dict(totals.rows)["session"].startswith("$1.75 for 3 requests")
    assert dict(totals.rows)["last turn"].startswith("$1.50 for 2 requests")
    assert dict(totals.rows)["today, all sessions"] == "$3.00 for 4 requests"
    assert dict(totals.rows)["read from cache"].startswith("75%")
    assert [name for name, _ in models.rows] == [SONNET.id, GPT.id]
    assert [(name, words[:5]) for name, words in roles.rows] == [("agent", "$1.75")]


@pytest.mark.req("R-CST-02")
def test_reported_cost_is_listed_next_to_the_computed_cost():
    facts = [
        started("one"),
        replied("a", cost="0.25", extra=UsageExtra(reported_cost_usd=Decimal("0.31"))),
        replied("b", cost="0.50"),
    ]
    totals, *_ = cost_report(facts, Spending())
    rows = dict(totals.rows)
    assert rows["session"].startswith("$0.7500 for 2 requests")
    assert rows["reported by providers"] == "$0.3100 for 1 of 2 requests"


@pytest.mark.req("R-CST-01")
def test_session_without_prices_is_unpriced():
    unknown = UsageExtra(unpriced=True, estimated=True)
    facts = [started("one"), replied("a", cost="0", extra=unknown)]
    totals, *_ = cost_report(facts, Spending())
    words = dict(totals.rows)["session"]
    assert words.startswith("unpriced for 1 request, 1 with estimated tokens; tokens")
    mixed, *_ = cost_report([*facts, replied("b", cost="0.5")], Spending())
    assert dict(mixed.rows)["session"].startswith("$0.5000 for 2 requests, 1 unpriced")


@pytest.mark.parametrize(
    ("requests", "unpriced", "words"),
    [(2, 0, "$0.5000 for 2 requests"), (3, 1, "$0.5000 for 3 requests, 1 unpriced")],
)
@pytest.mark.req("R-CST-01")
def test_day_total_counts_unpriced_requests(requests, unpriced, words):
    today = Spending(cost_usd=Decimal("0.5"), requests=requests, unpriced_requests=unpriced)
    [totals] = cost_report([], today)
    assert dict(totals.rows)["today, all sessions"] == words


@pytest.mark.req("R-CST-01")
def test_day_without_prices_is_unpriced():
    [totals] = cost_report([], Spending(requests=1, unpriced_requests=1))
    assert dict(totals.rows)["today, all sessions"] == "unpriced for 1 request"


def test_session_without_requests_costs_nothing():
    [totals] = cost_report([], Spending())
    assert dict(totals.rows)["session"].startswith("$0.00 for 0 requests")


def test_context_lists_each_part_and_the_free_space():
    sections = context_report(SONNET, [("tools", 50_000)], 1_234)
    rows = dict(row for section in sections for row in section.rows)
    assert rows["tools"] == "50,000 tokens, 25.0%"
    assert rows["free"] == "150,000 tokens, 75.0%"
    assert rows["prompt and reply"] == "1,234 tokens"


@pytest.mark.req("R-CST-01")
def test_missing_price_is_unpriced():
    assert format_price(None) == "unpriced"


# Start


@pytest.mark.req("R-QLT-01")
def test_first_paint_imports_no_unneeded_library():
    code = "import sys, yourtool.tui.app; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    late = {"httpx", "sqlite3", "anthropic", "openai", "pygments", "pydantic", "markdown_it"}
    assert late.isdisjoint(loaded)
    assert "yourtool.agent.runtime" not in loaded
