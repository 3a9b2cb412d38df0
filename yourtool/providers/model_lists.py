"""Model lists of servers.

Sources: https://docs.claude.com/en/api/models-list, https://openrouter.ai/docs/models,
https://ai.google.dev/api/models, https://platform.openai.com/docs/api-reference/models/list and
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html. The structure of a
list selects the parser, because many servers imitate another one. Defaults for missing facts are
pessimistic: a small context window, no images, no price, and no tools on this machine.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from msgspec import Struct

from yourtool.models import EFFORTS, AdapterCapabilities, Effort, Model, Price, Thinking
from yourtool.providers.base import Transport
from yourtool.providers.json_access import count, mapping, objects, text
from yourtool.providers.media_types import IMAGE_TYPES
from yourtool.providers.prices import is_plausible_rate
from yourtool.providers.provider_specs import ProviderSpec

MAX_MODELS = 1_000
"""Of one server; OpenRouter lists several hundred."""
MODEL_NAME = re.compile(r"[!-~]{1,200}")

_MIN_OUTPUT_LIMIT, _MAX_OUTPUT_LIMIT = 1_024, 32_768
_PER_MILLION = 6

_LARGE_WINDOW, _LARGE_WINDOW_IMAGES = 200_000, 600
"""A Claude model with a larger context window accepts this many images per request
(https://docs.claude.com/en/docs/build-with-claude/vision)."""


class ModelDescription(Struct, frozen=True, kw_only=True):
    """The facts that a server lists about a model."""

    window: int | None = None
    """Context window in tokens."""
    output: int | None = None
    """Output limit in tokens; None: a quarter of the context window, within bounds."""
    tools: bool = False
    images: bool = False
    audio: bool = False
    documents: bool = False
    max_images: int = AdapterCapabilities().max_images
    """Per request."""
    thinking: bool = False
    thinking_form: Thinking | None = None
    efforts: tuple[Effort, ...] = ()
    schema: bool = False
    """Whether structured output is supported."""
    caching: bool = False
    temperature: bool = True
    price: Price | None = None
    known: bool = True
    """Whether the server lists any facts."""


async def fetch_model_list(
    transport: Transport, provider: ProviderSpec, *, path: str = "/models"
) -> tuple[Model, ...]:
    """Fetch the models of a provider with one request.

    Raises:
        AdapterError: the request failed.
    """
    return parse_model_list(provider.name, await transport.get(path))


def model_from_description(provider: str, name: str, description: ModelDescription) -> Model:
    """Return the model for a description."""
    window = description.window or AdapterCapabilities().max_context_tokens
    output = description.output or max(_MIN_OUTPUT_LIMIT, min(window // 4, _MAX_OUTPUT_LIMIT))
    return Model(
        id=f"{provider}:{name}",
        wire_name=name,
        capabilities=AdapterCapabilities(
            supports_tools=description.tools,
            supports_images=description.images,
            supports_audio=description.audio,
            supports_documents=description.documents,
            supports_thinking=description.thinking,
            supports_structured_output=description.schema,
            supports_prompt_caching=description.caching,
            max_context_tokens=window,
            max_output_tokens=min(output, window),
            max_images=description.max_images,
            accepted_image_media_types=IMAGE_TYPES if description.images else (),
        ),
        price=description.price,
        accepts_temperature=description.temperature,
        thinking=description.thinking_form,
        thinking_levels=description.efforts,
        known=description.known,
        has_size=description.window is not None,
    )


def parse_entries(answer: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return names and entries of a model list in the format of OpenAI, Anthropic or Google."""
    whole = mapping(answer)
    listed = objects(whole.get("data")) or objects(whole.get("models"))
    named = (
        (text(each.get("id")) or text(each.get("name")).removeprefix("models/"), each)
        for each in listed
    )
    return [(name, each) for name, each in named if MODEL_NAME.fullmatch(name)][:MAX_MODELS]


def parse_model_list(provider: str, answer: Any) -> tuple[Model, ...]:
    """Return the chat models of a provider's model list."""
    read = ((name, _parse_entry(entry)) for name, entry in parse_entries(answer))
    return tuple(
        model_from_description(provider, name, description)
        for name, description in read
        if description is not None
    )


def parse_context_window(entry: Mapping[str, Any]) -> int | None:
    """Return the context window of an entry, under any of the usual field names."""
    names = ("max_model_len", "context_length", "inputTokenLimit", "max_input_tokens")
    return next((size for name in names if (size := count(entry.get(name)))), None)


def _parse_entry(entry: Mapping[str, Any]) -> ModelDescription | None:
    """Parse an entry; None: the model writes no text or is retired."""
    methods = entry.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return None
    if entry.get("lifecycle") == "retired":
        return None
    if able := mapping(entry.get("capabilities")):
        return _parse_anthropic_entry(entry, able)
    if isinstance(entry.get("supported_parameters"), list):
        return _parse_openrouter_entry(entry, _parse_strings(entry["supported_parameters"]))
    output = count(entry.get("outputTokenLimit"))
    return ModelDescription(
        window=parse_context_window(entry), output=output, tools=True, known=False
    )


def _parse_anthropic_entry(entry: Mapping[str, Any], able: Mapping[str, Any]) -> ModelDescription:
    """Parse an entry of Anthropic's list; all of its models support tools and prompt caching."""
    forms = mapping(mapping(able.get("thinking")).get("types"))
    effort = mapping(able.get("effort"))
    levels: tuple[Effort, ...] = tuple(level for level in EFFORTS if _is_supported(effort, level))
    form: Thinking | None = None
    if _is_supported(forms, "adaptive") and levels:
        form = "adaptive"
    elif _is_supported(forms, "enabled"):
        form, levels = "budget", EFFORTS[1:]
    if form is not None and _is_supported(forms, "disabled"):
        levels = ("off", *levels)
    window, usual = parse_context_window(entry), AdapterCapabilities().max_images
    return ModelDescription(
        window=window,
        output=count(entry.get("max_tokens")),
        tools=True,
        images=_is_supported(able, "image_input"),
        max_images=_LARGE_WINDOW_IMAGES if (window or 0) > _LARGE_WINDOW else usual,
        documents=_is_supported(able, "pdf_input"),
        thinking=form is not None,
        thinking_form=form,
        efforts=levels if form is not None else (),
        schema=_is_supported(able, "structured_outputs"),
        caching=True,
    )


def _is_supported(able: Mapping[str, Any], name: str) -> bool:
    return mapping(able.get(name)).get("supported") is True


def _parse_openrouter_entry(
    entry: Mapping[str, Any], offered: frozenset[str]
) -> ModelDescription | None:
    shape = mapping(entry.get("architecture"))
    inputs, outputs = (
        _parse_strings(shape.get("input_modalities")),
        _parse_strings(shape.get("output_modalities")),
    )
    if outputs and "text" not in outputs:
        return None
    rates = mapping(entry.get("pricing"))
    best = mapping(entry.get("top_provider"))
    return ModelDescription(
        window=parse_context_window(entry),
        output=count(best.get("max_completion_tokens")),
        tools="tools" in offered,
        images="image" in inputs,
        audio="audio" in inputs,
        documents="file" in inputs,
        thinking="reasoning" in offered,
        schema="structured_outputs" in offered,
        caching=_parse_rate(rates.get("input_cache_read")) is not None,
        temperature="temperature" in offered,
        price=_parse_price(rates),
        known=bool(inputs),
    )


def _parse_strings(value: Any) -> frozenset[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []  # of anything
    return frozenset(item for item in items if isinstance(item, str))


def _parse_price(rates: Mapping[str, Any]) -> Price | None:
    """Return a price from rates in US dollars per token.

    None: it is missing or variable, or there is an additional fee per request.
    """
    prompt, reply = _parse_rate(rates.get("prompt")), _parse_rate(rates.get("completion"))
    if prompt is None or reply is None or _parse_rate(rates.get("request") or "0") != 0:
        return None
    return Price(
        input_per_mtok_usd=prompt,
        output_per_mtok_usd=reply,
        cached_read_per_mtok_usd=_parse_rate(rates.get("input_cache_read")),
        cache_write_per_mtok_usd=_parse_rate(rates.get("input_cache_write")),
    )


def _parse_rate(told: Any) -> Decimal | None:
    """Return dollars per million tokens; OpenRouter writes dollars per token, as text."""
    try:
        per_token = Decimal(text(told))
        if not per_token:
            return Decimal(0)
        rate = per_token.scaleb(_PER_MILLION)
        return rate if rate and is_plausible_rate(rate) else None
    except ArithmeticError:  # not a number, or out of range
        return None
