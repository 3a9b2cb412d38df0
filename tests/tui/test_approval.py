import asyncio
import random
import re

import pytest
from msgspec.structs import replace
from textual import events

from tests.clocks import SetClock
from tests.security.corpora import payload_cases
from tests.security.payloads import PAIR, PAYLOADS
from tests.tui.fakes import (
    Ask,
    FakeRuntime,
    FakeSession,
    approval_request,
    default_route,
    full_reply,
    turn_end,
    turn_start,
)
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from yourtool.agent.commands.base import Choice
from yourtool.effects import (
    Confirmation,
    Editable,
    NetworkAnswer,
    NetworkOffer,
    PlanAnswer,
    Preview,
    RuleDescription,
    SandboxOffer,
    Scope,
    SideEffects,
    TrustOffer,
    Verdict,
)
from yourtool.events.tools import ToolConfirmationResolved
from yourtool.settings.ui_config import UiConfig
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.message_queue import QueuedMessage
from yourtool.tui.questions.rule_text import describe_rules
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_results import run_command
from yourtool.tui.screens.draft_editing import DraftEditing
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.report import ReportScreen

LONG = " && ".join(f"step-{n:03}" for n in range(200))
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n same\n-old \u202e line\n+new line\n"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


@pytest.fixture
def clock():
    return SetClock()


def asking(home, clock, *asks):
    session = FakeSession(
        [turn_start("go"), default_route(), *asks, full_reply("done"), turn_end()],
        workspace=home.parent / "work",
    )
    runtime = FakeRuntime(home, session)

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    app.chat = ChatScreen(run_command, clock)
    app.chat.runner.enter = "queue"
    return app


@pytest.mark.req("R-TUI-12")
async def test_prompt_hint_does_not_offer_esc_to_stop_while_esc_denies(home, clock):
    app = asking(home, clock, Ask(approval_request()))
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        assert "Esc" not in app.chat.prompt.border_subtitle
        assert "Esc denies" in app.chat.approval_prompt.border_subtitle
        await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert "? keys" in app.chat.prompt.border_subtitle


async def ask(pilot, clock, *, quiet=True):
    """Start the turn and show the approval prompt for a second without a key."""
    await settle(pilot)
    await say(pilot, "go")
    panel = pilot.app.chat.approval_prompt
    await until(pilot, lambda: panel.confirmation is not None)
    await settle(pilot)
    if quiet:
        await wait(pilot, clock, 1)
    return panel


async def wait(pilot, clock, seconds):
    """Advance the clock and run the actions of the timers."""
    clock.now += seconds
    panel = pilot.app.chat.approval_prompt
    panel.arm_when_safe()
    await settle(pilot)


@pytest.mark.parametrize(
    ("letter", "label", "verdict", "scope"),
    [
        ("a", "Allow once", Verdict.ALLOW, Scope.ONCE),
        ("s", "this session", Verdict.ALLOW, Scope.SESSION),
        ("w", "always", Verdict.ALLOW, Scope.ALWAYS),
        ("d", "Deny", Verdict.DENY, Scope.ONCE),
    ],
)
@pytest.mark.req("R-CONF-03")
@pytest.mark.sample(2)
async def test_letter_answers_after_a_pause_without_other_keys(
    home, clock, letter, label, verdict, scope
):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        panel = app.chat.approval_prompt
        await press(pilot, letter)
        await wait(pilot, clock, 5)
        assert asked.decision is None
        assert f"Enter: {label}" in panel.border_subtitle
        await press(pilot, "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.scope) == (verdict, scope)
        assert not app.chat.approval_prompt.has_class("-open")
        assert app.focused is app.chat.prompt


@pytest.mark.req("R-CONF-03")
async def test_nothing_is_marked_at_first_and_esc_denies(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        assert panel.answers.marked is None
        await press(pilot, "enter")
        await wait(pilot, clock, 1)
        assert asked.decision is None
        await press(pilot, "escape")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("keys", "verdict"),
    [
        (["down", "enter"], Verdict.ALLOW),
        (["tab", "enter"], Verdict.ALLOW),
        (["down", "down", "tab", "enter"], Verdict.DENY),
        (["down", "down", "up", "enter"], Verdict.ALLOW),
        (["y", "enter"], Verdict.ALLOW),
        (["1", "enter"], Verdict.ALLOW),
        ([*"yes", "enter"], Verdict.ALLOW),
        ([*"ok", "enter"], Verdict.ALLOW),
        (["y", "y"], Verdict.ALLOW),
        (["Y", "Y"], Verdict.ALLOW),
        (["A", "enter"], Verdict.ALLOW),
        (["D", "enter"], Verdict.DENY),
        (["n", "enter"], Verdict.DENY),
        (["3", "enter"], Verdict.DENY),
        ([*"no", "enter"], Verdict.DENY),
        (["n", "n"], Verdict.DENY),
        (["d", "d"], Verdict.DENY),
        (["a", "down", "down", "enter"], Verdict.DENY),
        (["y", "backspace", "n", "enter"], Verdict.DENY),
    ],
    ids=" ".join,
)
@pytest.mark.req("R-CONF-03")
@pytest.mark.sample(9)
async def test_keys_of_other_programs_answer_as_they_are_meant(home, clock, keys, verdict):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, *keys)
        await wait(pilot, clock, 0.6)
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.scope) == (verdict, Scope.ONCE)
        assert app.chat.prompt.text == ""
        assert not app.chat.runner.queue.entries


@pytest.mark.parametrize("key", ["1", "a", "y"])
async def test_the_same_key_twice_confirms_unless_another_key_follows(home, clock, key):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, key, key)
        await wait(pilot, clock, 0.4)
        assert asked.decision is None
        assert "Enter: Allow once" in panel.border_subtitle
        await press(pilot, *spell(" tests fail"))
        await wait(pilot, clock, 2)
        assert app.chat.prompt.text == f"{2 * key} tests fail"
        assert asked.decision is None
        await press(pilot, "ctrl+u")
        await wait(pilot, clock, 1)
        await press(pilot, key)
        await wait(pilot, clock, 3)
        await press(pilot, key)
        assert asked.decision is None
        await wait(pilot, clock, 0.5)
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW


@pytest.mark.parametrize("text", ["y", "Yes.", "ok", "no", "a", "aa", "1", "nn", "w", "deny"])
@pytest.mark.parametrize("key", ["enter", "ctrl+enter", "alt+enter", "tab"])
@pytest.mark.req("T20")
@pytest.mark.sample(5)
async def test_an_answer_alone_is_never_sent_as_a_message(home, clock, text, key):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock, quiet=False)
        await press(pilot, *text)
        await wait(pilot, clock, 2)
        await press(pilot, key)
        assert "An answer is no message: press it again" in panel.border_subtitle
        assert (asked.decision, app.chat.prompt.text) == (None, "")
        assert not app.chat.runner.queue.entries
        await wait(pilot, clock, 2)
        await press(pilot, "y", "enter")
        await until(pilot, lambda: asked.decision is not None)


@pytest.mark.req("T20")
async def test_up_recalls_nothing_while_a_question_is_open(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock, quiet=False)
        await press(pilot, "up")
        assert app.chat.prompt.text == ""
        assert "Typed too early: press again" in panel.border_subtitle
        await wait(pilot, clock, 1)
        await press(pilot, "up", "up", "enter")
        assert (asked.decision, panel.answers.marked) == (None, None)
        await wait(pilot, clock, 1)
        await press(pilot, "up")
        assert "Up recalls nothing here: ↓ marks an answer" in panel.border_subtitle
        await press(pilot, "x", "up")
        assert app.chat.prompt.text == "x"
        await press(pilot, "ctrl+u", "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "up")
        assert app.chat.prompt.text == "go"


async def test_click_marks_an_answer_and_the_second_one_confirms_it(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await pilot.click(panel.answers, offset=(8, 2))
        await settle(pilot)
        assert (asked.decision, panel.answers.marked) == (None, 2)
        assert "Enter: Deny" in panel.border_subtitle
        for _ in range(2):  # a double click only marks
            await pilot.click(panel.answers, offset=(8, 0))
            await settle(pilot)
            assert (asked.decision, panel.answers.marked) == (None, 0)
        await wait(pilot, clock, 0.6)
        await pilot.click(panel.answers, offset=(8, 0))
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW


async def test_click_on_a_question_that_was_not_seen_answers_nothing(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock, quiet=False)
        await pilot.click(panel.answers, offset=(8, 0))
        await pilot.click(panel.answers, offset=(8, 0))
        await settle(pilot)
        assert (asked.decision, panel.answers.marked) == (None, None)


async def test_shift_tab_accepts_edits_and_the_one_that_is_asked_about(home, clock):
    preview = Preview(kind="diff", body=DIFF, paths=("x.py",))
    asked = Ask(replace(approval_request(), preview=preview, offers_edits=True))
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "shift+tab")
        assert "Enter: all edits, this session" in panel.border_subtitle
        assert asked.decision is None
        await press(pilot, "shift+tab")
        await wait(pilot, clock, 1)
        assert asked.decision is None, "the second one changes the mode"
        await press(pilot, "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.accepts_edits


@pytest.mark.req("R-CONF-03")
async def test_deny_with_a_note_sends_the_reason(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "r", "enter")
        await until(pilot, lambda: app.focused is panel.field)
        await press(pilot, *"wrong", "escape")
        await settle(pilot)
        assert asked.decision is None
        await press(pilot, "r", "enter")
        await press(pilot, *"later", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.note) == (Verdict.DENY, "later")


@pytest.mark.parametrize("pause", [0.0, 0.5, 1.5, 60.0])
@pytest.mark.parametrize("typed", ["no, look at the other file first", "a test", "s w"])
@pytest.mark.req("T20")
@pytest.mark.sample(6)
async def test_message_is_no_answer_whatever_pause_is_after_its_first_letter(
    home, clock, typed, pause
):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, typed[0])
        await wait(pilot, clock, pause)
        await press(pilot, *("space" if char == " " else char for char in typed[1:]), "enter")
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert [draft.text for draft in app.chat.runner.queue.drafts] == [typed]


@pytest.mark.req("T20")
async def test_letter_after_a_space_is_a_message(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "space", "b", "enter")
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert [draft.text.strip() for draft in app.chat.runner.queue.drafts] == ["b"]


async def test_backspace_withdraws_a_chosen_answer_and_esc_denies(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "a", "backspace", "enter")
        await wait(pilot, clock, 2)
        assert (asked.decision, app.chat.prompt.text) == (None, "")
        await press(pilot, "a")
        assert "Enter: Allow once" in panel.border_subtitle
        await press(pilot, "escape")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, app.chat.prompt.text) == (Verdict.DENY, "")


async def test_note_is_kept_when_esc_goes_back_and_paste_never_sends_it(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "r", "enter")
        app.post_message(events.Paste("too\rwide\r"))
        await settle(pilot)
        assert asked.decision is None
        await press(pilot, "tab")
        assert app.focused is panel.field
        await press(pilot, "escape", "r", "enter", "end", "!", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.note == "too\nwide\n!"


@pytest.mark.parametrize(("size", "hint"), [((80, 24), "Typed too early: "), ((40, 12), "")])
@pytest.mark.req("T20")
async def test_answer_typed_too_early_says_so(home, clock, size, hint):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test(size=size) as pilot:
        await ask(pilot, clock)
        await press(pilot, "x", "ctrl+u", "a")
        assert app.chat.prompt.text == "a"
        assert f"{hint}clear the prompt, then press again" in screen_text(app)
        await wait(pilot, clock, 3)
        assert f"{hint}clear the prompt, then press again" in screen_text(app)
        await press(pilot, "ctrl+u")
        assert "press again" not in screen_text(app)
        await wait(pilot, clock, 1)
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("enter", "Enter answers nothing here: a allows, d denies"),
        ("4", "4 answers nothing here: clear the prompt, then a allows, d denies"),
    ],
)
async def test_key_that_answers_elsewhere_shows_which_keys_answer(home, clock, key, words):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot, clock)
        await press(pilot, key)
        assert words in screen_text(app)
        await wait(pilot, clock, 2)
        assert words in screen_text(app)
        assert asked.decision is None
        await press(pilot, *"go")
        assert "answers nothing" not in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_command_has_one_bar_before_it(home, clock, size):
    app = asking(home, clock, Ask(approval_request()))
    async with app.run_test(size=size) as pilot:
        await ask(pilot, clock)
        lines = [line for line in screen_text(app).splitlines() if "git push" in line]
        assert lines
        assert not any(line.count("│") > 1 for line in lines)


@pytest.mark.req("T20")
async def test_keys_before_the_quiet_time_go_to_the_prompt(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock, quiet=False)
        await press(pilot, "a", "s", "enter")
        await wait(pilot, clock, 1)
        assert asked.decision is None
        assert app.chat.runner.queue.drafts[0].text == "as"


@pytest.mark.req("T20")
async def test_prompt_with_text_gets_every_key_until_it_is_cleared(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock, quiet=False)
        await press(pilot, "x")
        await wait(pilot, clock, 5)
        await press(pilot, "a", "down")
        await wait(pilot, clock, 5)
        await press(pilot, "a")
        await wait(pilot, clock, 5)
        assert app.chat.prompt.text == "xaa"
        assert "clear the prompt to answer" in panel.border_subtitle
        await press(pilot, "ctrl+c")
        await wait(pilot, clock, 1)
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)


@pytest.mark.parametrize("words", ["add tests", "ss", "what now"])
async def test_message_typed_below_a_question_is_sent_by_enter(home, clock, words):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        for char in words:
            await press(pilot, char)
            clock.now += 0.06
        await press(pilot, "enter")
        await wait(pilot, clock, 1)
        assert asked.decision is None
        assert panel.confirmation is asked.question
        assert [draft.text for draft in app.chat.runner.queue.drafts] == [words]


@pytest.mark.parametrize(
    "words", ["www.x ", "aardvark", "ssh ", "ww", "yesterday ", "okra", "nope"]
)
@pytest.mark.sample(6)
async def test_no_key_is_lost_during_an_approval_prompt(home, clock, words):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        for char in words:
            await press(pilot, "space" if char == " " else char)
            clock.now += 0.08
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert app.chat.prompt.text == words


@pytest.mark.parametrize("quiet", [False, True])
async def test_letter_and_enter_answer_only_a_question_that_was_seen(home, clock, quiet):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock, quiet=quiet)
        if not quiet:
            await wait(pilot, clock, 0.9)
        await burst(pilot, "a", "enter", "b")
        await wait(pilot, clock, 2)
        assert (asked.decision is not None) == quiet
        assert not app.chat.runner.queue.drafts
        assert app.chat.prompt.text == "b"


@pytest.mark.parametrize("key", ["pageup", "ctrl+e", "home", "delete"])
@pytest.mark.sample(2)
async def test_letter_stays_marked_beside_keys_that_are_no_text(home, clock, key):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "a", key)
        await wait(pilot, clock, 1)
        assert asked.decision is None
        assert (app.chat.prompt.text, panel.answers.marked) == ("a", 0)


@pytest.mark.req("T20")
async def test_sentence_goes_completely_to_the_prompt(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "a", "d", "d")
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert app.chat.prompt.text == "add"


@pytest.mark.req("T20")
async def test_paste_never_answers(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        app.post_message(events.Paste("a\r"))
        await settle(pilot)
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert app.chat.prompt.text == "a\n"


@pytest.mark.req("T20")
async def test_burst_of_keys_goes_to_the_prompt_in_order(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        for char in "go on, and add this":
            key = events.Key({" ": "space", ",": "comma"}.get(char, char), char)
            app._driver.send_message(key)
        app._driver.send_message(events.Key("enter", "\r"))
        await until(pilot, lambda: app.chat.runner.queue.drafts)
        await wait(pilot, clock, 0.1)
        assert asked.decision is None
        assert app.chat.runner.queue.drafts[0].text == "go on, and add this"


@pytest.mark.req("T20")
async def test_keys_in_a_list_above_the_approval_prompt_do_not_answer(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        app.chat.prompt.load(Draft("/models"))
        app.chat.prompt.action_send()
        await settle(pilot)
        await press(pilot, "a", "escape")
        await settle(pilot)
        await press(pilot, "a", "x")
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert app.chat.prompt.text == "ax"


async def test_y_and_a_space_do_not_answer(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "y", "space")
        await wait(pilot, clock, 2)
        assert (asked.decision, panel.answers.marked) == (None, None)
        assert app.chat.prompt.text == "y "


@pytest.mark.parametrize("key", ["x", "y", "space", "1"])
@pytest.mark.sample(2)
async def test_text_after_a_moved_mark_goes_to_the_prompt(home, clock, key):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "down", key, *"as", "enter")
        await wait(pilot, clock, 2)
        assert (asked.decision, panel.answers.marked) == (None, None)
        sent = f"{'' if key == 'space' else key}as"
        assert [draft.text.strip() for draft in app.chat.runner.queue.drafts] == [sent]


async def test_text_typed_above_an_approval_prompt_closes_the_keys_and_never_answers(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "?")
        assert isinstance(app.screen, ReportScreen)
        await press(pilot, "a")
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert app.screen is app.chat
        assert app.chat.prompt.text == "a"


@pytest.mark.parametrize("key", ["escape", "enter", "q"])
async def test_question_takes_answers_again_a_second_after_a_report_was_closed(home, clock, key):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, *"/cost", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReportScreen))
        await wait(pilot, clock, 5)
        await press(pilot, key)
        await until(pilot, lambda: app.screen is app.chat)
        await wait(pilot, clock, 1)
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW
        assert not app.chat.runner.queue.entries


def approving(home, clock, *asks):
    app = asking(home, clock, *asks)
    app.apply_settings(UiConfig(enter_approves=True, enter="queue"))
    return app


@pytest.mark.parametrize("keys", [["enter"], ["y", "enter"]], ids=" ".join)
@pytest.mark.req("R-CONF-03")
async def test_setting_lets_enter_allow_once(home, clock, keys):
    asked = Ask(approval_request())
    app = approving(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        assert "Enter: Allow once" in panel.border_subtitle
        await press(pilot, *keys)
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.scope) == (Verdict.ALLOW, Scope.ONCE)
        assert app.chat.prompt.text == ""


@pytest.mark.req("T20")
async def test_enter_typed_ahead_or_with_text_in_the_prompt_never_allows(home, clock):
    asked = Ask(approval_request())
    app = approving(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock, quiet=False)
        await wait(pilot, clock, 1)
        await press(pilot, "up", "up", "enter")
        assert asked.decision is None
        await wait(pilot, clock, 0.1)
        await press(pilot, "enter", "x", "y")
        await wait(pilot, clock, 1)
        await press(pilot, "enter")
        await wait(pilot, clock, 0.3)
        assert asked.decision is None
        assert [draft.text for draft in app.chat.runner.queue.drafts] == ["xy"]
        await press(pilot, "f5", "pagedown")
        await wait(pilot, clock, 2)
        assert asked.decision is None


async def test_setting_does_not_allow_a_call_before_its_last_line_is_shown(home, clock):
    asked = Ask(approval_request("\n".join(f"step-{n:03}" for n in range(60))))
    app = approving(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "enter")
        await wait(pilot, clock, 0.5)
        assert asked.decision is None
        assert panel.handles_page_keys


def with_keys(home, clock, asked, **keys):
    app = asking(home, clock, asked)
    app.apply_settings(UiConfig(keys={"approval": keys}, enter="queue"))
    return app


async def test_changed_letters_answer_and_are_shown(home, clock):
    asked = Ask(approval_request())
    app = with_keys(home, clock, asked, once="g", deny="k")
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot, clock)
        await until(pilot, lambda: "[g] Allow once" in screen_text(app))
        assert "[k] Deny" in screen_text(app)
        await press(pilot, "g", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW


@pytest.mark.parametrize("typed", ["good", "g ", "a"])
@pytest.mark.req("T20")
async def test_text_that_starts_with_a_changed_letter_does_not_allow(home, clock, typed):
    asked = Ask(approval_request())
    app = with_keys(home, clock, asked, once="g")
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await burst(pilot, *typed)
        await wait(pilot, clock, 2)
        assert (asked.decision, panel.answers.marked) == (None, None)
        assert app.chat.prompt.text == typed


@pytest.mark.parametrize("key", ["enter", "space", "ctrl+y"])
@pytest.mark.req("T20")
@pytest.mark.sample(2)
async def test_key_that_is_no_character_never_becomes_an_answer(home, clock, key):
    asked = Ask(approval_request())
    app = with_keys(home, clock, asked, once=key)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, key)
        await wait(pilot, clock, 2)
        assert asked.decision is None


@pytest.mark.req("R-TUI-12")
async def test_esc_right_after_the_approval_prompt_opens_stops_the_turn(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock, quiet=False)
        await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert asked.decision is None
        assert app.chat.approval_prompt.confirmation is None


async def test_esc_in_the_queue_returns_to_the_prompt_and_answers_nothing(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await say(pilot, "later")
        await wait(pilot, clock, 3)
        await press(pilot, "ctrl+x")
        assert app.focused is app.chat.queue_list
        await press(pilot, "escape")
        assert app.focused is app.chat.prompt
        assert panel.confirmation is not None and asked.decision is None


async def test_ctrl_c_in_a_note_closes_it_and_keeps_the_question(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "r", "enter", *"why")
        await until(pilot, lambda: panel.open_field is not None and panel.field.text == "why")
        await press(pilot, "ctrl+c")
        await until(pilot, lambda: panel.open_field is None)
        assert app.chat.runner.is_running and asked.decision is None
        await press(pilot, "ctrl+c")
        await until(pilot, lambda: not app.chat.runner.is_running)


@pytest.mark.req("R-CONF-07")
async def test_stopping_the_turn_closes_every_approval_prompt(home, clock):
    app = asking(home, clock, Ask(approval_request()))
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        waiting = asyncio.create_task(panel.ask(approval_request("rm -r build")))
        await settle(pilot)
        assert "1 of 2" in panel.border_subtitle
        waiting.cancel()
        await press(pilot, "ctrl+c")
        await until(pilot, lambda: not app.chat.runner.is_running and waiting.done())
        assert waiting.cancelled()
        assert not panel.has_class("-open")
        assert panel.confirmation is None


@pytest.mark.req("R-CONF-07")
async def test_approvals_are_listed_and_answered_in_any_order(home, clock):
    app = asking(home, clock, Ask(approval_request("one")))
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        second = asyncio.create_task(panel.ask(approval_request("two")))
        third = asyncio.create_task(panel.ask(approval_request("three")))
        await settle(pilot)
        assert "1 of 3" in panel.border_subtitle
        assert "│ one" in screen_text(app)
        await press(pilot, "right")
        assert "2 of 3" in panel.border_subtitle
        assert "│ two" in screen_text(app)
        await press(pilot, "a")
        await wait(pilot, clock, 0.45)
        assert not second.done(), "the second question listens only after a quiet of its own"
        await press(pilot, "backspace")
        await wait(pilot, clock, 1)
        await press(pilot, "a", "enter")
        await until(pilot, second.done)
        assert not third.done()
        assert "2 of 2" in panel.border_subtitle
        assert "│ three" in screen_text(app)
        await press(pilot, "left")
        assert "│ one" in screen_text(app)
        await wait(pilot, clock, 1)
        await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert "│ three" in screen_text(app)
        await wait(pilot, clock, 1)
        await press(pilot, "escape")
        await until(pilot, third.done)


@pytest.mark.req("R-CONF-02")
async def test_complete_command_can_be_read(home, clock):
    app = asking(home, clock, Ask(approval_request(LONG)))
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        rows = [row.text for row in panel.preview.rows(60)]
        assert rows[0].startswith("│ ")
        assert all(row.startswith("  ") for row in rows[1:])
        assert "".join(row[2:] for row in rows).replace("␠", " ") == LONG
        before = panel.pane.size.height
        assert "Ctrl+E shows more" in screen_text(app)
        await press(pilot, "ctrl+e")
        await settle(pilot)
        assert panel.pane.size.height > before
        for _ in range(5):
            await press(pilot, "pagedown")
        assert "step-199" in screen_text(app)
        await press(pilot, "ctrl+e")
        assert panel.pane.size.height == before


CHAIN = (
    "git fetch origin && git checkout -b fix/tides && git add -A && git commit -m 'Count tides'"
    " && pytest -q tests && ruff check src && ruff format src && mypy src && npm run build"
    " && cargo test"
)
PREFIXES = (
    "git fetch", "git checkout", "git add", "git commit", "pytest", "ruff check", "ruff format",
    "mypy", "npm run build", "cargo test", "git branch", "git switch", "git tag", "git pull",
    "cargo bench", "cargo build", "cargo check", "cargo clippy", "cargo doc", "cargo fmt",
)  # fmt: skip
"""Those of the chain, and those of their families."""


def chain_request():
    """Return the question about a chain of ten commands, with all that it can offer."""
    return replace(
        approval_request(CHAIN),
        rules=tuple(f"shell({each} *)" for each in PREFIXES),
        exact_rules=tuple(f"shell({each})" for each in CHAIN.split(" && ")),
        sandbox=SandboxOffer(folder="/home/me/tides", accept=lambda: None),
        preview=Preview(kind="command", body=CHAIN, surroundings="full sandbox; no network"),
    )


async def test_ten_commands_and_all_answers_fit_on_an_ordinary_screen(home, clock):
    asked = Ask(chain_request())
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        text = screen_text(app)
        assert "every `git branch`, `git switch`, `git tag` and 17 more" in text
        assert "not shown" not in text
        assert not panel.pane.show_vertical_scrollbar
        for each in ("[a]", "[s]", "[w]", "[l]", "[i]", "[m]", "[d]", "[r]", "cargo test"):
            assert each in text, text
        assert "Ctrl+E shows more" in text


async def test_all_rules_of_a_chain_are_shown_when_the_question_is_enlarged(home, clock):
    asked = Ask(chain_request())
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "ctrl+e")
        await settle(pilot)
        rows = "".join(row.text.strip() for row in panel.preview.rows(60))
        assert all(each.replace(" ", "") in rows.replace(" ", "") for each in PREFIXES)
        assert "more" not in rows
        await press(pilot, "ctrl+e")
        await settle(pilot)
        assert "and 17 more" in screen_text(app)
        await press(pilot, "s", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.scope is Scope.SESSION


async def test_pages_are_turned_as_often_as_the_key_was_pressed(home, clock):
    app = asking(home, clock, Ask(approval_request(LONG * 20)))
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "ctrl+e")
        await settle(pilot)
        for _ in range(5):
            app.chat.action_scroll("page_down")
        assert panel.pane.scroll_y == 5 * panel.pane.scrollable_content_region.height


async def test_ctrl_e_is_offered_only_where_it_has_an_effect(home, clock):
    app = asking(home, clock, Ask(approval_request("x" * 200)))
    async with app.run_test(size=(120, 30)) as pilot:
        panel = await ask(pilot, clock)
        assert "Ctrl+E" not in screen_text(app)
        await press(pilot, "ctrl+e")
        assert not panel.handles_page_keys
        await pilot.resize_terminal(40, 12)
        await settle(pilot)
        assert "Ctrl+E shows more" in screen_text(app)
        await press(pilot, "h", "i")
        assert "Ctrl+E" not in screen_text(app)
        assert "clear the prompt" in screen_text(app)


async def test_more_is_offered_only_until_the_end_of_an_expanded_preview(home, clock):
    app = asking(home, clock, Ask(approval_request(LONG)))
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "ctrl+e")
        await until(pilot, lambda: "Page Down for more" in panel.border_subtitle)
        panel.pane.scroll_end(animate=False)
        await until(pilot, lambda: "Page Down" not in panel.border_subtitle)
        assert "Ctrl+E shows less" in panel.border_subtitle
        await press(pilot, "pageup")
        await until(pilot, lambda: "Page Down for more" in panel.border_subtitle)


@pytest.mark.req("R-CONF-02")
async def test_change_is_shown_as_a_diff_with_visible_hidden_characters(home, clock):
    asked = Confirmation(
        id="c1",
        kind="tool",
        title="edit_file",
        side_effects=SideEffects.WRITE,
        preview=Preview(kind="diff", body=DIFF, paths=("x.py",), protected=True),
        rules=("edit_file(x.py)",),
    )
    app = asking(home, clock, Ask(asked))
    async with app.run_test(size=(90, 30)) as pilot:
        await ask(pilot, clock)
        text = screen_text(app)
        assert "new line" in text
        assert "\\u{202e}" in text
        assert "\u202e" not in text
        assert "x.py  +1 −1" in text
        assert "protected" in text
        assert "every edit of `x.py`" in text
        assert "Edit `x.py`?" in text


@pytest.mark.req("T17")
async def test_command_cannot_paint_over_its_approval_prompt(home, clock):
    app = asking(
        home, clock, Ask(approval_request("rm -rf ~ \x1b[2K\r git status \u200b [b]x[/b]"))
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await ask(pilot, clock)
        text = screen_text(app)
        assert "rm -rf ~ \\u{1b}[2K\\u{d} git status \\u{200b} [b]x[/b]" in text


async def test_approval_without_a_rule_offers_only_once(home, clock):
    asked = Ask(approval_request(rules=()))
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        assert [answer.letter for answer in panel.answers.answers] == ["a", "d", "m", "r"]
        await press(pilot, "w")
        await wait(pilot, clock, 2)
        assert asked.decision is None


async def test_limit_has_its_own_approval_text(home, clock):
    asked = Ask(Confirmation(id="c", kind="limit", title="50 requests in this turn"))
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        text = screen_text(app)
        assert "Continue? 50 requests in this turn" in text
        assert "Stop here" in text
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW


@pytest.mark.req("R-TUI-12")
async def test_transcript_scrolls_during_an_approval_prompt(home, clock):
    long_reply = full_reply("\n\n".join(f"paragraph {n}" for n in range(100)))
    app = asking(home, clock, long_reply, Ask(approval_request()))
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot, clock)
        before = app.chat.transcript.scroll_offset.y
        await press(pilot, "pageup")
        await settle(pilot)
        assert app.chat.transcript.scroll_offset.y < before
        assert app.chat.approval_prompt.confirmation is not None


@pytest.mark.parametrize("payload", payload_cases())
@pytest.mark.req("T17", "T19")
@pytest.mark.sample(12)
async def test_payloads_look_different_in_approval_prompts_and_session_lists(home, clock, payload):
    app = asking(home, clock, Ask(approval_request(payload["text"], rules=())))
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot, clock)
        shown = screen_text(app)
        assert not any(ord(sign) < 32 and sign != "\n" for sign in shown)
        assert all(words in shown for words in payload["must_show"])
        assert all(code in shown for code in payload["must_show_codepoints"])
        assert not any(bytes.fromhex(code) in shown.encode() for code in payload["forbidden_hex"])
        app.push_screen(Picker("Sessions", [Choice("s", payload["text"], "now")]))
        await settle(pilot)
        shown = screen_text(app)
        assert all(words in shown for words in payload["must_show"])
        assert not any(bytes.fromhex(code) in shown.encode() for code in payload["forbidden_hex"])


@pytest.mark.req("T19")
async def test_similar_commands_have_different_approval_prompts(home, clock):
    screens = set[str]()
    for text in (each["text"] for each in PAYLOADS if each.get("pair") == PAIR):
        app = asking(home, clock, Ask(approval_request(text, rules=())))
        async with app.run_test(size=(120, 40)) as pilot:
            panel = await ask(pilot, clock)
            screens.add("\n".join(row.text for row in panel.preview.rows(100)))
    assert len(screens) == 2


async def test_editing_keys_go_to_the_prompt_and_letters_answer_again_after_a_pause(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await burst(pilot, "home", "x", "a")
        assert app.focused is app.chat.prompt
        assert app.chat.prompt.text == "xa"
        await press(pilot, "backspace", "backspace")
        assert not panel.answers.is_ready
        await wait(pilot, clock, 1)
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)


EDITS = ["up", "down", "left", "right", "home", "end", "backspace", "delete", "space"]
SENTENCES = ["add tests", "what now", "ssh host", "www.example.com", "aardvark", "as is", "now"]
OTHERS = ["ctrl+e", "pageup", "pagedown", "ctrl+home", "ctrl+end", "x", "d", "n"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.sample(6)
async def test_only_a_marked_answer_and_enter_allow(home, clock, seed):
    chance = random.Random(seed)
    asked = [Ask(approval_request("x\n" * chance.choice([1, 90]))) for _ in range(3)]
    app = asking(home, clock, *asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        for _ in range(12):
            keys = chance.choices([*EDITS, *OTHERS], k=chance.randrange(1, 6))
            if seed % 2 == 1:  # Enter is pressed, but only after a sentence
                words = ["space" if char == " " else char for char in chance.choice(SENTENCES)]
                keys = [*words, "enter"]
            await burst(pilot, *keys)
            await wait(pilot, clock, chance.choice([0.1, 0.6]))
            if panel.confirmation is None:
                break
        decisions = [ask.decision for ask in asked if ask.decision is not None]
        assert all(decision.verdict is Verdict.DENY for decision in decisions)


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_nothing_is_allowed_before_the_end_was_on_screen(home, clock, size):
    asked = Ask(approval_request("\n".join(f"step-{n:03}" for n in range(60))))
    app = asking(home, clock, asked)
    async with app.run_test(size=size) as pilot:
        panel = await ask(pilot, clock)
        shown = screen_text(app)
        rows = 60 if size[1] == 24 else 62  # on a small screen, with the rule of an answer
        assert f"{rows - panel.pane.size.height} lines not shown" in shown
        for letter in "asw":
            await press(pilot, letter, "enter")
        assert asked.decision is None
        assert panel.handles_page_keys, "an answer that comes too early opens what is to be read"
        for _ in range(20):
            assert asked.decision is None
            if panel.pane.was_read_to_end:
                break
            await press(pilot, "pagedown")
        assert "step-059" in screen_text(app)
        assert "the end" in screen_text(app)
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW


async def test_mark_and_enter_need_the_end_on_screen_and_denying_does_not(home, clock):
    first, second = Ask(approval_request(LONG * 20)), Ask(approval_request(LONG * 20))
    app = asking(home, clock, first, second)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "down", "enter")
        await settle(pilot)
        assert first.decision is None
        await press(pilot, "ctrl+end")
        await press(pilot, "enter")
        await until(pilot, lambda: first.decision is not None)
        assert first.decision.verdict is Verdict.ALLOW
        await until(pilot, lambda: panel.confirmation is second.question)
        await wait(pilot, clock, 1)
        await press(pilot, "a", "enter")
        assert second.decision is None, "what was seen of one question says nothing of the next"
        await press(pilot, "d", "enter")
        await until(pilot, lambda: second.decision is not None)


async def test_long_diff_is_allowed_only_after_its_end_was_on_screen(home, clock):
    lines = "".join(f"+line {n}\n" for n in range(200))
    diff = f"--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,200 @@\n{lines}"
    asked = Ask(
        Confirmation(
            id="c1",
            kind="tool",
            title="edit_file",
            side_effects=SideEffects.WRITE,
            preview=Preview(kind="diff", body=diff, paths=("x.py",)),
            rules=("edit_file(x.py)",),
        )
    )
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        assert f"{201 - panel.pane.size.height} lines not shown" in screen_text(app)
        assert "x.py  +200 −0" in screen_text(app)
        await press(pilot, "a")
        assert "Enter: show the rest" in panel.border_subtitle
        await press(pilot, "enter", "a")
        assert "for more" in panel.border_subtitle
        await press(pilot, "enter")
        assert asked.decision is None
        await press(pilot, "ctrl+end")
        await settle(pilot)
        assert "line 199" in screen_text(app)
        assert "every edit of `x.py`" in screen_text(app)
        await press(pilot, "a", "enter")
        await until(pilot, lambda: asked.decision is not None)


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
@pytest.mark.parametrize("queued", [0, 1, 4, 9])
@pytest.mark.sample(3)
async def test_approval_prompt_leaves_space_for_the_prompt_and_the_status_line(
    home, clock, size, queued
):
    app = asking(home, clock, Ask(approval_request("\n".join(f"step-{n:03}" for n in range(60)))))
    async with app.run_test(size=size) as pilot:
        app.chat.banner.set_notice("demo", "This is the demo. " * 12)
        await ask(pilot, clock)
        for number in range(queued):
            app.chat.runner.queue.add(QueuedMessage(Draft(f"waiting {number}")))
        app.chat.prompt.text = "\n".join(f"line {number}" for number in range(8))
        await settle(pilot)
        for widget in (app.chat.approval_prompt, app.chat.prompt, app.chat.status_line):
            region = widget.region
            assert region.height > 0
            assert app.chat.region.contains_region(region), widget
        assert "[d] deny" in screen_text(app).lower()
        while app.chat.runner.queue.pop():
            pass
        await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert not app.chat.has_class("-approval")


def changeable(command="git push", **parts):
    """Return a request whose command and rules the user can change."""

    def describe(rule):
        problem = "" if rule.startswith("shell(") and rule.endswith(")") else f"`{rule}`: no rule"
        return RuleDescription(
            problem=problem, covered=("git push -f",), others=("git pull", "git \x1b[2J")
        )

    asked = approval_request(command)
    editable = Editable(text=command, build_input=lambda text: {"command": text})
    preview = replace(asked.preview, editable=editable)
    return replace(asked, preview=preview, describe_rule=describe, **parts)


@pytest.mark.req("R-CONF-03")
async def test_command_is_changed_in_the_approval_prompt(home, clock):
    asked = Ask(changeable())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "e", "enter")
        assert panel.field.text == "git push"
        await press(pilot, *" -f", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.EDIT
        assert asked.decision.edited_input == {"command": "git push -f"}


async def test_unchanged_command_goes_back_to_the_question(home, clock):
    asked = Ask(changeable())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "e", "enter")
        await press(pilot, "enter")
        await until(pilot, lambda: panel.answers.is_ready)
        assert asked.decision is None
        assert not panel.field.display


@pytest.mark.req("R-CONF-03", "R-CONF-04")
async def test_rule_is_changed_with_examples_before_it_is_stored(home, clock):
    asked = Ask(changeable())
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot, clock)
        assert "Allow `git push` in this folder, from now on" in screen_text(app)
        await press(pilot, "p", "enter")
        text = screen_text(app)
        assert "allows git push -f" in text
        assert "does not allow git pull · git \\u{1b}[2J" in text
        assert "Enter allows it always" in text
        await press(pilot, "x", "enter")
        await settle(pilot)
        assert asked.decision is None
        assert "`shell(git push)x`: no rule" in screen_text(app)
        await press(pilot, "backspace", "backspace", "*", ")", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.scope, asked.decision.rules) == (Scope.ALWAYS, ("shell(git push*)",))


async def test_problem_of_the_last_of_several_rules_is_visible(home, clock):
    rules = tuple(f"shell({name} *)" for name in ("cp", "mkdir", "mv", "sed -i", "touch"))
    asked = Ask(changeable(rules=rules))
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot, clock)
        await press(pilot, "p", "enter", "backspace", "enter")
        await settle(pilot)
        assert asked.decision is None
        assert "`shell(touch *`: no rule" in screen_text(app)


def test_too_many_rules_at_once_have_a_message():
    rules = "\n".join(f"shell(a{number})" for number in range(21))
    lines, are_valid = describe_rules(changeable(), rules)
    assert lines[0] == "more than 20 rules at once cannot be stored"
    assert not are_valid


@pytest.mark.parametrize(
    ("keys", "rules"),
    [
        ((), ("shell(DRY_RUN=1 deploy)",)),
        (("home", "delete", "delete"), ("shell(DRY_RUN=1 deploy)", "shell(deploy)")),
    ],
    ids=["as offered", "without the sign"],
)
@pytest.mark.req("R-CONF-03", "R-CONF-04")
async def test_wider_rule_is_shown_and_stored_only_without_its_sign(home, clock, keys, rules):
    question = changeable(rules=("shell(DRY_RUN=1 deploy)",), wider_rules=("shell(deploy)",))
    asked = Ask(
        replace(question, describe_rule=lambda rule: RuleDescription(covered=(f"({rule})",)))
    )
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        assert "p can also allow: shell(deploy)" in screen_text(app)
        await press(pilot, "p", "enter")
        assert panel.field.text == "shell(DRY_RUN=1 deploy)\n# shell(deploy)"
        assert "without #, shell(deploy) allows (shell(deploy))" in screen_text(app)
        await press(pilot, *keys, "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.scope, asked.decision.rules) == (Scope.ALWAYS, rules)


@pytest.mark.req("R-CONF-03", "R-CONF-04")
async def test_only_this_line_is_allowed_always_with_one_answer(home, clock):
    exact = ("shell(git commit -m x)",)
    asked = Ask(changeable(rules=("shell(git commit *)",), exact_rules=exact))
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot, clock)
        shown = screen_text(app)
        assert "2 [w] Allow every `git commit` in this folder, from now on" in shown
        assert "[l] this line always" in shown
        await press(pilot, "l", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.scope, asked.decision.rules) == (Scope.ALWAYS, exact)


@pytest.mark.parametrize("size", [(80, 24), (110, 45)])
async def test_answers_about_a_list_of_commands_are_explained_before_its_rules(home, clock, size):
    words = [
        "add",
        "commit",
        "tag",
        "branch",
        "switch",
        "merge",
        "push",
        "stash",
        "rebase",
        "cherry-pick",
    ]
    asked = changeable(
        command=" && ".join(f"git {each} one" for each in words),
        rules=tuple(f"shell(git {each} *)" for each in words),
        exact_rules=tuple(f"shell(git {each} one)" for each in words),
    )
    app = asking(home, clock, Ask(replace(asked, sandbox=SANDBOX_OFFER)))
    async with app.run_test(size=size) as pilot:
        await ask(pilot, clock)
        shown = screen_text(app)
        assert "2 [i] Allow every command that stays in the sandbox" in shown
        assert "[l] only these 10 commands always" in shown
        assert "w: Allow every `git add`" in shown
        assert "not shown" not in shown


@pytest.mark.req("R-LOOP-12")
async def test_call_is_allowed_with_a_note(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "m", "enter")
        await press(pilot, *"only now", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.note) == (Verdict.ALLOW, "only now")


@pytest.mark.req("T20")
async def test_sentences_with_the_new_letters_go_to_the_prompt(home, clock):
    for words in ("make it so", "edit the file", "x marks it"):
        asked = Ask(changeable(following=2))
        app = asking(home, clock, asked)
        async with app.run_test() as pilot:
            await ask(pilot, clock)
            await burst(pilot, *("space" if char == " " else char for char in words))
            await wait(pilot, clock, 2)
            assert asked.decision is None
            assert app.chat.prompt.text == words


@pytest.mark.req("R-CONF-07")
async def test_waiting_approvals_are_denied_together(home, clock):
    asked = Ask(approval_request("one"))
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        second = asyncio.create_task(panel.ask(approval_request("two")))
        await until(pilot, lambda: "deny all that follow" in screen_text(app))
        await press(pilot, "x", "enter")
        await until(pilot, lambda: asked.decision is not None and second.done())
        assert asked.decision.verdict is second.result().verdict is Verdict.DENY
        assert asked.decision.denies_rest


@pytest.mark.parametrize("letter", ["e", "m", "r", "p"])
@pytest.mark.sample(2)
async def test_field_fits_on_a_small_screen(home, clock, letter):
    app = asking(home, clock, Ask(changeable("git push " + "origin " * 30, following=3)))
    async with app.run_test(size=(40, 12)) as pilot:
        panel = await ask(pilot, clock)
        panel.pane.was_read_to_end = True
        await press(pilot, letter, "enter")
        for widget in (panel, panel.field, app.chat.prompt, app.chat.status_line):
            assert widget.region.height > 0
            assert app.chat.region.contains_region(widget.region), widget


async def test_content_of_a_file_is_changed_in_the_editor(home, clock, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/one/two/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    editable = Editable(text="one\n", suffix=".py", build_input=lambda text: {"content": text})
    question = Confirmation(
        id="c1",
        kind="tool",
        title="write_file",
        side_effects=SideEffects.WRITE,
        preview=Preview(kind="diff", body=DIFF, paths=("x.py",), editable=editable),
    )
    asked = Ask(question)
    app = asking(home, clock, asked)
    app._editing = DraftEditing(app.chat)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "e", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.edited_input == {"content": "two\n"}
        await until(pilot, lambda: not (app._editing.is_running or app.chat.runner.is_running))


def plan_request(plan: str) -> Confirmation:
    editable = Editable(text=plan, suffix=".md", build_input=lambda text: {"plan": text})
    preview = Preview(kind="text", body=plan, editable=editable)
    return Confirmation(id="c1", kind="plan", title="propose_plan", preview=preview)


@pytest.mark.req("R-LOOP-13")
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 50)])
@pytest.mark.parametrize(
    ("key", "verdict", "plan"),
    [
        ("a", Verdict.ALLOW, PlanAnswer.ASK),
        ("s", Verdict.ALLOW, PlanAnswer.ACCEPT_EDITS),
        ("d", Verdict.DENY, None),
    ],
)
@pytest.mark.sample(3)
async def test_plan_is_answered_by_a_key(home, clock, size, key, verdict, plan):
    asked = Ask(plan_request("# Plan\n\n1. Edit `a.py`"))
    app = asking(home, clock, asked)
    async with app.run_test(size=size) as pilot:
        panel = await ask(pilot, clock)
        panel.pane.was_read_to_end = True
        assert app.chat.region.contains_region(panel.region)
        await press(pilot, key, "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.plan) == (verdict, plan)


@pytest.mark.req("R-LOOP-13")
async def test_plan_for_another_model_offers_the_models_after_the_turn(home, clock):
    answered = ToolConfirmationResolved(
        tool_use_id="tu", confirmation_request_id="c", decision="allow", plan=PlanAnswer.MODEL
    )
    app = asking(home, clock, answered)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        assert app.chat.session.sent == ["go"], "the plan waits for the choice"


@pytest.mark.req("R-LOOP-13")
async def test_list_of_models_for_a_plan_that_is_closed_names_the_way_back(home, clock):
    app = asking(home, clock)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "go")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await say(pilot, "/plan model")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, "escape")
        await until(pilot, lambda: "The plan was not sent. `/plan model`" in screen_text(app))


async def test_plan_is_changed_in_the_editor(home, clock, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/one/two/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    asked = Ask(plan_request("one\n"))
    app = asking(home, clock, asked)
    app._editing = DraftEditing(app.chat)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "e", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.edited_input == {"plan": "two\n"}
        await until(pilot, lambda: not (app._editing.is_running or app.chat.runner.is_running))


@pytest.mark.parametrize("typed", ["now add tests", "nothing else"])
@pytest.mark.req("T20")
async def test_message_that_begins_before_the_question_was_seen_is_sent(home, clock, typed):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock, quiet=False)
        await wait(pilot, clock, 0.7)
        await burst(pilot, *("space" if char == " " else char for char in typed), "enter")
        await wait(pilot, clock, 1)
        assert asked.decision is None
        assert [draft.text for draft in app.chat.runner.queue.drafts] == [typed]


@pytest.mark.parametrize("key", ["up", "down", "ctrl+p", "home", "left", "ctrl+u", "ctrl+s"])
@pytest.mark.sample(4)
@pytest.mark.req("T20")
async def test_message_right_after_a_key_of_the_prompt_is_sent(home, clock, key):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, key)
        app.chat.prompt.load(Draft(""))  # as if there was nothing to recall
        await wait(pilot, clock, 0.6)
        await burst(pilot, *"now", "enter")
        await wait(pilot, clock, 1)
        assert asked.decision is None
        assert [draft.text for draft in app.chat.runner.queue.drafts] == ["now"]


@pytest.mark.parametrize("key", ["pagedown", "ctrl+end"])
async def test_letter_answers_soon_after_scrolling_the_question_that_was_seen(home, clock, key):
    app = asking(home, clock, Ask(approval_request()))
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, key)
        await wait(pilot, clock, 0.6)
        await press(pilot, "r", "enter")
        assert panel.has_class("-noting")


@pytest.mark.req("T20")
async def test_letter_after_a_short_pause_in_typing_is_no_answer(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "x", "y", "backspace", "backspace")
        await wait(pilot, clock, 0.6)
        await press(pilot, "a", "enter")
        await wait(pilot, clock, 2)
        assert asked.decision is None
        assert not app.chat.runner.queue.drafts


@pytest.mark.parametrize("typed", ["r\rnot this", "now"])
async def test_note_of_a_question_that_ends_is_in_the_prompt(home, clock, typed):
    app = asking(home, clock)
    async with app.run_test() as pilot:
        await settle(pilot)
        panel = app.chat.approval_prompt
        answer = asyncio.create_task(app.chat.confirm(approval_request()))
        await until(pilot, lambda: panel.confirmation is not None)
        await settle(pilot)
        await wait(pilot, clock, 1)
        await burst(pilot, *({" ": "space", "\r": "enter"}.get(char, char) for char in typed))
        answer.cancel()
        await until(pilot, lambda: panel.confirmation is None)
        await settle(pilot)
        assert app.chat.prompt.text == typed.removeprefix("r\r")
        assert app.focused is app.chat.prompt


TRUST_OFFER = TrustOffer(folder="/home/me/a\u202eb", files=("AGENTS.md (3 bytes)",), accept=bool)


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (120, 40)])
@pytest.mark.req("R-CONF-05", "T20")
async def test_folder_is_offered_in_a_line_and_trusted_by_a_letter(home, clock, size):
    asked = Ask(replace(approval_request("ls"), trust=TRUST_OFFER))
    app = asking(home, clock, asked)
    async with app.run_test(size=size) as pilot:
        await ask(pilot, clock, quiet=False)
        await press(pilot, "f")
        await wait(pilot, clock, 1)
        assert app.chat.prompt.text == "f", "typed too early"
        await press(pilot, "backspace")
        await wait(pilot, clock, 2)
        shown = re.sub(r"[\s│]", "", screen_text(app))
        assert "Trust/home/me/a" in shown
        assert "\\u{202e}" in shown
        await press(pilot, "f", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW and asked.decision.trusts_folder


NETWORK_OFFER = NetworkOffer(
    programs=("npm view",), hosts=("packages.example",), outside=("npm view *",)
)


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
async def test_network_in_the_sandbox_is_offered_in_a_line_and_given_by_a_letter(home, clock, size):
    offer = replace(NETWORK_OFFER, hosts=(), is_enough=True)
    asked = Ask(replace(approval_request("npm view x"), network=offer))
    app = asking(home, clock, asked)
    async with app.run_test(size=size) as pilot:
        await ask(pilot, clock)
        shown = re.sub(r"[\s│]", "", screen_text(app))
        assert "2[t]Letevery`npmview`usethenetworkfromnowon,stillinthesandbox" in shown
        await press(pilot, "t", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.network is NetworkAnswer.NETWORK


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
@pytest.mark.parametrize(("letter", "answer"), [("o", "PROGRAM"), ("h", "HOSTS")])
async def test_network_is_offered_in_lines_and_given_by_a_letter(home, clock, size, letter, answer):
    asked = Ask(replace(approval_request("npm view x"), network=NETWORK_OFFER))
    app = asking(home, clock, asked)
    async with app.run_test(size=size) as pilot:
        await ask(pilot, clock)
        shown = re.sub(r"[\s│]", "", screen_text(app))
        assert "2[o]Runevery`npmview`outsidethesandboxfromnowon,withallyourrights" in shown
        assert "h:Letallcommandsinthisfolder,notonlythisone,reachpackages.example" in shown
        await press(pilot, "ctrl+e")  # all lines
        await wait(pilot, clock, 2)
        await press(pilot, letter, "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW
        assert asked.decision.network is NetworkAnswer[answer]


SANDBOX_OFFER = SandboxOffer(folder="/home/me/a\u202eb", accept=lambda: None)


@pytest.mark.parametrize("size", [(80, 24), (40, 24)])
@pytest.mark.req("R-CONF-02", "T20")
async def test_all_in_the_sandbox_is_offered_in_a_line_and_allowed_by_a_letter(home, clock, size):
    asked = Ask(replace(approval_request("make"), sandbox=SANDBOX_OFFER))
    app = asking(home, clock, asked)
    async with app.run_test(size=size) as pilot:
        await ask(pilot, clock)
        shown = re.sub(r"[\s│]", "", screen_text(app))
        assert "Alloweverycommandthatstaysinthesandbox,in/home/me/a\\u{202e}b:" in shown
        await press(pilot, "i", "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.ALLOW and asked.decision.allows_contained
        assert not asked.decision.trusts_folder


@pytest.mark.parametrize("letter", ["f", "i"])
async def test_letter_of_an_answer_about_a_folder_is_text_if_none_is_offered(home, clock, letter):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, letter)
        await wait(pilot, clock, 1)
        assert (asked.decision, app.chat.prompt.text) == (None, letter)


def spell(text):
    return ["space" if char == " " else char for char in text]


@pytest.mark.req("R-CONF-02", "T20")
async def test_keys_in_a_burst_change_the_command_in_their_order(home, clock):
    asked = Ask(changeable("git push --force"))
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "e", "enter")
        await until(pilot, lambda: panel.has_class("-noting"))
        await burst(
            pilot, "ctrl+u", *spell("make it"), "home", "x", "end", "left", "backspace", "enter"
        )
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.edited_input == {"command": "xmake t"}


@pytest.mark.req("R-CONF-03", "T20")
async def test_text_typed_right_after_a_note_is_in_the_prompt(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await burst(pilot, "r", "enter", *spell("other file"), "enter", *spell("and then"))
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.note == "other file"
        assert app.chat.prompt.text == "and then"


@pytest.mark.parametrize(("typed", "left"), [("-f", "git push-f"), ("", "")])
async def test_change_of_a_command_whose_question_ends_is_in_the_prompt(home, clock, typed, left):
    app = asking(home, clock)
    async with app.run_test() as pilot:
        await settle(pilot)
        panel = app.chat.approval_prompt
        answer = asyncio.create_task(app.chat.confirm(changeable()))
        await until(pilot, lambda: panel.confirmation is not None)
        await settle(pilot)
        await wait(pilot, clock, 1)
        await press(pilot, "e", "enter")
        await until(pilot, lambda: panel.has_class("-noting"))
        await burst(pilot, *typed)
        answer.cancel()
        await until(pilot, lambda: panel.confirmation is None)
        await settle(pilot)
        assert app.chat.prompt.text == left


@pytest.mark.req("T20")
async def test_enter_right_after_another_key_allows_nothing(home, clock):
    asked = Ask(approval_request())
    app = asking(home, clock, asked)
    app.chat.approval_prompt.enter_approves = True
    async with app.run_test() as pilot:
        await ask(pilot, clock)
        await press(pilot, "ctrl+r", "escape")
        await wait(pilot, clock, 0.6)
        await press(pilot, "enter")
        await wait(pilot, clock, 1)
        await settle(pilot)
        assert asked.decision is None


async def test_note_of_an_approval_whose_question_ends_is_in_the_prompt_as_typed(home, clock):
    app = asking(home, clock)
    async with app.run_test() as pilot:
        await settle(pilot)
        panel = app.chat.approval_prompt
        answer = asyncio.create_task(app.chat.confirm(approval_request()))
        await until(pilot, lambda: panel.confirmation is not None)
        await settle(pilot)
        await wait(pilot, clock, 1)
        await press(pilot, "m", "enter")
        await until(pilot, lambda: panel.has_class("-noting"))
        await burst(pilot, *"ot")
        answer.cancel()
        await until(pilot, lambda: panel.confirmation is None)
        await settle(pilot)
        assert app.chat.prompt.text == "ot"


CHOICES = ("[red]SQLite\x1b[2J", "[@click=app.bell]Postgres[/]")


@pytest.mark.parametrize(
    ("keys", "typed"),
    [
        (["1", "enter"], "[red]SQLite\x1b[2J"),
        (["down", "down", "enter"], "[@click=app.bell]Postgres[/]"),
        (["3", "enter", *"Neither", "enter"], "Neither"),
        (["4", "enter"], None),
        (["escape"], None),
    ],
    ids=["number", "arrows", "text", "no answer", "esc"],
)
async def test_question_of_a_model_is_answered_by_a_choice_or_a_text(home, clock, keys, typed):
    question = Confirmation(id="c", kind="question", title="Which database?", choices=CHOICES)
    asked = Ask(question)
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(pilot, clock)
        shown = screen_text(app)
        assert "Which database?" in shown
        assert "1 [red]SQLite\\u{1b}[2J" in shown
        assert "2 [@click=app.bell]Postgres[/]" in shown
        await press(pilot, "1")
        assert "Enter: [red]SQLite\\u{1b}[2J" in screen_text(app)
        await press(pilot, "backspace")
        await wait(pilot, clock, 1)
        await press(pilot, *keys)
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.typed == typed


def input_request(kind) -> Confirmation:
    return Confirmation(id="c1", kind=kind, title="It waits for input: Name? · login")


@pytest.mark.req("R-TOOL-17")
@pytest.mark.parametrize("kind", ["input", "password"])
async def test_program_that_waits_gets_what_is_typed_and_a_password_is_not_shown(home, clock, kind):
    asked = Ask(input_request(kind))
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        assert "waits for input: Name?" in screen_text(app)
        await press(pilot, "a", "enter")
        await press(pilot, *"hunter2")
        assert panel.field.text == "hunter2"
        assert ("hunter2" in screen_text(app)) == (kind == "input")
        assert ("•••••••" in screen_text(app)) == (kind == "password")
        await press(pilot, "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.typed) == (Verdict.ALLOW, "hunter2")
        assert panel.field.text == ""
        assert app.chat.prompt.text == ""


@pytest.mark.parametrize(
    ("key", "verdict"), [("w", Verdict.ALLOW), ("d", Verdict.DENY)], ids=["background", "stop"]
)
async def test_program_that_waits_is_moved_or_stopped_by_a_key(home, clock, key, verdict):
    asked = Ask(input_request("input"))
    async with asking(home, clock, asked).run_test(size=(80, 24)) as pilot:
        await ask(pilot, clock)
        await press(pilot, key, "enter")
        await until(pilot, lambda: asked.decision is not None)
        assert (asked.decision.verdict, asked.decision.typed) == (verdict, None)


async def test_password_is_forgotten_if_the_call_ends_first(home, clock):
    asked = Ask(input_request("password"))
    app = asking(home, clock, asked)
    async with app.run_test(size=(80, 24)) as pilot:
        panel = await ask(pilot, clock)
        await press(pilot, "a", "enter", *"hunter2", "escape", "escape")
        await until(pilot, lambda: asked.decision is not None)
        assert asked.decision.verdict is Verdict.DENY
        assert panel.field.text == app.chat.prompt.text == ""
