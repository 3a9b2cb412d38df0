"""Pickers: the cursor, the order of rows and their look."""

import asyncio
import contextlib

import pytest
from textual.app import App
from textual.widgets import OptionList

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import burst, press, say, screen_text, settle, until
from yourtool.agent.commands.base import Choice, ChoiceAction
from yourtool.errors import StoreError
from yourtool.paths import shipped_directory
from yourtool.settings.config import Mode
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.prompt_history import history_choices
from yourtool.tui.screens.dialog import TextEntry
from yourtool.tui.screens.picker import Picker
from yourtool.tui.terminal.terminal_background import BackgroundReported
from yourtool.tui.theme import themes
from yourtool.tui.theme.themes import load_themes

MODELS = [
    Choice("router:gpt", "router:openai/gpt", "free"),
    Choice("own:big", "own:big", "more than any gpt"),
    Choice("openai:gpt", "openai:gpt (gpt)", "$2.00 in, $8.00 out per M, more above 272k"),
]


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    runtime = FakeRuntime(
        tmp_path / "home", FakeSession(turn("hi", "hello"), workspace=tmp_path / "work")
    )

    async def opens():
        return runtime

    return lambda **options: YourtoolApp(opens, **options)


def rows(app):
    options = app.screen.query_one(OptionList)
    return [str(option.prompt).partition("\n")[0] for option in options.options]


@pytest.mark.req("R-TUI-19")
async def test_cursor_starts_at_the_current_value(app):
    picked = []
    async with (made := app()).run_test() as pilot:
        await settle(pilot)
        made.push_screen(Picker("Model", MODELS, current="openai:gpt"), picked.append)
        await settle(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: picked)
    assert picked == ["openai:gpt"]


@pytest.mark.req("R-TUI-19")
async def test_matches_in_the_title_come_first(app):
    async with (made := app()).run_test() as pilot:
        await settle(pilot)
        made.push_screen(Picker("Model", MODELS))
        await settle(pilot)
        await press(pilot, *"gpt")
        assert rows(made) == ["openai:gpt (gpt)", "router:openai/gpt", "own:big"]


@pytest.mark.req("R-TUI-23")
@pytest.mark.remaining
async def test_theme_picker_lists_only_our_themes(app):
    async with (made := app(theme="ember")).run_test() as pilot:
        await settle(pilot)
        await say(pilot, "/theme")
        await until(pilot, lambda: isinstance(made.screen, Picker))
        await settle(pilot)
        assert rows(made) == ["auto", *sorted(load_themes([shipped_directory("themes")]))]
        await press(pilot, "enter")
        assert made.theme == "ember"


@pytest.mark.req("R-TUI-23")
async def test_unusable_theme_is_reported_by_its_file_when_it_is_chosen(app, tmp_path):
    (tmp_path / "home" / "themes").mkdir(parents=True)
    (tmp_path / "home" / "themes" / "mine.toml").write_text("colour = 1\n")
    async with (made := app(theme="ember")).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: made.chat.session is not None)
        await say(pilot, "/theme mine")
        await until(pilot, lambda: "mine.toml" in screen_text(made))
        assert "is not a usable theme" in screen_text(made)
        assert made.theme == "ember"


@pytest.mark.req("R-TUI-23")
async def test_theme_is_called_by_its_file(app, tmp_path):
    (tmp_path / "home" / "themes").mkdir(parents=True)
    shipped = (shipped_directory("themes") / "light.toml").read_text()
    (tmp_path / "home" / "themes" / "mine.toml").write_text(shipped)
    async with (made := app(theme="ember")).run_test() as pilot:
        await until(pilot, lambda: made.chat.session is not None)
        await say(pilot, "/theme mine")
        await until(pilot, lambda: made.theme == "mine")
        assert not made.current_theme.dark


@pytest.mark.req("R-TUI-23")
async def test_theme_file_that_is_added_or_edited_is_used_at_once(app, tmp_path):
    own, shipped = tmp_path / "home" / "themes", shipped_directory("themes")
    own.mkdir(parents=True)
    async with (made := app(theme="ember")).run_test() as pilot:
        await until(pilot, lambda: made.chat.session is not None)
        for name in ("light", "dark"):
            (own / "mine.toml").write_text((shipped / f"{name}.toml").read_text())
            await say(pilot, "/theme mine")
            await until(pilot, lambda name=name: made.current_theme.dark is (name == "dark"))
            await settle(pilot)
            is_dark = made.chat.styles.background.brightness < 0.5
            assert (made.theme, is_dark) == ("mine", name == "dark")


@pytest.mark.req("R-TUI-23")
async def test_auto_is_saved_and_selected_as_the_theme_in_use(app, tmp_path):
    async with (made := app(theme="auto")).run_test() as pilot:
        await until(pilot, lambda: made.chat.session is not None)
        await say(pilot, "/theme --save")
        await until(pilot, lambda: (tmp_path / "home" / "config.toml").exists())
        assert 'theme = "auto"' in (tmp_path / "home" / "config.toml").read_text()
        await say(pilot, "/theme")
        await until(pilot, lambda: isinstance(made.screen, Picker))
        await settle(pilot)
        await press(pilot, "enter")
        await settle(pilot)
        assert made.theme_choice.is_auto


async def test_start_reads_only_the_chosen_theme(app, monkeypatch):
    read = list[str]()

    load = themes.load_theme
    monkeypatch.setattr(themes, "load_theme", lambda path: read.append(path.stem) or load(path))
    async with (made := app(theme="auto")).run_test() as pilot:
        await until(pilot, lambda: made.chat.session is not None)
        made.post_message(BackgroundReported(is_dark=True))
        await settle(pilot)
        assert read == ["dark"]
        made.post_message(BackgroundReported(is_dark=False))
        await until(pilot, lambda: made.theme == "light")


async def test_complete_command_is_run_although_a_longer_one_matches(app):
    async with (made := app()).run_test() as pilot:
        await until(pilot, lambda: made.chat.session is not None)
        made.chat.session.mode = Mode.PLAN
        await say(pilot, "/mode")
        await until(pilot, lambda: isinstance(made.screen, Picker))
        await settle(pilot)
        await press(pilot, "enter")
        assert made.chat.session.mode is Mode.PLAN


@pytest.mark.parametrize(("theme", "plain"), [("dark", True), ("terminal", False)])
@pytest.mark.req("R-TUI-23")
async def test_highlighted_row_is_visible_without_shades(app, monkeypatch, theme, plain):
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    async with (made := app(theme=theme)).run_test() as pilot:
        await settle(pilot)
        made.push_screen(Picker("Model", MODELS))
        await settle(pilot)
        strips = made.screen._compositor.render_strips()
        [row] = [strip for strip in strips if "router:openai/gpt" in strip.text]
        [style] = [segment.style for segment in row if "router" in segment.text]
        if plain:
            assert style.reverse and style.bgcolor is None
        else:
            assert style.bgcolor.number is not None
            assert style.bgcolor != style.color


@pytest.mark.parametrize("style", ["success", "warning", "error"])
def test_text_and_background_colours_differ(style):
    colours = (
        load_themes([shipped_directory("themes")])["terminal"].to_textual_theme().to_color_system()
    )
    drawn = colours.generate()
    assert drawn[f"{style}-muted"] == "ansi_default"
    assert drawn[f"text-{style}"] != drawn[f"{style}-muted"]


@pytest.fixture
def wide():
    return Draft("字" * 300_000)


@pytest.fixture
def entries(wide):
    return [Draft(f"{number} {wide.text}") for number in range(300)]


@pytest.mark.remaining
async def test_titles_of_any_length_do_not_block_the_loop(wide, entries):
    app = App[None]()
    async with app.run_test(size=(100, 30)) as pilot:
        picker = Picker("Prompts", [*history_choices(entries), Choice("a", "", wide.text)])
        app.push_screen(picker)
        await pilot.pause()
        await pilot.press("2", "9", "9")
        await pilot.pause()
        assert [choice.value for choice in picker.rows] == ["299"]


@pytest.mark.parametrize("focus", [[], ["tab"]])
@pytest.mark.parametrize("key", ["enter", "escape"])
@pytest.mark.req("R-TUI-19")
async def test_key_pressed_twice_closes_the_picker_once(app, key, focus):
    picked = []
    async with (made := app()).run_test() as pilot:
        await settle(pilot)
        made.push_screen(Picker("Model", MODELS, current="openai:gpt"), picked.append)
        await settle(pilot)
        await press(pilot, *focus)
        await burst(pilot, key, key)
        await settle(pilot)
        assert made.screen is made.chat
    assert picked == ["openai:gpt" if key == "enter" else None]


@pytest.mark.parametrize("key", ["enter", "escape"])
async def test_key_pressed_twice_closes_the_text_entry_once(app, key):
    said = []
    async with (made := app()).run_test() as pilot:
        await settle(pilot)
        made.push_screen(TextEntry("Note", "Why?"), said.append)
        await settle(pilot)
        await burst(pilot, "x", key, key)
        await settle(pilot)
        assert made.screen is made.chat
    assert said == ["x" if key == "enter" else None]


@pytest.mark.req("R-TUI-19")
async def test_selected_row_that_the_filter_has_removed_is_ignored(app):
    picked = []
    async with (made := app()).run_test() as pilot:
        await settle(pilot)
        picker = Picker("Model", MODELS)
        made.push_screen(picker, picked.append)
        await settle(pilot)
        late = OptionList.OptionSelected(picker.options, picker.options.options[2], 2)
        await press(pilot, *"free")
        picker.choose_clicked(late)
        await settle(pilot)
        assert made.screen is picker
    assert picked == []


async def test_another_key_returns_the_row_and_its_action(app):
    picked = []
    async with (made := app()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        action = ChoiceAction("ctrl+d", "Ctrl+D delete", lambda value: None)
        picker = Picker("Model", MODELS, current="own:big", actions=[action])
        made.push_screen(picker, picked.append)
        await until(pilot, lambda: picker.is_mounted and len(picker.options.options))
        assert "Ctrl+D delete" in screen_text(made)
        await press(pilot, "ctrl+d")
        await until(pilot, lambda: picked)
    assert picker.chosen_action is action
    assert picked == ["own:big"]


@pytest.mark.remaining
async def test_long_list_shows_its_first_rows_and_searches_all(app):
    picked = []
    many = [Choice(str(number), f"session {number}") for number in range(10_000)]
    async with (made := app()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        picker = Picker("Sessions", many)
        made.push_screen(picker, picked.append)
        await until(pilot, lambda: picker.is_mounted and len(picker.options.options))
        assert len(picker.options.options) == 201
        assert "9,800 more" in str(picker.options.options[-1].prompt)
        await press(pilot, *"9876")
        await press(pilot, "enter")
        await until(pilot, lambda: picked)
    assert picked == ["9876"]


@pytest.mark.remaining
async def test_long_list_shows_the_rows_around_the_current_value(app):
    entries = [Choice(str(number), f"entry {number}") for number in range(1_000)]
    async with app().run_test() as pilot:
        pilot.app.push_screen(Picker("Entries", entries, current="999"))
        await settle(pilot)
        assert rows(pilot.app)[0] == "… 800 before; type to filter"
        assert rows(pilot.app)[-1] == "entry 999"
        assert "entry 999" in screen_text(pilot.app)
        await press(pilot, *"entry 3")
        assert rows(pilot.app)[0] == "entry 3"


async def test_choices_that_look_the_same_are_all_listed(app):
    choices = [Choice(value, "fix the test", "just now · 1 turn") for value in "abc"]
    async with (made := app()).run_test() as pilot:
        await settle(pilot)
        picker = Picker("Sessions", choices)
        made.push_screen(picker)
        await settle(pilot)
        assert rows(made) == ["fix the test"] * 3
        await press(pilot, *"fix")
        await until(pilot, lambda: picker.filter.value == "fix" and len(rows(made)) == 3)


async def test_key_typed_while_the_list_opens_moves_the_highlight(app):
    picked = []
    async with (made := app()).run_test() as pilot:
        await settle(pilot)
        made.push_screen(Picker("Model", MODELS), picked.append)
        await burst(pilot, "down", "enter")
        await until(pilot, lambda: picked)
    assert picked == [MODELS[1].value]


@pytest.mark.remaining
async def test_resize_does_not_move_the_highlight(app):
    picked = []
    async with (made := app()).run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        made.push_screen(Picker("Model", MODELS), picked.append)
        await settle(pilot)
        await press(pilot, "down")
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: picked)
    assert picked == [MODELS[1].value]


GROUPED = [
    Choice("a:big", "big", "1M context", ("3/15", "tools"), group="a", mark="✓"),
    Choice("a:mini", "mini", "8k context", ("0.1/0.5", "-"), group="a"),
    Choice("b:big-mini", "big-mini", "no tools", ("free", "-"), group="b", mark="★"),
    Choice("c", "c: Enter sets it up", "no key", group="not set up", keywords="c:giant"),
]


@contextlib.asynccontextmanager
async def grouped(app, size):
    """The list of `GROUPED`, and the values that it returns."""
    picked = []
    async with (made := app()).run_test(size=size) as pilot:
        await settle(pilot)
        picker = Picker("Model", GROUPED, columns=("$", "can"))
        made.push_screen(picker, picked.append)
        await until(pilot, lambda: picker.is_mounted and picker.rows)
        await settle(pilot)
        yield pilot, picker, picked


@pytest.mark.req("R-TUI-19")
async def test_filter_keeps_the_headings_of_the_groups(app):
    async with grouped(app, (80, 24)) as (pilot, picker, _):
        assert [row for row in picker.rows if isinstance(row, str)] == ["a", "b", "not set up"]
        await press(pilot, *"mini")
        await settle(pilot)
        assert picker.rows == ["a", GROUPED[1], "b", GROUPED[2]]


@pytest.mark.req("R-TUI-19")
async def test_headings_are_never_chosen(app):
    async with grouped(app, (80, 24)) as (pilot, picker, picked):
        assert picker.highlighted is GROUPED[0]
        await press(pilot, "up")
        assert picker.highlighted is GROUPED[0]
        await press(pilot, "down", "down")
        assert picker.highlighted is GROUPED[2]
        await press(pilot, "pagedown", "enter")
        await until(pilot, lambda: picked)
    assert picked == ["c"]


@pytest.mark.req("R-TUI-19")
async def test_filter_finds_a_row_by_its_keywords(app):
    async with grouped(app, (80, 24)) as (pilot, picker, _):
        await press(pilot, *"giant")
        await settle(pilot)
        assert picker.rows == ["not set up", GROUPED[3]]


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
@pytest.mark.req("R-TUI-19")
async def test_text_about_the_highlighted_row_follows_it_at_every_size(app, size):
    async with grouped(app, size) as (pilot, _, _picked):
        assert "1M context" in screen_text(pilot.app)
        await press(pilot, "down")
        assert "8k context" in screen_text(pilot.app)
        assert "1M context" not in screen_text(pilot.app)


class Reads:
    """Previews that are read only when the test allows it."""

    def __init__(self, *, is_free=True):
        self.gate, self.asked, self.running, self.most = asyncio.Event(), [], 0, 0
        if is_free:
            self.gate.set()

    async def __call__(self, value):
        self.asked.append(value)
        self.running += 1
        self.most = max(self.most, self.running)
        await self.gate.wait()
        self.running -= 1
        if value == "2":
            raise StoreError("The session cannot be read.")
        return (("you", f"the prompt of {value} \x1b[2J[red]"), ("reply", "word " * 60 + "end."))


@contextlib.asynccontextmanager
async def previewed(app, size, reads):
    """A list of sessions with a preview."""
    async with (made := app()).run_test(size=size) as pilot:
        await settle(pilot)
        rows = [Choice(str(n), f"session {n}", "2 h ago") for n in range(30)]
        picker = Picker("Sessions", rows)
        picker.add_preview(reads)
        made.push_screen(picker)
        await until(pilot, lambda: picker.is_mounted and picker.rows)
        await settle(pilot)
        yield pilot, picker


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.req("R-TUI-20")
@pytest.mark.sample(2)
async def test_last_messages_of_the_highlighted_session_are_shown_with_the_list(app, size):
    async with previewed(app, size, Reads()) as (pilot, _):
        text = screen_text(pilot.app)
        assert "session 3" in text
        assert "end." in text
        await press(pilot, "down")
        await until(pilot, lambda: "end." in screen_text(pilot.app))
        await press(pilot, "ctrl+t")
        await settle(pilot)
        assert "you: the prompt of 1 ␛[2J[red]" in screen_text(pilot.app)


@pytest.mark.req("R-TUI-20")
@pytest.mark.remaining
async def test_small_screen_shows_the_preview_on_a_key(app):
    async with previewed(app, (40, 12), Reads()) as (pilot, _):
        assert "end." not in screen_text(pilot.app)
        await press(pilot, "ctrl+t")
        await settle(pilot)
        assert "end." in screen_text(pilot.app)
        assert "session 1" not in screen_text(pilot.app)
        await press(pilot, "ctrl+t")
        await settle(pilot)
        assert "session 1" in screen_text(pilot.app)


async def test_at_most_one_preview_is_read_at_a_time_and_the_last_row_wins(app):
    reads = Reads(is_free=False)
    async with previewed(app, (120, 40), reads) as (pilot, _):
        await press(pilot, *["down"] * 9)
        assert reads.asked == ["0"]
        reads.gate.set()
        await until(pilot, lambda: "the prompt of 9" in screen_text(pilot.app))
    assert reads.asked == ["0", "9"]
    assert reads.most == 1


@pytest.mark.remaining
async def test_preview_that_cannot_be_read_shows_the_reason(app):
    async with previewed(app, (120, 40), Reads()) as (pilot, _):
        await press(pilot, "down", "down")
        await until(pilot, lambda: "error: The session cannot be read." in screen_text(pilot.app))


@pytest.mark.remaining
async def test_list_can_close_while_a_preview_is_read(app):
    reads = Reads(is_free=False)
    async with previewed(app, (120, 40), reads) as (pilot, picker):
        await press(pilot, "escape")
        await until(pilot, lambda: not picker.is_attached)
        reads.gate.set()
        await settle(pilot)
        assert pilot.app.screen is pilot.app.chat


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.sample(3)
async def test_preview_that_is_read_before_the_list_is_laid_out_is_shown(app, steps):
    async def reads(value):
        for _ in range(steps):
            await asyncio.sleep(0)
        return (("you", f"prompt {value}"),)

    async with previewed(app, (120, 40), reads) as (pilot, _):
        await until(pilot, lambda: "you: prompt 0" in screen_text(pilot.app))


@pytest.mark.parametrize(("width", "shown"), [(130, "Ctrl+O demos"), (80, "^S sort · ^O demos ─╯")])
async def test_keys_of_a_list_fit_into_80_columns(app, width, shown):
    hint = " · ".join(f"Ctrl+{key}" for key in ("F find", "R rename", "D delete", "S sort"))
    hint = f"Ctrl+T preview · {hint} · Ctrl+O demos"
    async with (made := app()).run_test(size=(width, 24)) as pilot:
        await settle(pilot)
        made.push_screen(Picker("Sessions", MODELS, hint=hint))
        await settle(pilot)
        assert shown in screen_text(made)
        await pilot.resize_terminal(210 - width, 24)
        await settle(pilot)
        assert shown not in screen_text(made)
