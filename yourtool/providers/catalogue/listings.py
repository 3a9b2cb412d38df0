"""What a server says of its models in a list, and what is made of it.

Sources: https://docs.claude.com/en/api/models-list, https://openrouter.ai/docs/models,
https://ai.google.dev/api/models, https://platform.openai.com/docs/api-reference/models/list and
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html. A list is read by its shape,
for many servers answer as another one does. What it does not say of a model is assumed to its
disadvantage: a small context, no images, no price, and on this machine no tools.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from msgspec import Struct

from yourtool.models import EFFORTS, AdapterCapabilities, Effort, Model, Price, Thinking
from yourtool.providers.catalogue.prices import is_amount
from yourtool.providers.json_access import count, mapping, objects, text
from yourtool.providers.media_types import IMAGE_TYPES

MOST_MODELS = 1_000
"""Of one server; OpenRouter lists several hundred."""
NAME = re.compile(r"[!-~]{1,200}")

_LEAST_OUTPUT, _MOST_OUTPUT = 1_024, 32_768
_PER_MILLION = 6

_LONG, _MORE_IMAGES = 200_000, 600
"""A Claude with a longer context than so many tokens takes so many images in a request
(https://docs.claude.com/en/docs/build-with-claude/vision)."""


class Description(Struct, frozen=True, kw_only=True):
    """What a server says of a model."""

    window: int | None = None
    """Tokens of context."""
    output: int | None = None
    """Tokens of a reply; None: a quarter of the context, within bounds."""
    tools: bool = False
    images: bool = False
    audio: bool = False
    documents: bool = False
    max_images: int = AdapterCapabilities().max_images
    """In one request."""
    thinking: bool = False
    form: Thinking | None = None
    levels: tuple[Effort, ...] = ()
    schema: bool = False
    """Whether a reply can be held to a JSON schema."""
    caching: bool = False
    temperature: bool = True
    price: Price | None = None
    known: bool = True
    """Whether it says anything."""


def model_from_description(provider: str, name: str, told: Description) -> Model:
    """Return the model of that name as it was described."""
    window = told.window or AdapterCapabilities().max_context_tokens
    output = told.output or max(_LEAST_OUTPUT, min(window // 4, _MOST_OUTPUT))
    return Model(
        id=f"{provider}:{name}",
        wire_name=name,
        capabilities=AdapterCapabilities(
            supports_tools=told.tools,
            supports_images=told.images,
            supports_audio=told.audio,
            supports_documents=told.documents,
            supports_thinking=told.thinking,
            supports_structured_output=told.schema,
            supports_prompt_caching=told.caching,
            max_context_tokens=window,
            max_output_tokens=min(output, window),
            max_images=told.max_images,
            accepted_image_media_types=IMAGE_TYPES if told.images else (),
        ),
        price=told.price,
        accepts_temperature=told.temperature,
        thinking=told.form,
        thinking_levels=told.levels,
        known=told.known,
    )


def entries(answer: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return names and entries of a list as OpenAI, Anthropic or Google give it."""
    whole = mapping(answer)
    listed = objects(whole.get("data")) or objects(whole.get("models"))
    named = (
        (text(each.get("id")) or text(each.get("name")).removeprefix("models/"), each)
        for each in listed
    )
    return [(name, each) for name, each in named if NAME.fullmatch(name)][:MOST_MODELS]


def hosted(provider: str, answer: Any) -> tuple[Model, ...]:
    """Return the models of a vendor's own list, but for those that nobody can talk to."""
    read = ((name, _told(entry)) for name, entry in entries(answer))
    return tuple(
        model_from_description(provider, name, told) for name, told in read if told is not None
    )


def window_of(entry: Mapping[str, Any]) -> int | None:
    """Return the context of a model whose entry gives it by any of the usual names."""
    names = ("max_model_len", "context_length", "inputTokenLimit", "max_input_tokens")
    return next((size for name in names if (size := count(entry.get(name)))), None)


def _told(entry: Mapping[str, Any]) -> Description | None:
    """Return what an entry says of its model; None: it writes no text, or is not served."""
    methods = entry.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return None
    if entry.get("lifecycle") == "retired":
        return None
    if able := mapping(entry.get("capabilities")):
        return _of_anthropic(entry, able)
    if isinstance(entry.get("supported_parameters"), list):
        return _of_openrouter(entry, _words(entry["supported_parameters"]))
    output = count(entry.get("outputTokenLimit"))
    return Description(window=window_of(entry), output=output, tools=True, known=False)


def _of_anthropic(entry: Mapping[str, Any], able: Mapping[str, Any]) -> Description:
    """Read the entry of an interface whose models all call tools and cache prefixes."""
    forms = mapping(mapping(able.get("thinking")).get("types"))
    effort = mapping(able.get("effort"))
    levels: tuple[Effort, ...] = tuple(level for level in EFFORTS if _has(effort, level))
    form: Thinking | None = None
    if _has(forms, "adaptive") and levels:
        form = "adaptive"
    elif _has(forms, "enabled"):
        form, levels = "budget", EFFORTS[1:]
    if form is not None and _has(forms, "disabled"):
        levels = ("off", *levels)
    window, usual = window_of(entry), AdapterCapabilities().max_images
    return Description(
        window=window,
        output=count(entry.get("max_tokens")),
        tools=True,
        images=_has(able, "image_input"),
        max_images=_MORE_IMAGES if (window or 0) > _LONG else usual,
        documents=_has(able, "pdf_input"),
        thinking=form is not None,
        form=form,
        levels=levels if form is not None else (),
        schema=_has(able, "structured_outputs"),
        caching=True,
    )


def _has(able: Mapping[str, Any], name: str) -> bool:
    return mapping(able.get(name)).get("supported") is True


def _of_openrouter(entry: Mapping[str, Any], offered: frozenset[str]) -> Description | None:
    shape = mapping(entry.get("architecture"))
    inputs, outputs = _words(shape.get("input_modalities")), _words(shape.get("output_modalities"))
    if outputs and "text" not in outputs:
        return None
    rates = mapping(entry.get("pricing"))
    best = mapping(entry.get("top_provider"))
    return Description(
        window=window_of(entry),
        output=count(best.get("max_completion_tokens")),
        tools="tools" in offered,
        images="image" in inputs,
        audio="audio" in inputs,
        documents="file" in inputs,
        thinking="reasoning" in offered,
        schema="structured_outputs" in offered,
        caching=_rate(rates.get("input_cache_read")) is not None,
        temperature="temperature" in offered,
        price=_price(rates),
        known=bool(inputs),
    )


def _words(value: Any) -> frozenset[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []  # of anything
    return frozenset(item for item in items if isinstance(item, str))


def _price(rates: Mapping[str, Any]) -> Price | None:
    """Return a price out of US dollars per token.

    None: it is not told, changes by itself, or there is a fee for the request besides.
    """
    prompt, reply = _rate(rates.get("prompt")), _rate(rates.get("completion"))
    if prompt is None or reply is None or _rate(rates.get("request") or "0") != 0:
        return None
    return Price(
        input_per_mtok_usd=prompt,
        output_per_mtok_usd=reply,
        cached_read_per_mtok_usd=_rate(rates.get("input_cache_read")),
        cache_write_per_mtok_usd=_rate(rates.get("input_cache_write")),
    )


def _rate(told: Any) -> Decimal | None:
    """Return dollars per million tokens; OpenRouter writes dollars per token, as text."""
    try:
        per_token = Decimal(text(told))
        if not per_token:
            return Decimal(0)
        rate = per_token.scaleb(_PER_MILLION)
        return rate if rate and is_amount(rate) else None
    except ArithmeticError:  # no number, or one beyond all measure
        return None
