"""Snapshots of the screen at three sizes."""

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
)
from tests.tui.pilot_helpers import say, settle, until
from yourtool.agent.commands.sessions import session_list
from yourtool.messages.message import Role
from yourtool.store.base import MessageExcerpt
from yourtool.tui.screens.picker import Picker

SIZES = pytest.mark.parametrize(
    "size", [(40, 12), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}"
)
THEMES = pytest.mark.parametrize("theme", ["dark", "light"])


async def opened(pilot):
    await until(pilot, lambda: pilot.app.chat.session is not None)
    await settle(pilot)


@SIZES
@THEMES
@pytest.mark.req("R-TUI-24")
@pytest.mark.sample(6)
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
@pytest.mark.sample(6)
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
