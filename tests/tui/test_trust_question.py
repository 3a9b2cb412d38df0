"""The question whether to trust the folder."""

import pytest

from tests.clocks import SetClock
from tests.trusted_folders import trust
from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import press, screen_text, settle, until
from yourtool.agent.session.project.project_trust import is_trusted
from yourtool.events.deltas import Notice
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.chat import ChatScreen
from yourtool.tui.screens.command_results import run_command

SIZES = [(40, 12), (80, 24), (200, 50)]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("Be\u200b brief.")
    return tmp_path / "home"


@pytest.fixture
def opened(home, tmp_path):
    """Build an app whose folder has instructions, its session and its clock."""

    def build(first_prompt="", *sessions):
        session = FakeSession(turn("go", "Done."), workspace=tmp_path / "work")
        runtime = FakeRuntime(home, session, *sessions)

        async def opens():
            return runtime

        app, clock = YourtoolApp(opens), SetClock()
        app.chat = ChatScreen(run_command, clock)
        app.first_prompt = first_prompt
        return app, session, clock

    return build


async def until_asked(pilot, clock):
    await until(pilot, lambda: "[t] Trust" in screen_text(pilot.app))
    await settle(pilot)
    await pause(pilot, clock)


async def pause(pilot, clock):
    """Let a second pass, and run the action of the timer."""
    clock.now += 1
    pilot.app.chat.trust_question.arm_when_safe()
    await settle(pilot)


async def answer(pilot, clock, key):
    await press(pilot, key, "enter")
    clock.now += 1
    await until(pilot, lambda: "[t] Trust" not in screen_text(pilot.app))
    await settle(pilot)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.req("R-CONF-05", "T14", "T19")
async def test_question_shows_what_would_be_used(opened, size):
    app, session, clock = opened()
    async with app.run_test(size=size) as pilot:
        await until_asked(pilot, clock)
        text = screen_text(app)
        assert "Trust this folder?" in text
        assert "AGENTS.md 12 bytes, 1 hidden" in text
        assert all(label in text for label in ("[t] Trust", "[c] Continue without", "[q] Quit"))
        assert "waiting for your answer" in text
        assert app.chat.session is None, "nothing is sent before the answer"
        await answer(pilot, clock, "t")
        await until(pilot, lambda: app.chat.session is session)
        await settle(pilot)
        assert "AGENTS.md loaded" in screen_text(app)
        assert is_trusted(session.workspace)


@pytest.mark.remaining
async def test_question_is_asked_once(opened):
    for key in ("c", None):
        app, session, clock = opened()
        async with app.run_test() as pilot:
            if key:
                await until_asked(pilot, clock)
                await answer(pilot, clock, key)
            await until(pilot, lambda app=app: app.chat.session is not None)
            await settle(pilot)
            assert "AGENTS.md ignored; /trust changes that" in screen_text(app)
            assert not is_trusted(session.workspace)


@pytest.mark.req("T15")
async def test_changed_file_is_asked_about_again(opened, tmp_path):
    trust(tmp_path / "work")
    (tmp_path / "work" / "AGENTS.md").write_text("Be long.")
    app, _, clock = opened()
    async with app.run_test() as pilot:
        await until_asked(pilot, clock)
        assert "Files changed: trust them?" in screen_text(app)
        assert "AGENTS.md changed: 8 bytes, instructions" in screen_text(app)
        await answer(pilot, clock, "t")
        assert is_trusted(tmp_path / "work")


async def test_folder_without_files_that_configure_is_not_asked_about(opened, tmp_path):
    (tmp_path / "work" / "AGENTS.md").unlink()
    app, session, _ = opened()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is session)
        await settle(pilot)
        assert "Trust this folder?" not in screen_text(app)
    assert not is_trusted(session.workspace)


async def test_trusted_folder_is_opened_without_a_question(opened, tmp_path):
    trust(tmp_path / "work")
    app, *_ = opened()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert "AGENTS.md loaded" in screen_text(app)


@pytest.mark.req("T15")
async def test_new_file_is_asked_about_and_marked(opened, tmp_path):
    trust(tmp_path / "work")
    commands = tmp_path / "work" / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "go.md").write_text("Go.")
    app, _, clock = opened()
    async with app.run_test() as pilot:
        await until_asked(pilot, clock)
        assert "Files changed: trust them?" in screen_text(app)
        assert ".claude/commands/go.md new: 3 bytes" in screen_text(app)
        assert "AGENTS.md unchanged: 12 bytes" in screen_text(app)


def write_commands(work):
    """Write so many commands that a low screen cannot name them all; return their names."""
    commands = work / ".claude" / "commands"
    commands.mkdir(parents=True)
    for number in range(1, 9):
        (commands / f"c{number}.md").write_text("Go.")
    return ["AGENTS.md", *(f".claude/commands/c{number}.md" for number in range(1, 9))]


async def test_question_names_all_files_that_the_screen_has_room_for(opened, tmp_path):
    names = write_commands(tmp_path / "work")
    app, _, clock = opened()
    async with app.run_test(size=(110, 45)) as pilot:
        await until_asked(pilot, clock)
        assert [each for each in names if each not in screen_text(app)] == []


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
@pytest.mark.sample(2)
async def test_files_without_room_are_a_page_further_before_the_answer(opened, tmp_path, size):
    names = write_commands(tmp_path / "work")
    app, session, clock = opened()
    async with app.run_test(size=size) as pilot:
        await until_asked(pilot, clock)
        assert "more · Page Down shows them" in screen_text(app)
        seen = screen_text(app)
        for _ in range(2):
            await press(pilot, "pagedown")
            seen += screen_text(app)
        assert [each for each in names if each not in seen] == []
        assert "before · Page Up goes back" in screen_text(app)
        clock.now += 1
        await answer(pilot, clock, "t")
        await until(pilot, lambda: app.chat.session is session)
        assert is_trusted(session.workspace)


@pytest.mark.remaining
async def test_servers_that_wait_after_the_answer_or_start_later_are_named(opened):
    app, session, clock = opened()

    async def trust_a_server(workspace):
        notice = Notice(level="warning", text="`theirs` needs an answer")
        return (notice,) if is_trusted(workspace) else ()

    async with app.run_test(size=(110, 30)) as pilot:
        await until_asked(pilot, clock)
        app.runtime.tool_servers.renew = trust_a_server
        await answer(pilot, clock, "t")
        await until(pilot, lambda: app.chat.session is session)
        await settle(pilot)
        assert "`theirs` needs an answer" in screen_text(app)
        app.runtime.tool_servers.on_news(Notice(level="info", text="`theirs` is connected"))
        await settle(pilot)
        assert "`theirs` is connected" in screen_text(app)


@pytest.mark.req("T20")
async def test_text_that_is_being_typed_is_no_answer_and_none_is_lost(opened):
    app, session, clock = opened()
    async with app.run_test() as pilot:
        await until(pilot, lambda: "[t] Trust" in screen_text(app))
        await press(pilot, *"tcq")  # too soon after it appeared
        assert app.chat.prompt.text == "tcq"
        clock.now += 1
        await press(pilot, "t")  # there is text in the prompt
        assert app.chat.prompt.text == "tcqt"
        await press(pilot, *["backspace"] * 4)
        clock.now += 1
        await press(pilot, *"tell")  # a letter that another one follows
        clock.now += 1
        await settle(pilot)
        assert app.chat.prompt.text == "tell"
        assert "[t] Trust" in screen_text(app)
        assert not is_trusted(session.workspace)


async def test_other_keys_are_no_answer(opened):
    app, session, clock = opened()
    async with app.run_test() as pilot:
        await until_asked(pilot, clock)
        for key in ("enter", "y", "space", "4"):
            await pause(pilot, clock)
            await press(pilot, key)
            await pause(pilot, clock)
            assert "[t] Trust" in screen_text(app), key
        assert not is_trusted(session.workspace)


@pytest.mark.parametrize("keys", [["escape"], ["c"], ["n"], ["2"], [*"no"], ["down", "tab"]])
async def test_escape_and_words_for_no_continue_without(opened, keys):
    app, session, clock = opened()
    async with app.run_test() as pilot:
        await until_asked(pilot, clock)
        await press(pilot, *keys[:-1])
        await answer(pilot, clock, keys[-1])
        await until(pilot, lambda: app.chat.session is session)
        assert not is_trusted(session.workspace)


async def test_first_prompt_waits_for_the_answer(opened):
    app, session, clock = opened("go")
    async with app.run_test() as pilot:
        await until_asked(pilot, clock)
        assert session.sent == []
        await answer(pilot, clock, "c")
        await until(pilot, lambda: session.sent == ["go"])


@pytest.mark.remaining
async def test_message_sent_before_the_answer_is_not_shown_as_waiting_for_a_turn(opened):
    app, session, clock = opened()
    async with app.run_test() as pilot:
        await until_asked(pilot, clock)
        await press(pilot, *"go on", "enter")
        await settle(pilot)
        assert "Waiting to be sent: Up edits" in screen_text(app)
        assert "After this turn" not in screen_text(app)
        await pause(pilot, clock)
        await answer(pilot, clock, "c")
        await until(pilot, lambda: session.sent == ["go on"])


async def test_quit_closes_the_program_and_stores_no_answer(opened, home):
    app, session, clock = opened("go")
    async with app.run_test() as pilot:
        await until_asked(pilot, clock)
        await press(pilot, "q", "enter")
        clock.now += 1
        await until(pilot, lambda: not app.is_running or app._exit)
    assert session.sent == []
    assert not (home / "trust.toml").exists()


async def test_broken_store_is_reported_and_nothing_is_trusted(opened, home):
    home.mkdir()
    (home / "trust.toml").write_text("nonsense")
    app, *_ = opened()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        text = " ".join(screen_text(app).split())
        assert "so no folder is trusted" in text
        assert "AGENTS.md ignored" in text


@pytest.mark.req("T17", "T19")
async def test_path_of_the_folder_does_not_control_the_terminal(home, tmp_path):
    work = tmp_path / "w\x1b]52;c;aGk=\x07\u202e\U000e0041[bold]\x9b2J"
    work.mkdir()
    (work / "AGENTS.md").write_text("x")
    session = FakeSession(turn("go", "Done."), workspace=work)
    runtime = FakeRuntime(home, session)

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "[t] Trust" in screen_text(app))
        text = screen_text(app)
        assert "w␛]52;c;aGk=␇\\u{202e}\\u{e0041}[bold]\\x9b2J" in text
        assert not any(char in text for char in "\x1b\x07\u202e\U000e0041\x9b")


@pytest.mark.remaining
async def test_command_changes_the_answer(opened, tmp_path):
    trust(tmp_path / "work", trusted=False)
    app, *_ = opened()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, *"/trust", "enter")
        await until(pilot, lambda: "Do not trust it" in screen_text(app))
        assert "12 bytes, 1 hidden" in screen_text(app)
        await press(pilot, "up", "enter")
        await until(pilot, lambda: "AGENTS.md loaded" in screen_text(app))
        assert is_trusted(tmp_path / "work")
        await press(pilot, *"/trust", "enter")
        await until(pilot, lambda: "Do not trust it" in screen_text(app))
        await press(pilot, "down", "enter")
        await until(pilot, lambda: "AGENTS.md ignored" in screen_text(app))
        assert not is_trusted(tmp_path / "work")
