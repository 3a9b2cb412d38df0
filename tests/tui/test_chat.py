import asyncio
import re
import sys
import time
from collections import Counter

import pytest
from msgspec import convert
from textual import events

from tests.tui.fakes import (
    GPT,
    SONNET,
    TOUR,
    FakeRuntime,
    FakeSession,
    default_route,
    failed_request,
    full_reply,
    text_deltas,
    turn,
    turn_end,
    turn_start,
)
from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from yourtool import __version__
from yourtool.agent.input.attachments import Attachment
from yourtool.errors import ConfigError, SessionBusyError
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallStarted
from yourtool.events.turns import RouteDecided, TurnCancelled
from yourtool.messages.blocks import TextBlock
from yourtool.messages.metadata import StopReason
from yourtool.messages.usage import UsageExtra
from yourtool.settings.config import Config, Mode
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import Draft
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_results import run_command
from yourtool.tui.screens.dialog import TextEntry
from yourtool.tui.screens.picker import Picker
from yourtool.tui.screens.report import ReportScreen
from yourtool.tui.widgets.status import MODE_WORDS

HELLO = turn("hello", "Hello to you.")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


@pytest.fixture
def session(tmp_path):
    return FakeSession(HELLO, workspace=tmp_path / "work")


def app_of(home, *sessions, **options):
    runtime = FakeRuntime(home, *sessions)

    async def opens():
        return runtime

    return YourtoolApp(opens, **options), runtime


class Waiting:
    """A script that pauses after its first text until the test continues it."""

    def __init__(self, *after):
        self.gate = asyncio.Event()
        self.script = [turn_start("hello"), default_route(), *text_deltas("Hel"), self.gate, *after]


# Opening


@pytest.mark.req("R-QLT-01")
async def test_prompt_accepts_keys_before_the_core_is_open(home, session):
    runtime, gate = FakeRuntime(home, session), asyncio.Event()

    async def opens():
        await gate.wait()
        return runtime

    app = YourtoolApp(opens)
    async with app.run_test() as pilot:
        await say(pilot, "early")
        assert "opening" in screen_text(app)
        assert app.chat.runner.queue.drafts == [Draft("early")]
        await press(pilot, "l", "a")
        gate.set()
        await until(pilot, lambda: session.sent == ["early"])
        assert app.chat.prompt.text == "la"


async def test_startup_failure_is_shown_and_the_program_can_quit(home):
    async def opens():
        raise ConfigError("config.toml:3: `modle`: no such key; did you mean `model`?")

    app = YourtoolApp(opens)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "did you mean `model`" in screen_text(app)
        await press(pilot, "ctrl+d")
        await settle(pilot)
    assert app.return_code == 2


@pytest.mark.req("R-TUI-20")
async def test_resume_replays_the_stored_session(home, session):
    for fact in HELLO:
        if hasattr(fact, "session_id"):
            session.state.apply(fact)
    app, runtime = app_of(home, session, resume="sess_9")
    runtime.store.summaries.append(type("S", (), {"id": "sess_9abc"}))
    async with app.run_test() as pilot:
        await until(pilot, lambda: "Hello to you." in screen_text(app))
        assert runtime.resumed == ["sess_9abc"]


async def test_session_in_use_is_reported_and_a_new_one_starts(home, session):
    app, runtime = app_of(home, session, resume="sess_9")
    runtime.store.summaries.append(type("S", (), {"id": "sess_9"}))

    async def busy(session_id, confirm):
        raise SessionBusyError("Process 42 writes `sess_9`.")

    runtime.resume = busy
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "Process 42" in screen_text(app)
        assert app.chat.session is session


# Sending


async def test_turn_is_shown_and_its_cost_counted(home, session):
    app, _ = app_of(home, session)
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(
            pilot, lambda: not app.chat.runner.is_running and "Hello to you." in screen_text(app)
        )
        status = app.chat.status_line.status
        assert (status.model, status.cost, status.context) == (SONNET.id, "$0.0123", 2)
        assert app.chat.prompt.text == ""


@pytest.mark.req("R-CST-01")
async def test_status_line_shows_a_cost_when_there_is_one(home, session):
    app, _ = app_of(home, session)
    unknown = UsageExtra(unpriced=True)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        for cost, shown in (("0", ""), ("0.5", "$0.5000 + unpriced")):
            session.state.apply(full_reply("a", cost=cost, extra=unknown))
            app.chat.refresh_status()
            assert app.chat.status_line.status.cost == shown


@pytest.mark.req("R-TUI-01")
async def test_paste_of_10000_lines_is_a_chip_and_is_sent_in_full(home, session):
    app, _ = app_of(home, session)
    lines = "\r".join(f"line {n}" for n in range(10_000))
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "x")
        app.post_message(events.Paste(lines))
        await settle(pilot)
        assert app.chat.prompt.text == "x[Pasted text #1: 10,000 lines]"
        await press(pilot, "enter")
        await until(pilot, lambda: session.sent)
        assert session.sent == ["x" + lines.replace("\r", "\n")]
        await press(pilot, "up")
        await settle(pilot)
        assert app.chat.prompt.draft.full_text == session.sent[0]


async def test_control_characters_of_a_paste_are_hidden_and_backspace_removes_the_chip(
    home, session
):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.post_message(events.Paste("\x1b[2Jhello"))
        await settle(pilot)
        assert app.chat.prompt.text == "[Pasted text #1: 1 line]"
        await press(pilot, "backspace")
        assert app.chat.prompt.text == ""


@pytest.mark.parametrize("keys", [("shift+enter",), ("ctrl+j",), ("backslash", "enter")])
@pytest.mark.req("R-TUI-01")
async def test_keys_insert_new_lines(home, session, keys):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "a", *keys, "b")
        assert app.chat.prompt.text == "a\nb"
        await press(pilot, "enter")
        await until(pilot, lambda: session.sent == ["a\nb"])


@pytest.mark.req("R-TUI-02")
async def test_up_and_down_recall_history_at_the_edges(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        for text in ("one", "two"):
            await say(pilot, text)
            await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "d", "r")
        await press(pilot, "up")
        await settle(pilot)
        assert app.chat.prompt.text == "two"
        await press(pilot, "up")
        await settle(pilot)
        assert app.chat.prompt.text == "one"
        await press(pilot, "down", "down")
        await settle(pilot)
        assert app.chat.prompt.text == "dr"


@pytest.mark.req("R-TUI-02")
async def test_ctrl_r_searches_earlier_prompts(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        for text in ("apples", "pears"):
            await say(pilot, text)
            await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "ctrl+r", "a", "p", "p")
        await settle(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: app.chat.prompt.text == "apples")


@pytest.mark.req("R-TUI-02")
async def test_draft_survives_a_swap_and_a_restart(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "h", "m")
        async for _ in session.select_model("gpt"):
            pass
        app.chat.refresh_status()
        assert app.chat.prompt.text == "hm"
        app.chat.save_draft()
        app.chat.input.close()
    again, _ = app_of(home, session)
    async with again.run_test() as pilot:
        await until(pilot, lambda: again.chat.prompt.text == "hm")


async def test_unknown_alias_keeps_the_text(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "@nobody hi")
        await until(pilot, lambda: app.chat.prompt.text == "@nobody hi")
        assert "neither a model nor a file" in screen_text(app)
        assert session.sent == []


# During a turn


@pytest.mark.req("R-LOOP-10")
async def test_message_sent_during_a_turn_is_queued(home, tmp_path):
    waiting = Waiting(full_reply("Hello."), turn_end())
    session = FakeSession(waiting.script, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    app.chat.runner.enter = "queue"
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await say(pilot, "two")
        await say(pilot, "three")
        assert session.sent == ["one"]
        assert "After this turn" in screen_text(app)
        assert app.chat.status_line.status.queued == 2
        await press(pilot, "up")
        await settle(pilot)
        assert (app.chat.prompt.text, len(app.chat.runner.queue)) == ("three", 1)
        await press(pilot, "!", "enter")
        await settle(pilot)
        await press(pilot, "ctrl+x", "ctrl+x")
        assert [draft.text for draft in app.chat.runner.queue.drafts] == ["two"]
        waiting.gate.set()
        await until(pilot, lambda: session.sent == ["one", "two"])


@pytest.mark.req("R-TUI-14")
async def test_esc_stops_the_turn_and_the_next_message_works(home, tmp_path):
    waiting = Waiting()
    session = FakeSession(waiting.script, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        app.chat.action_stop()
        assert app.chat.transcript.activity.line.text == "Stopping · 0 s"
        await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert "cancelled" in screen_text(app)
        await say(pilot, "two")
        await until(
            pilot, lambda: session.sent == ["one", "two"] and not app.chat.runner.is_running
        )


@pytest.mark.req("R-TUI-14")
async def test_esc_before_the_reply_gives_the_prompt_and_its_attachments_back(home, tmp_path):
    waiting = [turn_start("hello"), default_route(), asyncio.Event()]
    session = FakeSession(waiting, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.chat.attachments.add(Attachment(TextBlock("x"), "notes.txt"))
        await say(pilot, "fix the tset")
        assert not app.chat.attachments.pending
        await press(pilot, "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert app.chat.prompt.text == "fix the tset"
        assert app.chat.attachments.names == ("notes.txt",)
        assert type(session.state.facts[-1]) is TurnCancelled
        await press(pilot, *"!", "enter")
        await until(pilot, lambda: not app.chat.runner.is_running and len(session.sent) == 2)
        assert session.sent[1][0] == TextBlock("fix the tset!")


async def test_prompt_of_a_turn_that_the_exit_stops_is_no_draft_of_the_next_run(home, tmp_path):
    waiting = [turn_start("hello"), default_route(), asyncio.Event()]
    session = FakeSession(waiting, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "fix the tset")
        await app.action_quit()
        assert type(session.state.facts[-1]) is TurnCancelled
        assert app.chat.prompt.text == ""


async def test_esc_does_not_replace_text_typed_after_sending(home, tmp_path):
    waiting = [turn_start("hello"), default_route(), asyncio.Event()]
    session = FakeSession(waiting, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await press(pilot, *"two", "escape")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert app.chat.prompt.text == "two"


async def test_queue_is_held_after_a_stop_until_enter(home, tmp_path):
    session = FakeSession(Waiting().script, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await say(pilot, "two")
        await press(pilot, "escape")
        await until(pilot, lambda: app.chat.runner.queue.pause_reason)
        assert session.sent == ["one"]
        await press(pilot, "enter")
        await until(pilot, lambda: session.sent == ["one", "two"])


REFUSED = RouteDecided(chosen_model=None, winner_index=-1, elapsed_ms=0.1, chain=())
REFUSAL = [Notice(level="error", text="No model can take this turn."), turn_end(StopReason.ERROR)]


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ([failed_request(), turn_end(StopReason.ERROR)], "the turn failed"),
        ([REFUSED, *REFUSAL], "no model was available"),
    ],
    ids=["failed", "not routed"],
)
async def test_failed_turn_holds_the_queue_with_a_reason(home, tmp_path, end, why):
    waiting = Waiting(*end)
    session = FakeSession(
        waiting.script, [turn_start("x"), *end], HELLO, workspace=tmp_path / "work"
    )
    app, _ = app_of(home, session)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        for text in ("one", "two", "three", "four"):
            await say(pilot, text)
        waiting.gate.set()
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert session.sent == ["one"]
        assert len(app.chat.runner.queue) == 3
        shown = screen_text(app)
        assert f"Paused, {why}: Enter sends, Up edits, Ctrl+T retries" in shown
        assert "3. four" in shown
        await press(pilot, "ctrl+t")
        await until(pilot, lambda: session.retries == 1 and not app.chat.runner.is_running)
        assert len(app.chat.runner.queue) == 3
        await press(pilot, "ctrl+t")
        await until(pilot, lambda: session.sent == ["one", "two", "three", "four"])


async def test_successful_prompt_resumes_the_queue(home, tmp_path):
    waiting = Waiting(REFUSED, *REFUSAL)
    session = FakeSession(waiting.script, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await say(pilot, "two")
        waiting.gate.set()
        await until(
            pilot, lambda: app.chat.runner.queue.pause_reason and not app.chat.runner.is_running
        )
        await say(pilot, "another")
        await until(pilot, lambda: session.sent == ["one", "another", "two"])


async def test_failed_queued_command_holds_the_queue(home, session):
    runtime, gate = FakeRuntime(home, session), asyncio.Event()

    async def opens():
        await gate.wait()
        return runtime

    app = YourtoolApp(opens)
    async with app.run_test() as pilot:
        await say(pilot, "/model nobody ")
        await say(pilot, "for that model only")
        gate.set()
        await until(pilot, lambda: app.chat.runner.queue.pause_reason)
        assert session.sent == []
        assert "Paused, a command failed" in screen_text(app)


async def test_command_that_needs_the_end_of_the_turn_is_queued(home, tmp_path):
    waiting = Waiting(full_reply("Hello."), turn_end())
    session, new = (
        FakeSession(script, workspace=tmp_path / "work") for script in (waiting.script, HELLO)
    )
    app, _ = app_of(home, session, new)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await say(pilot, "/new")
        await say(pilot, "two")
        assert [draft.text for draft in app.chat.runner.queue.drafts] == ["/new", "two"]
        waiting.gate.set()
        await until(pilot, lambda: new.sent == ["two"])
        assert session.sent == ["one"]


@pytest.mark.req("R-LOOP-09")
async def test_swap_during_a_turn_is_shown_as_pending(home, tmp_path):
    session = FakeSession(Waiting().script, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await say(pilot, "/model gpt ")
        await settle(pilot)
        assert app.chat.status_line.status.pending_model == GPT.id
        assert "→ gpt-5.2" in screen_text(app)


# Errors


@pytest.mark.req("R-TUI-17")
async def test_ctrl_t_retries_a_failed_turn(home, tmp_path):
    broken = [turn_start("hello"), default_route(), failed_request(), turn_end()]
    session = FakeSession(broken, HELLO, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(
            pilot, lambda: "overloaded" in screen_text(app) and not app.chat.runner.is_running
        )
        assert "Ctrl+T" in screen_text(app)
        await press(pilot, "ctrl+t")
        await until(pilot, lambda: session.retries == 1 and not app.chat.runner.is_running)
        assert session.sent == ["hello"]


async def test_ctrl_t_without_a_failure_does_nothing(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+t")
        await settle(pilot)
        assert session.retries == 0


async def test_internal_error_is_a_message_without_traceback(home, tmp_path):
    session = FakeSession([turn_start("x"), ZeroDivisionError("boom")], workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "Internal error" in screen_text(app))
        assert "Traceback" not in screen_text(app)


# Ctrl+C, Ctrl+D, quitting


@pytest.mark.req("R-TUI-14")
async def test_ctrl_c_clears_text_first_and_quits_when_pressed_twice(home, session):
    app, runtime = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "h", "i", "ctrl+c")
        assert app.chat.prompt.text == ""
        await press(pilot, "ctrl+c")
        assert "again to quit" in screen_text(app) or app.chat.prompt.border_subtitle
        assert app.is_running
        await press(pilot, "ctrl+c")
        await settle(pilot)
    assert runtime.closed
    assert app.return_code == 0


@pytest.mark.req("R-TUI-14")
async def test_ctrl_c_copies_a_selection(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "h", "i", "f7", "ctrl+c")
        await settle(pilot)
        assert app.clipboard == "hi"
        assert app.chat.prompt.text == "hi"


async def test_ctrl_c_clears_a_line_that_was_refused_and_copies_nothing(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/model no-such-model")
        await until(pilot, lambda: app.chat.prompt.text == "/model no-such-model")
        await press(pilot, "ctrl+c")
        await settle(pilot)
        assert app.chat.prompt.text == ""
        assert app.clipboard == ""


async def test_ctrl_d_deletes_in_text_and_quits_without(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "h", "i", "home", "ctrl+d")
        assert app.chat.prompt.text == "i"
        await press(pilot, "ctrl+d", "ctrl+d")
        await settle(pilot)
    assert app.return_code == 0


@pytest.mark.req("R-TUI-16")
async def test_quitting_during_a_turn_stops_it_and_closes_the_session(home, tmp_path):
    session = FakeSession(Waiting().script, workspace=tmp_path / "work")
    app, runtime = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await say(pilot, "/quit")
        await until(pilot, lambda: runtime.closed)
    assert session.closed
    assert not session.busy
    assert type(session.state.facts[-1]).__name__ == "TurnCancelled"
    assert session.state.facts[-1].reason == "client_disconnect", "the user did not stop it"


# Modes


@pytest.mark.req("R-CONF-09")
async def test_shift_tab_cycles_through_the_modes_except_auto(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        for mode in (Mode.ACCEPT_EDITS, Mode.PLAN, Mode.ASK, Mode.ACCEPT_EDITS):
            await press(pilot, "shift+tab")
            await until(pilot, lambda mode=mode: session.mode is mode)
            words = MODE_WORDS[mode][0]
            await until(pilot, lambda words=words: words in screen_text(app).splitlines()[-1])
            assert app.screen is app.chat


@pytest.mark.req("R-CONF-09")
async def test_auto_must_be_entered_and_confirmed_and_shift_tab_leads_back(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        for answer in ("yes", "auto"):
            await say(pilot, "/mode auto")
            await until(pilot, lambda: isinstance(app.screen, TextEntry))
            await press(pilot, *answer)
            assert f"│ {answer}" in screen_text(app)
            await press(pilot, "enter")
            await until(pilot, lambda: app.screen is app.chat)
            is_auto = answer == "auto"
            await until(pilot, lambda on=is_auto: ("AUTO" in screen_text(app)) == on)
            assert (session.mode is Mode.AUTO) == is_auto
        await press(pilot, "shift+tab")
        await until(pilot, lambda: session.mode is Mode.ASK)
        await until(pilot, lambda: "AUTO" not in screen_text(app))


@pytest.mark.req("R-TOOL-07")
@pytest.mark.parametrize(
    ("sandbox", "warning", "warns"),
    [
        ("off", "No sandbox: scripts can write to protected places.", True),
        ("none", "No sandbox: commands are refused.", True),
        ("landlock", "No sandbox", False),
        ("full", "No sandbox", False),
    ],
)
async def test_banner_of_auto_warns_of_scripts_where_no_sandbox_contains_them(
    home, session, sandbox, warning, warns
):
    app, _ = app_of(home, session)
    session.mode = Mode.AUTO
    async with app.run_test(size=(160, 30)) as pilot:
        await until(pilot, lambda: "AUTO: tools" in screen_text(app))
        assert warning not in screen_text(app), "it was not measured yet"
        session.sandbox_level = sandbox  # the first command runs
        app.chat.status.refresh()
        await until(pilot, lambda: (warning in screen_text(app)) == warns)
        session.mode = Mode.ASK
        app.chat.status.refresh()
        await until(pilot, lambda: "AUTO: tools" not in screen_text(app))


async def test_banner_of_auto_is_complete_on_a_small_screen(home, session):
    app, _ = app_of(home, session)
    session.mode, session.sandbox_level = Mode.AUTO, "off"
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: "Shift+Tab ends it." in screen_text(app))
        shown = " ".join(screen_text(app).split())
        assert (
            "AUTO: tools run without approval. No sandbox: scripts can write to protected places."
            " Shift+Tab ends it."
        ) in shown


# No key


@pytest.mark.req("R-CRD-03")
async def test_demo_banner_names_the_ways_to_use_a_model(home, tmp_path):
    demo = FakeSession(HELLO, workspace=tmp_path / "work", model=TOUR)
    real = FakeSession(HELLO, workspace=tmp_path / "work", model=SONNET)
    app, runtime = app_of(home, demo, real)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Demo, no model: /key enters an API key" in screen_text(app))
        text = screen_text(app)
        assert "/key      enter an API key, or set ANTHROPIC_API_KEY" in text
        assert "/models   a model on this machine" in text
        await say(pilot, "/key anthropic ")
        await until(pilot, lambda: isinstance(app.screen, TextEntry))
        await press(pilot, *"sk-canary", "enter")
        await until(pilot, lambda: app.chat.session is real)
        await settle(pilot)
        assert runtime.credentials.saved == {"anthropic": "sk-canary"}
        assert "Demo, no model" not in screen_text(app)
        assert "canary" not in screen_text(app)
        assert all("key" not in draft.text for draft in app.chat.input.entries)


async def test_demo_banner_names_the_list_of_models_if_a_provider_has_no_default(home, tmp_path):
    demo = FakeSession(HELLO, workspace=tmp_path / "work", model=TOUR)
    app, runtime = app_of(home, demo)
    runtime.config = convert({"providers": {"anthropic": {}}}, Config)
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: "Demo, no model: /model chooses one" in screen_text(app))


async def test_switching_to_a_real_model_leaves_the_demo_directory(home, tmp_path):
    demo = FakeSession(HELLO, workspace=tmp_path / "copy", model=TOUR)
    real = FakeSession(HELLO, workspace=tmp_path / "work", model=SONNET)
    app, runtime = app_of(home, demo, real)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, f"/model {SONNET.id} ")
        await until(pilot, lambda: app.chat.session is real)
        await settle(pilot)
        assert "Demo, no model" not in screen_text(app)
        assert "Started a new session in" in screen_text(app)
        assert runtime.options.workspace == demo.workspace


@pytest.mark.req("R-CRD-02")
async def test_key_given_as_an_argument_is_rejected_and_not_repeated(home, session):
    app, runtime = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/key sk-canary")
        await settle(pilot)
        assert "takes the name of a provider" in screen_text(app)
        assert runtime.credentials.saved == {}
        assert app.chat.input.entries == []


# Commands


@pytest.mark.req("R-RTE-10")
async def test_path_like_input_is_sent_on_the_second_enter(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/etc/hosts is odd")
        assert session.sent == []
        assert app.chat.prompt.text == "/etc/hosts is odd"
        await press(pilot, "enter")
        await until(pilot, lambda: session.sent == ["/etc/hosts is odd"])


async def test_unknown_command_is_not_sent_and_keeps_its_text(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/hlep")
        await press(pilot, "enter")
        await settle(pilot)
        assert session.sent == []
        assert app.chat.prompt.text == "/hlep"
        assert "did you mean `/help`" in screen_text(app)


@pytest.mark.parametrize("name", ["/help", "/cost"])
@pytest.mark.req("R-TUI-20")
@pytest.mark.sample(2)
async def test_reports_open_and_close(home, session, name):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, name)
        await until(pilot, lambda: isinstance(app.screen, ReportScreen))
        await settle(pilot)
        await press(pilot, "escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_greeting_is_shown_until_the_first_message(home, tmp_path):
    first = FakeSession(HELLO, workspace=tmp_path / "work")
    second = FakeSession(HELLO, workspace=tmp_path / "work", session_id="sess_2")
    app, _ = app_of(home, first, second)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        text = screen_text(app)
        assert f"yourtool {__version__}" in text
        assert str(tmp_path / "work")[:40] in text
        assert f"{SONNET.id} · ask before changes and commands" in text
        assert all(hint in text for hint in ("/help", "/resume", "/models"))
        await press(pilot, "shift+tab")
        await until(pilot, lambda: "edit files without asking" in screen_text(app))
        await say(pilot, "hello")
        await until(pilot, lambda: "Hello to you." in screen_text(app))
        assert "an earlier conversation" not in screen_text(app)
        await say(pilot, "/new")
        await until(pilot, lambda: "an earlier conversation" in screen_text(app))


@pytest.mark.req("R-TUI-20")
async def test_clear_starts_a_new_session_and_ctrl_l_only_empties_the_screen(home, tmp_path):
    first = FakeSession(HELLO, workspace=tmp_path / "work")
    second = FakeSession(HELLO, workspace=tmp_path / "work", session_id="sess_2")
    app, _ = app_of(home, first, second)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "Hello to you." in screen_text(app))
        await press(pilot, "ctrl+l")
        await until(pilot, lambda: "Hello to you." not in screen_text(app))
        assert app.chat.session is first
        await say(pilot, "/clear")
        await until(pilot, lambda: app.chat.session is second)
        assert first.closed


@pytest.mark.req("R-TUI-19")
async def test_refused_swap_is_reported_and_keeps_the_text(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/model claude-9")
        await until(pilot, lambda: app.chat.prompt.text == "/model claude-9")
        assert "the active model did not change" in screen_text(app)


@pytest.mark.req("R-TUI-19")
@pytest.mark.remaining
async def test_list_of_models_folds_a_provider_without_a_key_and_enter_asks_for_it(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/models")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await settle(pilot)
        text = screen_text(app)
        assert text.index("claude-sonnet-4-6") < text.index("openai: Enter sets it up (1 model)")
        assert "in use · default" in text
        assert "3/15" in text
        await press(pilot, *"gpt")
        assert app.screen.highlighted.value == "openai"
        assert "OPENAI_API_KEY" in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, TextEntry))
        assert session.model is SONNET
        await press(pilot, *"sk-1", "enter")
        await until(pilot, lambda: session.model.id == GPT.id)


async def test_model_show_explains_the_last_choice(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/model show")
        await until(pilot, lambda: "7 global_default: chose" in screen_text(app))


async def test_copy_copies_the_source_of_the_last_reply(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: not app.chat.runner.is_running and session.state.messages)
        await say(pilot, "/copy")
        await until(pilot, lambda: app.clipboard == "Hello to you.")
        told = "Copied 13 characters through the terminal (OSC 52)."
        await until(pilot, lambda: told in screen_text(app))


@pytest.mark.req("R-TUI-25")
@pytest.mark.remaining
async def test_copy_list_copies_the_chosen_code_block(home, session):
    app, _ = app_of(home, session)
    session._scripts = [turn("hello", "First:\n```python\nprint(1)\n```\n")]
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: not app.chat.runner.is_running and session.state.messages)
        await say(pilot, "/copy list")
        await until(pilot, lambda: "python · 1 line, 9 characters" in screen_text(app))
        await press(pilot, "down", "enter")
        await until(pilot, lambda: app.clipboard == "print(1)\n")


async def test_theme_changes_the_colours(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/theme light ")
        await until(pilot, lambda: app.theme == "light")


@pytest.mark.req("R-TUI-03")
@pytest.mark.remaining
async def test_enter_accepts_the_suggestion_at_80_by_24(home, session):
    (session.workspace / "apple.py").write_text("")
    app, _ = app_of(home, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, *"see", "space", *"@app")
        await until(pilot, lambda: "apple.py" in screen_text(app))
        await press(pilot, "tab")
        await settle(pilot)
        assert app.chat.prompt.text == "see @apple.py "
        await press(pilot, "ctrl+c", *"/he", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReportScreen))


async def test_activity_line_stops_waiting_when_text_arrives(home, tmp_path):
    script = Waiting(full_reply("Hello."), turn_end())
    script.script.insert(
        2,
        LlmCallStarted(
            model=SONNET.id, provider="anthropic", estimated_input_tokens=1, request_id="r"
        ),
    )
    session = FakeSession(script.script, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: "Writing · 0 s · " in screen_text(app))
        assert app.chat.status_line.status.activity == ""
        script.gate.set()
        await until(pilot, lambda: not app.chat.runner.is_running)


async def test_no_timer_runs_while_idle(home, session):
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert not app.chat.transcript._ticker.is_running
        assert not app.chat.prompt.cursor_blink


@pytest.mark.remaining
async def test_token_causes_no_query_and_no_status_update(home, tmp_path):
    words = [f"w{number} " for number in range(2_000)]
    script = [
        turn_start("go"),
        default_route(),
        *text_deltas(*words),
        full_reply("".join(words)),
        turn_end(),
    ]
    app, _ = app_of(home, FakeSession(script, workspace=tmp_path / "work"))
    calls: Counter[str] = Counter()

    def count(frame, event, _):
        if event == "call":
            calls[frame.f_code.co_qualname] += 1

    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        sys.setprofile(count)
        try:
            await say(pilot, "go")
            await until(pilot, lambda: not app.chat.runner.is_running)
        finally:
            sys.setprofile(None)
        assert calls["Transcript.apply"] >= len(words)
        assert calls["DOMNode.query_one"] < len(words) // 2
        assert calls["SessionStatus.refresh"] < len(words) // 20


async def test_text_typed_right_after_enter_stays_in_the_prompt(home, session):
    app, _ = app_of(home, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        prompt = app.chat.prompt
        prompt.load(Draft("hello"))
        await prompt.run_action("send")
        prompt.insert("and")  # before the screen handles the first line
        await until(pilot, lambda: session.sent == ["hello"])
        await settle(pilot)
        assert prompt.text == "and"


LONG = "\n\n".join(f"Paragraph {number}." for number in range(60))


async def scrolled_back(pilot, text="one"):
    """Send a message with a long reply and scroll back from its end."""
    await settle(pilot)
    await say(pilot, text)
    await until(pilot, lambda: not pilot.app.chat.runner.is_running)
    await press(pilot, "pageup")
    assert "Paragraph 59." not in screen_text(pilot.app)


@pytest.mark.req("R-TUI-09")
@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_position_is_preserved_and_new_lines_counted_when_scrolled_back(home, tmp_path, size):
    waiting = Waiting(Notice(level="info", text="a notice"), full_reply("Hello."), turn_end())
    session = FakeSession(turn("one", LONG), waiting.script, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test(size=size) as pilot:
        await scrolled_back(pilot)
        await say(pilot, "two")
        await until(pilot, lambda: "Hel" in screen_text(app))
        await press(pilot, "pageup")
        top = app.chat.transcript.scroll_offset.y
        waiting.gate.set()
        await until(pilot, lambda: not app.chat.runner.is_running)
        await until(pilot, lambda: re.search(r"↓ \d+ new lines · Ctrl\+End", screen_text(app)))
        assert app.chat.transcript.scroll_offset.y == top
        await press(pilot, "ctrl+end")
        await until(pilot, lambda: "new line" not in screen_text(app))


@pytest.mark.req("R-TUI-09")
@pytest.mark.parametrize(
    ("entered", "shown"),
    [
        ("two", "The second reply."),
        ("/modle", "Unknown command"),
        ("/theme nothing", "Unknown theme"),
    ],
)
async def test_sending_scrolls_to_the_end_where_its_effect_is(home, tmp_path, entered, shown):
    session = FakeSession(
        turn("one", LONG), turn("two", "The second reply."), workspace=tmp_path / "work"
    )
    app, _ = app_of(home, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await scrolled_back(pilot)
        await say(pilot, entered)
        await until(pilot, lambda: shown in screen_text(app))
        assert not app.chat.transcript.unseen_rows


@pytest.mark.req("R-TUI-09")
async def test_failure_and_its_retry_are_shown_after_sending_from_further_up(home, tmp_path):
    failure = [turn_start("two"), default_route(), failed_request("No room left."), turn_end()]
    session = FakeSession(turn("one", LONG), failure, workspace=tmp_path / "work")
    session.retry = session._play
    app, _ = app_of(home, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await scrolled_back(pilot)
        await say(pilot, "two")
        await until(pilot, lambda: "No room left." in screen_text(app))
        await press(pilot, "pageup")
        await press(pilot, "ctrl+t")
        await until(
            pilot, lambda: app.chat.transcript.max_scroll_y == round(app.chat.transcript.scroll_y)
        )
        await until(pilot, lambda: "No room left." in screen_text(app))


async def test_queued_message_that_is_sent_later_preserves_the_position(home, tmp_path):
    waiting = Waiting(full_reply("Hello."), turn_end())
    session = FakeSession(
        turn("one", LONG), waiting.script, turn("three", "Third."), workspace=tmp_path / "work"
    )
    app, _ = app_of(home, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await scrolled_back(pilot)
        await say(pilot, "two")
        await say(pilot, "three")
        await press(pilot, "pageup")
        top = app.chat.transcript.scroll_offset.y
        waiting.gate.set()
        await until(pilot, lambda: session.sent == ["one", "two", "three"])
        await until(pilot, lambda: not app.chat.runner.is_running)
        await settle(pilot)
        assert app.chat.transcript.scroll_offset.y == top


async def test_status_line_changes_with_frames_during_a_turn_and_at_once_at_its_end(home, tmp_path):
    waiting = Waiting(turn_end())
    session = FakeSession(waiting.script, workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await say(pilot, "hello")
        await until(pilot, lambda: "Hel" in screen_text(app))
        status = app.chat.status
        status._schedule._painted_at = time.monotonic() + 3600
        for _ in range(20):
            app.chat.show_event(session._applied(full_reply("more")))
            await asyncio.sleep(0)
        assert status._schedule.is_waiting
        assert status._line.status.cost == ""
        waiting.gate.set()
        await until(pilot, lambda: not app.chat.runner.is_running)
        assert status._line.status.cost == "$0.2460"


async def test_activity_line_fits_a_narrower_window_before_its_next_tick(home, tmp_path):
    session = FakeSession([turn_start("hello"), asyncio.Event()], workspace=tmp_path / "work")
    app, _ = app_of(home, session)
    app.chat = ChatScreen(run_command, clock=lambda: 0.0)
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "hello")
        await until(pilot, lambda: "Working · 0 s · Esc to interrupt" in screen_text(app))
        await pilot.resize_terminal(40, 12)
        await settle(pilot)
        assert "Working · 0 s · Esc to interrupt" in screen_text(app)
        await pilot.resize_terminal(30, 12)
        await settle(pilot)
        assert "Working · 0 s" in screen_text(app) and "Esc to in" not in screen_text(app)
