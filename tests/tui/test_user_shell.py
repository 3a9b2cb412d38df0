"""Shell commands at the prompt: parsing, queueing and display."""

import asyncio

import pytest

from tests.tui.fakes import (
    FakeRuntime,
    FakeSession,
    default_route,
    full_reply,
    message,
    turn,
    turn_end,
    turn_start,
)
from tests.tui.pilot_helpers import press, say, screen_text, until
from yourtool.agent.commands.parser import InvalidCommand, ShellLine, parse_input
from yourtool.events.deltas import ShellStarted, ToolOutputDelta
from yourtool.events.tools import ShellRan
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import Audience, Origin, PromptMetadata
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.completer import Completer
from yourtool.tui.input.drafts import Draft
from yourtool.tui.screens.screen_commands import help_report
from yourtool.tui.transcript.activity import describe_activity
from yourtool.tui.transcript.timeline import Timeline
from yourtool.tui.transcript.tool_card import CommandCard

HELLO = turn("hello", "Hello to you.")


class ShellSession(FakeSession):
    """Plays the next script for a shell command too, and records the command."""

    def __init__(self, *scripts, **options):
        super().__init__(*scripts, **options)
        self.commands = []

    async def run_shell(self, command, *, shared):
        self.commands.append((command, shared))
        async for event in self._play():
            yield event


def shell_start(command, shared=True, message_id="m1"):
    return ShellStarted(message_id=message_id, command=command, shared=shared)


def shell_end(command, output="hi\n", code=0, *, shared=True, message_id="m1", seconds=0.01):
    audience = Audience.BOTH if shared else Audience.USER
    metadata = PromptMetadata(origin=Origin.USER_SHELL, audience=audience)
    texts = (f"$ {command}\n", output, f"[exit code {code}; the user ran this command]\n")
    said = message(Role.USER, "", metadata)
    return ShellRan(
        command=command,
        exit_code=code,
        duration_seconds=seconds,
        truncated=False,
        message=type(said)(
            id=message_id,
            session_id=said.session_id,
            role=Role.USER,
            content=tuple(map(TextBlock, texts)),
            metadata=metadata,
            created_at=said.created_at,
        ),
    )


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


def app_of(home, session):
    runtime = FakeRuntime(home, session)

    async def opens():
        return runtime

    return YourtoolApp(opens)


# Parsing


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("!echo hi", ShellLine("echo hi")),
        ("! echo hi ", ShellLine("echo hi")),
        ("!!echo hi", ShellLine("echo hi", shared=False)),
        ("!cd a\nls", ShellLine("cd a\nls")),
        ("!/help", ShellLine("/help")),
        (" !echo hi", None),
        ("\\!echo hi", None),
        ("so!", None),
    ],
)
@pytest.mark.req("R-TUI-04")
def test_only_an_exclamation_mark_in_the_first_column_starts_a_shell_command(typed, meant):
    assert parse_input(typed) == meant


@pytest.mark.parametrize("typed", ["!", "!!", "! ", "!!\n"])
def test_exclamation_mark_alone_is_explained(typed):
    mistake = parse_input(typed)
    assert isinstance(mistake, InvalidCommand)
    assert "`!git status`" in mistake.message
    assert "\n" not in mistake.message


@pytest.mark.parametrize("typed", ["!", "!ca", "!cat @", "!cat @a", "!/mod"])
def test_shell_command_has_no_completion(typed):
    completer = Completer()
    assert not completer.needs_files(typed)
    completer.files = ("a.txt",)
    assert completer.suggest(typed) is None


@pytest.mark.req("R-TUI-21")
def test_help_lists_both_shell_prefixes():
    [shell] = [section for section in help_report() if section.title == "Shell"]
    assert [name for name, _ in shell.rows] == ["!command", "!!command"]


# Running


@pytest.mark.req("R-TUI-04")
async def test_shell_command_is_run_and_not_sent(home, tmp_path):
    first = [
        shell_start("echo hi"),
        ToolOutputDelta(tool_use_id="m1", text="hi\n"),
        shell_end("echo hi"),
    ]
    unseen = shell_start("pwd", shared=False, message_id="m2")
    second = [unseen, shell_end("pwd", "/w\n", shared=False, message_id="m2")]
    session = ShellSession(first, second, HELLO, workspace=tmp_path / "work")
    app = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "!echo hi")
        await until(pilot, lambda: "✓ ! echo hi" in screen_text(app))
        assert "│ hi" in screen_text(app)
        assert "the user ran this command" not in screen_text(app)
        assert "/resume" not in screen_text(app)  # the greeting is hidden
        await say(pilot, "!!pwd")
        await until(pilot, lambda: "✓ !! pwd" in screen_text(app))
        await say(pilot, "\\!important")
        await until(pilot, lambda: "Hello to you." in screen_text(app))
        await say(pilot, " !spaced")
        await until(pilot, lambda: len(session.sent) == 2)
        await press(pilot, "up", "up", "up")
        assert app.chat.prompt.text == "!!pwd"
    assert session.commands == [("echo hi", True), ("pwd", False)]
    assert session.sent == ["!important", " !spaced"]


async def test_prompt_hint_explains_a_shell_command(home, tmp_path):
    session = ShellSession(HELLO, workspace=tmp_path / "work")
    app = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, "!")
        assert "command · the model sees its output" in screen_text(app)
        await press(pilot, "!")
        assert "command · hidden from the model" in screen_text(app)
        await press(pilot, "enter")
        assert "`!` runs a shell command" in screen_text(app)
        assert app.chat.prompt.text == "!!"
        await press(pilot, "backspace", "backspace")
        assert "? keys · / commands" in screen_text(app)
    assert session.commands == session.sent == []


async def test_status_line_shows_the_hint_on_a_short_screen(home, tmp_path):
    app = app_of(home, ShellSession(HELLO, workspace=tmp_path / "work"))
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, "!")
        assert "command · the model sees its output" in screen_text(app)


async def test_shell_command_is_queued_during_a_turn(home, tmp_path):
    gate = asyncio.Event()
    session = ShellSession(
        [turn_start("hello"), default_route(), gate, full_reply("Hello to you."), turn_end()],
        [shell_start("echo hi"), shell_end("echo hi")],
        workspace=tmp_path / "work",
    )
    app = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "hello")
        await say(pilot, "!echo hi")
        assert app.chat.runner.queue.drafts == [Draft("!echo hi")]
        assert session.commands == []
        gate.set()
        await until(pilot, lambda: "✓ ! echo hi" in screen_text(app))
    assert session.commands == [("echo hi", True)]


async def test_esc_stops_a_shell_command_and_holds_the_queue(home, tmp_path):
    class Endless(ShellSession):
        async def run_shell(self, command, *, shared):
            async for event in super().run_shell(command, shared=shared):
                stopped = not isinstance(event, ShellStarted)
                yield self._applied(shell_end(command, code=None)) if stopped else event

    session = Endless([shell_start("sleep 9"), asyncio.Event()], HELLO, workspace=tmp_path / "work")
    app = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "!sleep 9")
        await until(pilot, lambda: "Running `sleep 9`" in screen_text(app))
        assert "Esc stops" in screen_text(app)
        await say(pilot, "and then")
        await press(pilot, "escape")
        await until(pilot, lambda: "⊘ ! sleep 9" in screen_text(app))
        assert app.chat.runner.queue.pause_reason
    assert session.sent == []


@pytest.mark.req("R-TUI-09")
async def test_output_of_a_shell_command_is_shown_after_scrolling_back(home, tmp_path):
    lines = "".join(f"line {number}\n" for number in range(60))
    session = ShellSession(
        turn("one", lines.replace("\n", "\n\n")),
        [shell_start("seq 3"), shell_end("seq 3", "from the shell\n")],
        workspace=tmp_path / "work",
    )
    app = app_of(home, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await say(pilot, "one")
        await until(pilot, lambda: not app.chat.runner.is_running)
        await press(pilot, "pageup")
        assert "line 59" not in screen_text(app)
        await say(pilot, "!seq 3")
        await until(pilot, lambda: "from the shell" in screen_text(app))


async def test_folded_paste_with_an_exclamation_mark_is_text(home, tmp_path):
    session = ShellSession(HELLO, workspace=tmp_path / "work")
    app = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        app.chat.prompt.paste("!rm -rf .\n" * 20)
        await press(pilot, "enter")
        await until(pilot, lambda: len(session.sent) == 1)
        app.chat.prompt.load(Draft("!cat <<.\n"))
        app.chat.prompt.paste("words\n" * 20)
        await press(pilot, "enter")
        await until(pilot, lambda: len(session.commands) == 1)
    assert session.sent[0].startswith("!rm -rf .")
    assert session.commands[0][0] == "cat <<.\n" + ("words\n" * 20).strip()


async def test_shell_command_does_not_take_attachments(home, tmp_path):
    session = ShellSession([shell_start("ls"), shell_end("ls")], workspace=tmp_path / "work")
    app = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        (tmp_path / "work" / "a.txt").write_text("a cat")
        app.chat.attachments.add(type("A", (), {"name": "a.txt", "block": TextBlock("a cat")})())
        await say(pilot, "!ls")
        await until(pilot, lambda: "✓ ! ls" in screen_text(app))
        assert app.chat.attachments.names == ("a.txt",)


# Display


def rows(item, width=60):
    return ["".join(part for part, _ in line.spans) for line in item.build(width)]


@pytest.mark.req("R-TUI-20")
def test_shell_command_looks_the_same_live_and_resumed():
    live, resumed = Timeline(clock=lambda: 0.0), Timeline(clock=lambda: 0.0)
    fact = shell_end("make", "no rule\n", 2, seconds=1.25)
    for event in (shell_start("make"), ToolOutputDelta(tool_use_id="m1", text="no"), fact):
        live.apply(event)
    resumed.apply(fact)
    [card], [again] = live.items, resumed.items
    assert rows(card) == rows(again) == ["! make · exit code 2 · 1.2 s", "│ no rule"]
    assert live.message_items == {"m1": card}
    assert not live.ticking_items
    assert live.active_item is None


def test_running_command_shows_the_end_of_its_output_and_its_duration():
    now = [0.0]
    story = Timeline(clock=lambda: now[0])
    story.apply(shell_start("make"))
    story.apply(ToolOutputDelta(tool_use_id="m1", text="".join(f"{n}\n" for n in range(30))))
    now[0] = 3.0
    [card] = story.items
    assert rows(card)[0] == "! make · running 3 s"
    assert rows(card)[-1] == "│ 29"
    assert story.ticking_items == [card]
    assert isinstance(card, CommandCard)
    assert describe_activity(story) == "running `make`"


def test_running_command_shows_the_last_state_of_what_it_draws_again():
    story = Timeline()
    story.apply(shell_start("make"))
    for text, shown in (
        ("start\n10 %", ["│ start", "│ 10 %"]),
        ("\b\b\b\b20 %", ["│ start", "│ 20 %"]),
        ("\b" * 99 + "end1\n22\b\b3", ["│ end1", "│ 3"]),
    ):
        story.apply(ToolOutputDelta(tool_use_id="m1", text=text))
        assert rows(story.items[0])[1:] == shown


@pytest.mark.req("R-TUI-07")
def test_command_output_does_not_control_the_terminal():
    story = Timeline()
    story.apply(shell_end("a\x1b[2Jb", "\x1b]0;title\x07\x1b[2Jred\n"))
    [card] = story.items
    assert not any("\x1b" in row or "\x07" in row for row in rows(card))


def test_long_output_is_folded_to_its_end():
    story = Timeline()
    story.apply(shell_end("seq 100", "".join(f"{n}\n" for n in range(100))))
    [card] = story.items
    assert rows(card)[1:3] == ["│ … 80 more lines (Ctrl+O)", "│ 80"]
    card.expand(True)
    assert "│ 0" in rows(card)
