"""Snapshots of the screen at three sizes."""

import asyncio
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tests.tui.fakes import (
    GPT,
    SONNET,
    TOUR,
    WHEN,
    Ask,
    FakeRuntime,
    FakeSession,
    approval_request,
    default_route,
    failed_request,
    full_reply,
    text_deltas,
    turn,
    turn_end,
    turn_start,
)
from tests.tui.pilot_helpers import press, say, settle, until
from yourtool.agent.commands import session_list
from yourtool.effects import Confirmation, Preview, SideEffects
from yourtool.events.deltas import ToolUseEnd, ToolUseStart
from yourtool.events.tools import ToolCalled
from yourtool.messages.message import Role
from yourtool.store.base import MessageExcerpt
from yourtool.tui.app import YourtoolApp
from yourtool.tui.highlight import get_highlighter
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_results import run_command
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.sessions import DEMO_NOTICE

SIZES = pytest.mark.parametrize(
    "size", [(40, 12), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}"
)
THEMES = pytest.mark.parametrize("theme", ["dark", "light"])
REPLY = (
    "# Done\n\nThe parser now reads **both** forms:\n\n- `a = 1`\n- `b: 2`\n\nNothing else changed."
)
DIFF = (
    "--- a/src/parse.py\n+++ b/src/parse.py\n@@ -10,4 +10,5 @@ def parse(text):\n"
    "     head, _, tail = text.partition('=')\n-    return head, tail\n"
    "+    if not tail:\n+        head, _, tail = text.partition(':')\n"
    "+    return head.strip(), tail.strip()\n"
)


class Still:
    """A stopped clock, so that durations stay zero."""

    def __call__(self) -> float:
        return 1_000.0


@pytest.fixture
def app_of(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def make(*scripts, theme="dark"):
        session = FakeSession(*(scripts or (turn("hello", REPLY),)), workspace=work)
        runtime = FakeRuntime(tmp_path / "home", session)
        runtime.options.workspace = Path("/home/me/work")  # the screen must not vary

        async def opens():
            return runtime

        app = YourtoolApp(opens, theme=theme)
        app.chat = ChatScreen(run_command, Still())
        app.runtime_of_test = runtime
        return app

    return make


async def opened(pilot):
    await until(pilot, lambda: pilot.app.chat.session is not None)
    await settle(pilot)


def tool_call(name, arguments):
    ids = {"message_id": "m1", "content_block_index": 1, "tool_use_id": "tu_1"}
    return (
        ToolUseStart(tool_name=name, **ids),
        ToolUseEnd(final_input=arguments, **ids),
    )


@SIZES
@pytest.mark.req("R-TUI-24")
def test_start(app_of, snap_compare, size):
    assert snap_compare(app_of(), terminal_size=size, run_before=opened)


@SIZES
@pytest.mark.req("R-TUI-24")
def test_streaming(app_of, snap_compare, size):
    script = [turn_start("explain"), default_route(), *text_deltas(REPLY[:60]), asyncio.Event()]

    async def play(pilot):
        await opened(pilot)
        await say(pilot, "explain")
        await until(pilot, lambda: pilot.app.chat.runner.is_running)
        await settle(pilot)

    assert snap_compare(app_of(script), terminal_size=size, run_before=play)


@SIZES
@pytest.mark.req("R-TUI-24")
def test_tool_card(app_of, snap_compare, size):
    called = ToolCalled(
        tool_use_id="tu_1",
        tool_name="read_file",
        input_hash="",
        input_size_bytes=20,
        side_effects=SideEffects.READ,
    )
    calls = tool_call("read_file", {"path": "src/parse.py"})
    script = [
        turn_start("look"),
        default_route(),
        *text_deltas("I look."),
        *calls,
        called,
        asyncio.Event(),
    ]

    async def play(pilot):
        await opened(pilot)
        await say(pilot, "look")
        await settle(pilot)

    assert snap_compare(app_of(script), terminal_size=size, run_before=play)


DIFF_SIZES = pytest.mark.parametrize(
    "size",
    [(40, 12), (80, 24), (120, 40), (200, 50)],
    ids=lambda size: f"{size[0]}x{size[1]}",
)


@DIFF_SIZES
@pytest.mark.req("R-TUI-24")
def test_approval_with_diff(app_of, snap_compare, size):
    asked = Confirmation(
        id="c1",
        kind="tool",
        title="edit_file",
        side_effects=SideEffects.WRITE,
        preview=Preview(kind="diff", body=DIFF, paths=("src/parse.py",)),
        rule="edit_file(src/parse.py)",
    )

    async def play(pilot):
        await opened(pilot)
        pilot.app.chat.set_highlight(get_highlighter)
        await say(pilot, "edit")
        await until(pilot, lambda: pilot.app.chat.approval_prompt.confirmation is not None)
        await settle(pilot)

    app = app_of([turn_start("edit"), default_route(), Ask(asked)])
    assert snap_compare(app, terminal_size=size, run_before=play)


@SIZES
@pytest.mark.req("R-TUI-24")
def test_error(app_of, snap_compare, size):
    async def play(pilot):
        await opened(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: not pilot.app.chat.runner.is_running)
        await settle(pilot)

    app = app_of([turn_start("hello"), default_route(), failed_request(), turn_end()])
    assert snap_compare(app, terminal_size=size, run_before=play)


@SIZES
@THEMES
@pytest.mark.req("R-TUI-24")
def test_picker(app_of, snap_compare, size, theme):
    mini = replace(SONNET, id="anthropic:claude-haiku-4-5", aliases=(), price=GPT.price)

    async def play(pilot):
        await opened(pilot)
        pilot.app.runtime_of_test.catalogue.all = lambda: (GPT, SONNET, mini, TOUR)
        await say(pilot, "/models")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await settle(pilot)

    assert snap_compare(app_of(theme=theme), terminal_size=size, run_before=play)


@SIZES
@THEMES
@pytest.mark.req("R-TUI-24")
def test_resume(app_of, snap_compare, size, theme, monkeypatch):
    monkeypatch.setattr(session_list, "now", lambda: WHEN)

    async def play(pilot):
        await opened(pilot)
        pilot.app.runtime_of_test.store.summaries = [
            SimpleNamespace(
                id=f"sess_{n}",
                title=title,
                workspace_path=str(Path("/home/me/code")),
                active_model="openai:gpt-5.2",
                turn_count=n,
                cost_usd=Decimal(n) / 7,
                unpriced=False,
                updated_at=WHEN,
            )
            for n, title in enumerate(("Fix the parser", "Why is the build slow?"), 1)
        ]
        pilot.app.runtime_of_test.store.texts = {
            "sess_1": (
                MessageExcerpt(role=Role.USER, text="The parser fails for `a: 1`; fix it."),
                MessageExcerpt(role=Role.ASSISTANT, text="It now reads both forms. " * 9),
                MessageExcerpt(role=Role.USER, text="Thanks!"),
            )
        }
        await say(pilot, "/resume")
        await settle(pilot)

    assert snap_compare(app_of(theme=theme), terminal_size=size, run_before=play)


@SIZES
@pytest.mark.req("R-TUI-24")
def test_everything_at_once(app_of, snap_compare, size):
    script = [turn_start("go"), default_route(), *text_deltas("Working."), asyncio.Event()]

    async def play(pilot):
        await opened(pilot)
        await say(pilot, "go")
        await say(pilot, "and then this")
        pilot.app.chat.banner.set_notice("demo", DEMO_NOTICE)
        await press(pilot, "/", "m", "o")
        await settle(pilot)

    assert snap_compare(app_of(script), terminal_size=size, run_before=play)


@SIZES
@pytest.mark.req("R-TUI-24")
def test_approval_with_command(app_of, snap_compare, size):
    async def play(pilot):
        await opened(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: pilot.app.chat.approval_prompt.confirmation is not None)
        await settle(pilot)

    app = app_of(
        [turn_start("go"), default_route(), full_reply("I push."), Ask(approval_request())]
    )
    assert snap_compare(app, terminal_size=size, run_before=play)
