"""Approval prompts with very large texts open quickly and require reading to the end."""

import pytest

from tests.clocks import SetClock
from tests.doubling import LINEAR, growth
from tests.tui.fakes import Ask
from tests.tui.pilot_helpers import paint, press, screen_text, send_key, settle, until
from tests.tui.test_approval import ask, asking, wait
from yourtool.effects import Confirmation, Preview, SideEffects, Verdict
from yourtool.foundation.text import escape_line
from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.questions.approval_lines import approval_line

CHINESE = "".join(map(chr, range(0x4E10, 0x5E10)))
RUSSIAN = "".join(f"слово{chr(0x430 + n % 32)}{chr(0x430 + n // 32)} " for n in range(600))
MARKED = "\u0915\u093f\u0301 " * 500
PIECES = {"one word": CHINESE, "words": RUSSIAN, "marks": MARKED, "tabs": "a\t", "spaces": " "}


def change(*lines):
    body = "\n".join(f"+{line}" for line in lines)
    return Preview(
        kind="diff",
        body=f"--- /dev/null\n+++ b/x\n@@ -0,0 +1,{len(lines)} @@\n{body}\n",
        paths=("x",),
    )


def change_of_places(count):
    body = "--- a/x\n+++ b/x\n" + "@@ -1 +1 @@\n-a\n+b\n" * count
    return Preview(kind="diff", body=body, paths=("x",))


QUESTIONS = {
    "one line of a megabyte": change(CHINESE * 85),
    "a megabyte of lines": change(*[CHINESE[at : at + 60] for at in range(0, 3900, 60)] * 85),
    "a change of 40,000 lines": change(*(f"value = {n}" for n in range(40_000))),
    "a change of 100,000 lines": change(*["x"] * 100_000),
    "a change of 300,000 lines": change(*["x"] * 300_000),
    "a change of 15,000 places": change_of_places(15_000),
    "a change of 60,000 places": change_of_places(60_000),
    "a megabyte of command": Preview(kind="text", body="echo " + CHINESE * 85),
    "250 kilobytes of tabs": change("a\t" * 125_000),
    "a megabyte of tabs": change("a\t" * 500_000),
    "a megabyte of argument": None,
}
QUESTIONS["an edit of 10,000 lines of code"] = Preview(
    kind="diff",
    body="--- a/x.py\n+++ b/x.py\n@@ -1,10000 +1,10000 @@\n"
    + "".join(f"-value_{n} = compute('{n}', left, right)\n" for n in range(10_000))
    + "".join(f"+value_{n} = compute('{n}', top, right)\n" for n in range(10_000)),
    paths=("x.py",),
)
IN_THE_LONG_VERSION = {
    "a megabyte of lines",
    "a change of 40,000 lines",
    "a change of 300,000 lines",
    "a change of 60,000 places",
    "a megabyte of command",
    "a megabyte of tabs",
}
"""Kinds with the same shape as others."""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize("kind", PIECES)
@pytest.mark.parametrize("show", [escape_line, approval_line])
def test_line_is_escaped_in_linear_time(show, kind):
    def sized(length):
        return (PIECES[kind] * (length // len(PIECES[kind]) + 1))[:length]

    assert growth(show, sized, 2_000) < LINEAR


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.soak if kind in IN_THE_LONG_VERSION else ())
        for kind in QUESTIONS
    ],
)
@pytest.mark.sample(6)
async def test_approval_prompt_with_a_large_text_does_not_block_the_loop(home, kind):
    clock = SetClock()
    asked = Ask(
        Confirmation(
            id="c1",
            kind="tool",
            title="write_file",
            side_effects=SideEffects.WRITE,
            preview=QUESTIONS[kind],
            input={"content": CHINESE * 85},
        )
    )
    app = asking(home, clock, asked)
    app.chat.set_highlight(get_highlighter)
    async with app.run_test(size=(200, 50) if "code" in kind else (80, 24)) as pilot:
        panel = await ask(pilot, clock)
        assert "│ " in screen_text(app)
        assert "lines not shown" in screen_text(app)
        for key in ("ctrl+e", "pagedown", "ctrl+end", "pageup", "ctrl+home", "escape"):
            send_key(pilot, key)
            await paint(pilot)  # the preview is still drawn in slices
        await until(pilot, lambda: asked.decision is not None)
        assert panel.confirmation is None


@pytest.mark.remaining
async def test_large_text_is_allowed_only_after_its_end_was_shown(home):
    clock = SetClock()
    lines = [f"line {n}" for n in range(4_000)]
    asked = Ask(
        Confirmation(
            id="c1",
            kind="tool",
            title="write_file",
            side_effects=SideEffects.WRITE,
            preview=change(*lines),
        )
    )
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "ctrl+e")
        while not panel.preview.is_complete:
            assert not panel.pane.was_read_to_end
            await press(pilot, "ctrl+end")
        await settle(pilot)
        await press(pilot, "ctrl+end")
        await settle(pilot)
        assert "line 3999" in screen_text(app)
        assert len(panel.preview.rows(panel.preview.content_size.width)) == 4_002
        await until(pilot, lambda: panel.pane.was_read_to_end)
        await wait(pilot, clock, 1)
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW
