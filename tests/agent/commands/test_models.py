"""The choices and prices of `/models`."""

import pytest

from tests.tui.fakes import GPT, SONNET
from yourtool.agent.commands.models import format_price, model_choices
from yourtool.models import AdapterCapabilities, Model


def no_openai(provider):
    return "no key: set `OPENAI_API_KEY`" if provider == "openai" else None


@pytest.mark.req("R-TUI-19")
def test_configured_models_come_first_and_others_have_a_reason():
    first, second = model_choices([GPT, SONNET], no_openai, SONNET.id)
    assert (first.value, first.enabled) == (SONNET.id, True)
    assert "200k context" in first.detail
    assert "$3 in, $15 out" in first.detail
    assert "⚒▣--✻" in first.detail
    assert "in use" in first.title
    assert (second.enabled, second.detail) == (False, "no key: set `OPENAI_API_KEY`")


@pytest.mark.req("R-TUI-19")
def test_capabilities_have_fixed_columns_and_guesses_are_marked():
    model = Model(
        id="x:y",
        wire_name="y",
        capabilities=AdapterCapabilities(supports_tools=False, supports_images=True),
        known=False,
    )
    [choice] = model_choices([model], lambda provider: None, "")
    assert choice.detail.startswith("-▣-")
    assert "guess" in choice.detail
    assert "unpriced" in choice.detail


@pytest.mark.req("R-CST-01")
def test_missing_price_is_unpriced():
    assert format_price(None) == "unpriced"
