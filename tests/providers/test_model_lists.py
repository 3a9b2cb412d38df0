"""Lists of models as vendors answer them: the shapes are those of their published interfaces."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from yourtool.models import AdapterCapabilities
from yourtool.providers.media_types import IMAGE_TYPES
from yourtool.providers.model_lists import MAX_MODELS, parse_model_list

YES, NO = {"supported": True}, {"supported": False}
CLAUDE = {
    "type": "model",
    "id": "claude-next",
    "display_name": "Claude Next",
    "lifecycle": "active",
    "max_input_tokens": 1_000_000,
    "max_tokens": 128_000,
    "capabilities": {
        "image_input": YES,
        "pdf_input": NO,
        "structured_outputs": YES,
        "thinking": {"supported": True, "types": {"adaptive": YES, "enabled": NO, "disabled": YES}},
        "effort": {"supported": True, "low": YES, "medium": YES, "high": YES, "max": YES},
    },
}
BY_BUDGET = {"supported": True, "types": {"adaptive": NO, "enabled": YES, "disabled": YES}}
LLAMA = {
    "id": "meta/llama-5",
    "context_length": 131_072,
    "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
    "pricing": {
        "prompt": "0.0000006",
        "completion": "0.0000024",
        "image": "0",
        "input_cache_read": "0.00000006",
    },
    "top_provider": {"context_length": 131_072, "max_completion_tokens": 16_384},
    "supported_parameters": ["tools", "reasoning", "temperature", "max_tokens"],
}


def claude(**changes):
    able = {**CLAUDE["capabilities"], **changes}
    [model] = parse_model_list("anthropic", {"data": [{**CLAUDE, "capabilities": able}]})
    return model


def llama(**changes):
    [model] = parse_model_list("openrouter", {"data": [{**LLAMA, **changes}]})
    return model


@pytest.mark.req("R-ADP-14", "R-EASE-03")
def test_anthropic_list_has_limits_and_capabilities():
    model = claude()
    assert (model.id, model.known, model.price) == ("anthropic:claude-next", True, None)
    assert model.capabilities == AdapterCapabilities(
        supports_thinking=True,
        supports_images=True,
        supports_tools=True,
        supports_structured_output=True,
        supports_prompt_caching=True,
        max_context_tokens=1_000_000,
        max_output_tokens=128_000,
        max_images=600,
        accepted_image_media_types=IMAGE_TYPES,
    )
    [short] = parse_model_list("anthropic", {"data": [{**CLAUDE, "max_input_tokens": 200_000}]})
    assert short.capabilities.max_images == 100


@pytest.mark.parametrize(
    ("changes", "form", "levels"),
    [
        ({}, "adaptive", ("off", "low", "medium", "high", "max")),
        (
            {"thinking": BY_BUDGET},
            "budget",
            ("off", "minimal", "low", "medium", "high", "xhigh", "max"),
        ),
        ({"thinking": {"supported": False, "types": {"disabled": YES}}}, None, ()),
        ({"thinking": None, "effort": "much"}, None, ()),
    ],
)
@pytest.mark.req("R-ADP-17")
def test_supported_efforts_come_from_the_list(changes, form, levels):
    model = claude(**changes)
    assert (model.thinking, model.thinking_levels) == (form, levels)
    assert model.capabilities.supports_thinking is (form is not None)


@pytest.mark.req("R-ADP-14")
def test_openrouter_list_has_limits_capabilities_and_prices():
    model = llama()
    assert (model.known, model.accepts_temperature) == (True, True)
    assert model.capabilities == AdapterCapabilities(
        supports_thinking=True,
        supports_images=True,
        supports_prompt_caching=True,
        max_context_tokens=131_072,
        max_output_tokens=16_384,
        accepted_image_media_types=IMAGE_TYPES,
    )
    price = model.price
    assert price is not None
    assert (price.input_per_mtok_usd, price.output_per_mtok_usd) == (Decimal("0.6"), Decimal("2.4"))
    assert price.cached_read_per_mtok_usd == Decimal("0.06")
    assert price.cache_write_per_mtok_usd is None


@pytest.mark.req("R-CST-01")
def test_request_without_a_flat_fee_is_priced_by_its_tokens():
    rates = {"prompt": "0.000001", "completion": "0.000002"}
    for fee in ("0", "0.0", "", None):
        price = llama(pricing={**rates, "request": fee}).price
        assert price is not None
        assert price.input_per_mtok_usd == 1


def test_output_limit_is_at_most_the_listed_context_window():
    [model] = parse_model_list(
        "p", {"data": [{"id": "a", "context_length": 5, "outputTokenLimit": 999}]}
    )
    assert (model.capabilities.max_context_tokens, model.capabilities.max_output_tokens) == (5, 5)


@pytest.mark.req("R-OLL-05")
def test_model_without_tools_or_cache_prices_is_listed_without_them():
    model = llama(supported_parameters=["max_tokens"], pricing={"prompt": "0", "completion": "0"})
    assert not model.capabilities.supports_tools
    assert not model.capabilities.supports_prompt_caching
    assert not model.accepts_temperature
    assert model.price is not None
    assert model.price.input_per_mtok_usd == 0


@pytest.mark.parametrize(
    "pricing",
    [
        None,
        {},
        {"prompt": "0.1"},
        {"prompt": "0", "completion": "0", "request": "0.01"},
        {"prompt": "0", "completion": "0", "request": "much"},
        {"prompt": "-1", "completion": "-1"},
        {"prompt": "NaN", "completion": "0"},
        {"prompt": "Infinity", "completion": "0"},
        {"prompt": "1e999999999", "completion": "0"},
        {"prompt": "1e-999999999", "completion": "0"},
        {"prompt": 0, "completion": 0},
        {"prompt": "free", "completion": "free"},
    ],
)
@pytest.mark.req("R-CST-01")
def test_invalid_price_means_unpriced_and_never_free(pricing):
    assert llama(pricing=pricing).price is None


def test_google_list_has_both_limits_but_no_vision():
    answer = {
        "models": [
            {
                "name": "models/gemini-x",
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            }
        ]
    }
    [model] = parse_model_list("google", answer)
    can = model.capabilities
    assert (can.max_context_tokens, can.max_output_tokens) == (1_048_576, 65_536)
    assert (can.supports_images, model.known) == (False, False)


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]},
        {**CLAUDE, "lifecycle": "retired"},
        {**LLAMA, "architecture": {"output_modalities": ["image"]}},
        {**LLAMA, "id": "a\x1b[2J"},
        {"id": 7},
        "a model",
    ],
)
def test_entries_that_cannot_chat_are_not_models(entry):
    assert parse_model_list("p", {"data": [entry]}) == ()


def test_hundreds_of_models_are_listed_and_an_endless_list_is_truncated():
    def answer(length):
        return {"data": [{"id": f"m{number}"} for number in range(length)]}

    assert len(parse_model_list("openrouter", answer(600))) == 600
    assert len(parse_model_list("openrouter", answer(10_000))) == MAX_MODELS


@pytest.mark.parametrize("junk", [None, [], 7, "x", {"a": {}}, True, [[]]])
@pytest.mark.parametrize("key", [*LLAMA, *CLAUDE, "inputTokenLimit", "supportedGenerationMethods"])
def test_invalid_value_affects_no_other_model(key, junk):
    full_entry = {**LLAMA, **CLAUDE} if key in CLAUDE else dict(LLAMA)
    models = parse_model_list("p", {"data": [{**full_entry, key: junk}, LLAMA]})
    assert models[-1] == replace(llama(), id="p:meta/llama-5")


def test_list_of_mistral_and_groq_has_windows_and_hides_no_ability():
    listed = {
        "data": [
            {
                "id": "mistral-large-4",
                "max_context_length": 262_144,
                "capabilities": {"completion_chat": True, "vision": True, "function_calling": True},
            },
            {"id": "openai/gpt-oss-120b", "context_window": 131_072},
            {"id": "named-only"},
        ]
    }
    large, oss, named = parse_model_list("mistral", listed)
    assert (large.window, large.known) == (262_144, False)
    assert (oss.window, named.window) == (131_072, None)
