import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import say, screen_text, settle
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.completer import Completer


@pytest.mark.parametrize(
    ("typed", "level", "shown"),
    [
        ("/effort xhigh", "xhigh", "Thinking: xhigh."),
        ("/effort -", None, "Thinking: None."),
        ("/effort", "low", "Thinking: low."),
        ("/effort so-so", "low", "Unknown reasoning effort `so-so`"),
    ],
)
@pytest.mark.req("R-ADP-17")
async def test_reasoning_effort_is_set_and_shown(tmp_path, typed, level, shown):
    (tmp_path / "work").mkdir()
    session = FakeSession(turn("hello", "Hello."), workspace=tmp_path / "work")
    session.effort = "low"
    runtime = FakeRuntime(tmp_path / "home", session)

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, typed)
        await settle(pilot)
        assert session.effort == level
        assert shown in screen_text(app)


def test_effort_levels_are_completed():
    offered = Completer().suggest("/effort xh")
    assert [each.label for each in offered.candidates] == ["xhigh"]
