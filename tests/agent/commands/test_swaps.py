"""`/model NAME`: the sheet about a swap, and its answers."""

from contextlib import asynccontextmanager

import pytest

from tests.agent.commands.test_handlers import HAIKU, SONNET, collect, names, open_conversation
from tests.agent.harness import play
from tests.providers.histories import image
from yourtool.agent.commands.base import (
    EditPrompt,
    Invocation,
    OpenSession,
    SettingChanged,
    ShowSwap,
    StartTurn,
)
from yourtool.agent.commands.models import MODEL, offer_swap
from yourtool.errors import SwapRefusedError
from yourtool.events.context import ContextCompacted
from yourtool.events.deltas import Notice
from yourtool.events.sessions import SessionModelSelected
from yourtool.messages.blocks import TextBlock
from yourtool.paths import resolve_paths
from yourtool.settings.config import config_file

MODELS = """
[models."openai:plain"]
supports_tools = false
[models."openai:blind"]
supports_images = false
[models."openai:small"]
max_context_tokens = 9000
"""


@asynccontextmanager
async def _talk(tmp_path, monkeypatch, **options):
    paths = resolve_paths()
    paths.home.mkdir(parents=True, exist_ok=True)
    (config_file(paths).parent / "models.toml").write_text(MODELS)
    async with open_conversation(tmp_path, monkeypatch, **options) as talk:
        yield talk


@pytest.mark.req("R-SWP-04")
async def test_sheet_names_what_is_lost_and_its_answers_switch_fork_or_change_nothing(
    tmp_path, monkeypatch
):
    async with _talk(tmp_path, monkeypatch) as talk:
        [sheet] = await talk.run("/model openai:plain")
        assert isinstance(sheet, ShowSwap)
        assert [row.name for row in sheet.rows if row.is_stake] == ["tools"]
        assert names(sheet) == ["switch", "fork", "cancel"]
        assert await collect(sheet.then("cancel")) == []
        assert talk.session.model.id == SONNET
        opened, again = await collect(sheet.then("fork"))
        assert isinstance(opened, OpenSession)
        assert again == Invocation(MODEL, "openai:plain --yes")
        *_, changed = await collect(sheet.then("switch"))
        assert changed == SettingChanged("model")
        assert talk.session.model.id == "openai:plain"


@pytest.mark.req("R-SWP-04")
async def test_swap_that_loses_nothing_or_is_confirmed_happens_at_once(tmp_path, monkeypatch):
    async with _talk(tmp_path, monkeypatch) as talk:
        for name in (HAIKU, "openai:plain --yes"):
            selected, changed = await talk.run(f"/model {name}")
            assert isinstance(selected, SessionModelSelected)
            assert changed == SettingChanged("model")


async def test_cancelled_swap_saves_no_default_model(tmp_path, monkeypatch):
    async with _talk(tmp_path, monkeypatch) as talk:
        sheet, notice = await talk.run("/model openai:plain --save")
        assert isinstance(sheet, ShowSwap)
        assert notice.text == "The default model did not change."
        await talk.run("/model openai:plain --yes --save")
        assert 'model = "openai:plain"' in config_file(resolve_paths()).read_text()


async def test_refused_swap_offers_placeholders_a_fork_or_no_change(tmp_path, monkeypatch):
    async with _talk(tmp_path, monkeypatch) as talk:
        await play(talk.session.send((TextBlock("look"), image())))
        refusal, sheet = await talk.run("/model openai:blind")
        assert isinstance(refusal, Notice) and "contains images" in refusal.text
        assert names(sheet) == ["placeholders", "fork", "cancel"]
        opened, _, edit, again = await collect(sheet.then("fork"))
        assert isinstance(opened, OpenSession)
        assert edit == EditPrompt("look")
        assert again == Invocation(MODEL, "openai:blind --yes")
        await collect(sheet.then("placeholders"))
        assert talk.session.model.id == "openai:blind"


async def test_model_with_a_smaller_window_answers_after_a_summary(tmp_path, monkeypatch):
    async with _talk(tmp_path, monkeypatch, prompt="word " * 9_000) as talk:
        await play(talk.session.send("and now?"))
        refusal, sheet = await talk.run("/model openai:small")
        assert "takes 9,000" in refusal.text
        assert names(sheet) == ["make room", "cancel"]
        [start] = await collect(sheet.then("make room"))
        assert isinstance(start, StartTurn)
        events = await play(start.events)
        assert any(isinstance(each, ContextCompacted) for each in events)
        assert talk.session.model.id == "openai:small"


async def test_refusal_without_a_remedy_is_an_error(tmp_path, monkeypatch):
    async with _talk(tmp_path, monkeypatch) as talk:
        with pytest.raises(SwapRefusedError):
            await talk.run("/model mistral:mistral-large-latest")
        [sheet] = await collect(offer_swap(talk.session, talk.runtime, HAIKU))
        assert names(sheet) == ["switch", "fork", "cancel"]


@pytest.mark.req("R-SWP-06")
async def test_choice_is_saved_for_the_directory_where_it_is_read_from(tmp_path, monkeypatch):
    async with _talk(tmp_path, monkeypatch) as talk:
        *_, saved = await talk.run(f"/model {HAIKU} --here")
        assert "as the default model of" in saved.text
        other = tmp_path / "elsewhere"
        assert talk.runtime.default_models(talk.work).preferred == talk.session.model.id
        assert talk.runtime.default_models(other).preferred != talk.session.model.id
        rules = talk.runtime.paths.home / "routing.toml"
        rules.write_text(f'[workspaces."{talk.work}"]\ndefault = "sonnet"\n')
        *_, warning = await talk.run("/model --here")
        assert "which comes first" in warning.text
