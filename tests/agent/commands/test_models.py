"""The choices and prices of `/models`."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.tui.fakes import GPT, SONNET, TOUR
from yourtool.agent.commands.model_list import format_price, model_choices
from yourtool.models import AdapterCapabilities, Model, PriceTier


def no_openai(provider):
    return "no key: set `OPENAI_API_KEY`" if provider == "openai" else None


@pytest.mark.req("R-TUI-19")
def test_usable_models_come_first_and_another_provider_is_one_row_with_its_reason():
    mini = replace(GPT, id="openai:gpt-5.2-mini", aliases=("mini",))
    first, second = model_choices([GPT, mini, SONNET], no_openai, SONNET.id, SONNET.id)
    assert (first.value, first.title, first.group) == (SONNET.id, "claude-sonnet-4-6", "anthropic")
    assert first.cells == ("   3/15", "  200k", "⚒▣--✻", "in use, default")
    assert first.mark == "✓★"
    assert "200k context · tools, images, reasoning · $3 in, $15 out per M" in first.detail
    assert (second.value, second.detail) == ("openai", "no key: set `OPENAI_API_KEY`")
    assert second.title == "openai: Enter sets it up (2 models)"
    assert second.is_muted
    assert "mini" in second.keywords.split()


@pytest.mark.req("R-TUI-19")
def test_capabilities_have_fixed_columns_and_guesses_are_marked():
    model = Model(
        id="x:y",
        wire_name="y",
        capabilities=AdapterCapabilities(supports_tools=False, supports_images=True),
        known=False,
    )
    [choice] = model_choices([model], lambda provider: None, "")
    assert choice.cells == ("unpriced", " 32.8k", "-▣---", "capabilities are a guess")
    assert "guess" in choice.detail
    assert "unpriced" in choice.detail


@pytest.mark.req("R-TUI-19")
def test_provider_in_use_comes_first_and_the_demo_last():
    models = [TOUR, SONNET, GPT]
    rows = model_choices(models, lambda provider: None, GPT.id)
    assert [row.value for row in rows] == [GPT.id, SONNET.id, TOUR.id]


def test_price_with_tiers_has_a_plus():
    tier = PriceTier(
        input_per_mtok_usd=Decimal(4), output_per_mtok_usd=Decimal(9), above_prompt_tokens=200_000
    )
    model = replace(GPT, price=replace(GPT.price, tiers=(tier,)))
    [choice] = model_choices([model], lambda provider: None, "")
    assert choice.cells[0] == "1.75/14+"
    assert "more above 200k" in choice.detail


@pytest.mark.req("R-CST-01")
def test_missing_price_is_unpriced():
    assert format_price(None) == "unpriced"
