"""`/fork`, `/search` and `/export` over a real store; the model is a script (R-TUI-20)."""

import contextlib
import gc
import json
import re
import stat
import sys
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store.turns import FactBuilder, changed
from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from yourtool.agent.runtime import Runtime
from yourtool.messages.message import now
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions, config_file
from yourtool.store.exports import from_jsonl
from yourtool.tui.app import YourtoolApp
from yourtool.tui.screens.dialog import TextEntry
from yourtool.tui.screens.picker import Picker

CANARY = "canary-0815-do-not-leak"


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [[{"say": "So it is."}]] * 9}))
    settings = config_file(resolve_paths())
    settings.parent.mkdir()
    settings.write_text(f"[providers.demo]\nquirks = {{ script = {json.dumps(str(script))} }}\n")
    return tmp_path / "work"


@contextlib.asynccontextmanager
async def talking(work, *prompts):
    """An app with answered prompts."""

    async def opens():
        return await Runtime.open(resolve_paths(), RunOptions(workspace=work, model="demo:file"))

    app = YourtoolApp(opens)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        for prompt in prompts:
            await send(pilot, prompt)
        yield app, pilot


async def send(pilot, prompt):
    chat = pilot.app.chat
    turns = chat.session.state.turn_count
    await say(pilot, prompt)
    await until(
        pilot, lambda: chat.session.state.turn_count == turns + 1 and not chat.runner.is_running
    )


def prompts_of(session):
    return [each.text for each in session.state.messages if each.role == "user"]


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_fork_continues_in_a_copy_of_the_session(work):
    async with talking(work, "first words") as (app, pilot):
        first = app.chat.session
        await say(pilot, "/fork")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await settle(pilot)
        assert "Entire session" in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: app.chat.session is not first)
        assert f"Forked here from {first.id}" in screen_text(app).replace("\n", " ")
        await send(pilot, "other words")
        assert prompts_of(app.chat.session) == ["first words", "other words"]
        assert prompts_of(first) == ["first words"]
        ids = {each.id for each in await app.runtime.store.list()}
        assert ids == {first.id, app.chat.session.id}


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_fork_before_a_prompt_loads_it_for_editing(work):
    async with talking(work, "one", "two, please") as (app, pilot):
        first = app.chat.session
        await say(pilot, "/fork")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, "down", "enter")
        await until(pilot, lambda: app.chat.session is not first)
        await settle(pilot)
        assert prompts_of(app.chat.session) == ["one"]
        assert app.chat.prompt.text == "two, please"


@pytest.mark.req("R-UNDO-01")
@pytest.mark.remaining
async def test_esc_twice_edits_an_earlier_prompt_on_another_branch(work):
    async with talking(work, "one", "two, please", "three") as (app, pilot):
        first = app.chat.session
        await press(pilot, "escape")
        assert "Esc again: go back to a prompt" in screen_text(app)
        assert app.screen is app.chat
        await press(pilot, "escape")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await settle(pilot)
        rows = [row for row in screen_text(app).splitlines() if "before prompt" in row]
        assert [re.search(r"before prompt \d", row)[0] for row in rows] == [
            "before prompt 3",
            "before prompt 2",
            "before prompt 1",
        ]
        await press(pilot, "down", "enter")
        await until(pilot, lambda: app.chat.prompt.text == "two, please")
        assert app.chat.session is first
        assert prompts_of(first) == ["one"]
        assert app.focused is app.chat.prompt
        await press(pilot, *" and soon", "enter")
        await until(pilot, lambda: first.state.turn_count == 4)
        assert prompts_of(first) == ["one", "two, please and soon"]


@pytest.mark.req("R-UNDO-01")
@pytest.mark.remaining
async def test_first_prompt_can_be_gone_back_to_and_esc_closes_the_list(work):
    async with talking(work, "one") as (app, pilot):
        for key in ("escape", "enter"):
            await press(pilot, "escape", "escape")
            await until(pilot, lambda: isinstance(app.screen, Picker))
            await settle(pilot)
            await press(pilot, key)
            await until(pilot, lambda: app.screen is app.chat)
            if key == "escape":
                assert prompts_of(app.chat.session) == ["one"]
        await until(pilot, lambda: app.chat.prompt.text == "one")
        assert prompts_of(app.chat.session) == []


@pytest.mark.remaining
async def test_esc_goes_back_only_from_an_empty_prompt_after_a_message(work):
    async with talking(work) as (app, pilot):
        await press(pilot, "escape", "escape")
        assert "Esc again" not in screen_text(app)
        await send(pilot, "one")
        await press(pilot, "x", "escape", "escape")
        assert "Esc again" not in screen_text(app)
        await press(pilot, "backspace", "tab", "escape")
        assert app.focused is app.chat.prompt
        assert "Esc again" not in screen_text(app)
        assert app.screen is app.chat


@pytest.mark.parametrize("command", ["/fork", "/rewind", "/export", "/search"])
@pytest.mark.req("R-TUI-20")
async def test_command_without_effect_reports_it_and_keeps_the_text(work, command):
    async with talking(work) as (app, pilot):
        first = app.chat.session
        await say(pilot, command)
        await until(pilot, lambda: app.chat.prompt.text == command)
        await settle(pilot)
        assert "send a message first" in screen_text(app) or "/search WORDS" in screen_text(app)
        assert app.chat.session is first
        assert list(work.iterdir()) == []


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_search_opens_the_message_in_its_session(work):
    async with talking(work, "about the frobnicator", *(f"line {n}" for n in range(4))) as (
        app,
        pilot,
    ):
        first = app.chat.session
        await say(pilot, "/new")
        await until(pilot, lambda: app.chat.session is not first)
        await say(pilot, "/search frobni")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await settle(pilot)
        assert "you · " in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: app.chat.session.id == first.id)
        await until(pilot, lambda: "about the frobnicator" in screen_text(app))


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_search_without_results_reports_it(work):
    async with talking(work, "hello") as (app, pilot):
        await say(pilot, "/search zebra")
        await until(pilot, lambda: "No message contains all of these words" in screen_text(app))
        assert app.screen is app.chat


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_export_writes_a_private_file_without_keys(work, monkeypatch):
    async with talking(work, f"Fix the [bold]bug[/bold] {CANARY}") as (app, pilot):
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        for count in (1, 2):
            await say(pilot, "/export")
            await until(pilot, lambda: isinstance(app.screen, Picker))
            await until(pilot, lambda: "Secrets to be removed: " in screen_text(app))
            assert "key that yourtool uses" in screen_text(app)
            await press(pilot, "down", "enter")
            await until(pilot, lambda count=count: len(list(work.iterdir())) == count)
        [file, _] = sorted(work.iterdir(), key=lambda each: len(each.name))
        assert file.name == "fix-the-bold-bug-bold-hidden.md"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert CANARY not in file.read_text() and "Fix the [bold]bug[/bold]" in file.read_text()


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_export_asks_before_overwriting_a_file(work):
    async with talking(work, "hello") as (app, pilot):
        file = work / "all.jsonl"
        file.write_text("mine")
        await say(pilot, "/export all.jsonl")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, "enter")
        await until(pilot, lambda: app.screen is app.chat)
        assert file.read_text() == "mine"
        await say(pilot, "/export all.jsonl")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await press(pilot, "down", "enter")
        await until(pilot, lambda: file.read_text() != "mine")
        facts = from_jsonl(file.read_bytes().splitlines(), work)
        assert facts[0].session_id == app.chat.session.id


@pytest.mark.remaining
async def test_unwritable_export_path_is_reported(work):
    async with talking(work, "hello") as (app, pilot):
        await say(pilot, "/export no/such/dir/a.md")
        await until(pilot, lambda: app.chat.prompt.text == "/export no/such/dir/a.md")
        await until(pilot, lambda: "No such file" in " ".join(screen_text(app).split()))


def held():
    """Return the open files and the threads of this process outside the shared pool.

    Files are counted by kind, because sessions have different files of the same kinds.
    """
    gc.collect()
    process = Path("/proc/self")
    names = list[str]()
    for each in process.joinpath("fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread has closed it
            names.append(str(each.readlink()))
    files = Counter(re.sub(r"(sess_|work-)[\w-]+", "", each) for each in names)
    pool = sum(each.name.startswith("calls_") for each in threading.enumerate())
    return files, sum(1 for _ in process.joinpath("task").iterdir()) - pool


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.remaining
async def test_many_sessions_leave_no_open_files_or_threads(work):
    async def goes(pilot, command):
        chat, before = pilot.app.chat, pilot.app.chat.session
        await say(pilot, command)
        if command == "/fork":
            await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
            await press(pilot, "enter")
        await until(pilot, lambda: chat.session not in (before, None))
        await settle(pilot)

    async def some_hours(pilot, turns):
        first = pilot.app.chat.session.id
        for number in range(turns):
            await send(pilot, f"prompt {number}")
            if number % 3 == 0:
                await goes(pilot, "/new")
                await goes(pilot, f"/resume {first}")
            if number % 6 == 0:
                await goes(pilot, "/fork")
        await goes(pilot, "/new")  # a fork includes the long outputs of its parents

    async with talking(work) as (_, pilot):
        await some_hours(pilot, 2)
        await settle(pilot)
        files, threads = held()
        await some_hours(pilot, 7)
        await until(pilot, lambda: held()[0] - files == Counter() and held()[1] <= threads)


@contextlib.asynccontextmanager
async def choosing_first(work, *prompts):
    """The program as `--resume` starts it, with a stored session per prompt."""
    async with talking(work, *prompts[:1]) as (app, pilot):
        for prompt in prompts[1:]:
            before = app.chat.session
            await say(pilot, "/new")
            await until(pilot, lambda before=before: app.chat.session is not before)
            await send(pilot, prompt)

    async def opens():
        return await Runtime.open(resolve_paths(), RunOptions(workspace=work, model="demo:file"))

    app = YourtoolApp(opens, resume="")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Picker) and app.screen.rows)
        await settle(pilot)
        yield app, pilot


@pytest.mark.req("R-PER-09")
@pytest.mark.remaining
async def test_message_of_the_command_line_is_scrolled_to(work):
    async with talking(work, "first words", "second", "third") as (app, pilot):
        session = app.chat.session
        first = session.state.prompts[0].id
        await say(pilot, "/new")
        await until(pilot, lambda: app.chat.session is not session)

    async def opens():
        return await Runtime.open(resolve_paths(), RunOptions(workspace=work, model="demo:file"))

    app = YourtoolApp(opens, resume=session.id)
    app.first_message = first
    async with app.run_test(size=(100, 14)) as pilot:
        await until(pilot, lambda: app.chat.transcript._selected is not None)
        await until(pilot, lambda: "first words" in screen_text(app))


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_resume_option_without_an_id_opens_the_list_with_its_keys_and_preview(work):
    async with choosing_first(work, "first words", "second words") as (app, pilot):
        await until(pilot, lambda: "you: second words" in screen_text(app))
        for order in ("cost", "title"):
            await press(pilot, "ctrl+s")
            await until(pilot, lambda order=order: f"Sessions by {order}" in screen_text(app))
        await press(pilot, "ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, TextEntry))
        await press(pilot, *"Zebra", "enter")
        await until(pilot, lambda: isinstance(app.screen, Picker) and "Zebra" in screen_text(app))
        await press(pilot, *"Zebra", "enter")
        await until(pilot, lambda: app.chat.session is not None)
        assert prompts_of(app.chat.session) == ["first words"]


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_resume_option_deletes_after_a_confirmation_and_esc_starts_a_new_session(work):
    async with choosing_first(work, "first words", "second words") as (app, pilot):
        first = app.screen
        await press(pilot, "down", "ctrl+d")
        await until(pilot, lambda: "Delete permanently" in screen_text(app))
        await press(pilot, "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, Picker) and app.screen is not first)
        await until(pilot, lambda: [row.title for row in app.screen.rows] == ["second words"])
        await press(pilot, "escape")
        await until(pilot, lambda: app.chat.session is not None)
        assert prompts_of(app.chat.session) == []


@pytest.mark.req("R-PER-10")
async def test_unused_sessions_are_deleted_after_the_start_with_one_notice(work):
    settings = config_file(resolve_paths())
    settings.write_text(f"{settings.read_text()}\n[sessions]\nkeep_days = 30\n")
    runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=work))
    past = now() - timedelta(days=31)
    for _ in range(2):
        builder = FactBuilder()
        facts = [builder.session_start(), *builder.turn()]
        await runtime.store.append(*(changed(fact, timestamp=past) for fact in facts))
    await runtime.close()
    async with talking(work) as (app, pilot):
        await until(pilot, lambda: "2 sessions were deleted: not used" in screen_text(app))
        assert await app.runtime.store.list() == ()
    async with talking(work) as (app, pilot):
        assert "deleted" not in screen_text(app)
