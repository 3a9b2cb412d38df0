"""What the user types is painted without waiting for the next frame."""

import asyncio

import pytest
from textual._compositor import Compositor
from textual.css.parse import parse

from tests.tui.fakes import FakeSession
from tests.tui.pilot_helpers import send_key, settle, until
from tests.tui.test_chat import app_of
from yourtool.tui.terminal.terminal import OutputDriver


@pytest.fixture
def parsed_styles():
    """Here each app parses its own style sheets."""


async def test_typed_character_is_painted_between_the_ticks_of_the_frames(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    app, _ = app_of(tmp_path / "home", FakeSession([], workspace=tmp_path / "work"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        app.chat._update_timer.stop()
        texts, display = [], app._display

        def note_text(*arguments):
            texts.append(app.chat.prompt.text)
            display(*arguments)

        monkeypatch.setattr(app, "_display", note_text)
        for count, key in enumerate("ab", 1):
            send_key(pilot, key)
            for _ in range(1_000):
                if len(texts) == count:
                    break
                await asyncio.sleep(0.01)
        assert texts == ["a", "ab"]


async def test_styles_of_the_first_screen_are_computed_once(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    app, _ = app_of(tmp_path / "home", FakeSession([], workspace=tmp_path / "work"))
    computed, compute = [], app.stylesheet.update_nodes

    def update_nodes(nodes, animate=False):
        nodes = set(nodes)
        computed.append(nodes)
        compute(nodes, animate)

    monkeypatch.setattr(app.stylesheet, "update_nodes", update_nodes)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert not any(app.chat.transcript in nodes for nodes in computed)
        app.chat.update_node_styles()
        await settle(pilot)
        assert any(app.chat.transcript in nodes for nodes in computed)


async def test_styles_are_parsed_once_at_the_start(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    app, _ = app_of(tmp_path / "home", FakeSession([], workspace=tmp_path / "work"))
    parsed = list[str]()

    def parse_(scope, css, *rest, **options):
        parsed.append(css)
        return parse(scope, css, *rest, **options)

    monkeypatch.setattr("textual.css.stylesheet.parse", parse_)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert parsed.count(app.DEFAULT_CSS) == 1


async def test_nothing_is_rendered_while_the_terminal_shows_the_early_prompt(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    app, _ = app_of(tmp_path / "home", FakeSession([], workspace=tmp_path / "work"))
    app.replace_early_prompt()
    rendered = list[bool]()
    render = Compositor.render_update

    def render_update(*arguments, **options):
        rendered.append(app.is_covered)
        return render(*arguments, **options)

    monkeypatch.setattr(Compositor, "render_update", render_update)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await settle(pilot)
        assert rendered == []
        app.post_message(OutputDriver.TypedAheadHandled())
        await until(pilot, lambda: bool(rendered))
        assert not any(rendered)
