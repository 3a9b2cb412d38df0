"""The screen of `/tree`: branches are folded and unfolded."""

import pytest
from textual.app import App

from tests.tui.pilot_helpers import press, screen_text, settle
from yourtool.agent.commands.base import Choice, CommandResults, ShowTree
from yourtool.tui.screens.tree import TreeScreen

ROWS = {
    "a": "› one",
    "b": "re one",
    "c": "├─ › two",
    "d": "│  ├─ › deep",
    "e": "│  └─ › other",
    "f": "│     re other",
    "g": "└─ › three",
}
BRANCHES = {"c": "c", "d": "d", "e": "e", "f": "e", "g": "g"}
OUTER = {"c": "", "d": "c", "e": "c", "g": ""}


async def nothing(value: str) -> CommandResults:
    del value
    return
    yield


@pytest.fixture
def tree():
    choices = tuple(Choice(value, title) for value, title in ROWS.items())
    return ShowTree(
        "Branches", choices, nothing, current="f", columns=("",), branches=BRANCHES, outer=OUTER
    )


def titles(screen):
    return [row.title for row in screen.rows]


@pytest.mark.req("R-SEED-05")
@pytest.mark.remaining
async def test_a_branch_is_folded_to_its_first_entry_with_those_inside(tree):
    picked = []
    async with App().run_test() as pilot:
        screen = TreeScreen(tree)
        pilot.app.push_screen(screen, picked.append)
        await settle(pilot)
        assert screen.highlighted.value == "f"
        await press(pilot, "ctrl+f")
        assert titles(screen)[4:] == ["│  └─ › other … 1 more", "└─ › three"]
        await press(pilot, "up", "up", "ctrl+f")
        assert titles(screen) == ["› one", "re one", "├─ › two … 3 more", "└─ › three"]
        assert screen.highlighted.value == "c"
        assert "3 more" in screen_text(pilot.app)
        await press(pilot, "ctrl+f")
        assert titles(screen)[-2:] == ["│  └─ › other … 1 more", "└─ › three"]
        await press(pilot, "up", "ctrl+f", "enter")
        await settle(pilot)
    assert picked == ["b"], "the trunk cannot be folded"
