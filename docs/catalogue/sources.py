"""Data of others about models, in one form.

- `genai-prices` (PyPI, MIT): prices with tiers and the cache of an hour, context windows.
- `litellm` (PyPI, MIT): output limits, abilities, ends of life; only one file of its wheel is read.
- `@earendil-works/pi-ai` (npm, MIT): the data of https://models.dev and of OpenRouter's list, with
  the levels of reasoning.
"""

import importlib
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct, field

GENAI, LITELLM, PI = "g", "l", "p"
"""Short names of the sources in the file."""
PROVIDERS: dict[str, tuple[str, str, str]] = {
    # ours: that of genai-prices, prefix or provider in litellm, that of pi-ai
    "anthropic": ("anthropic", "anthropic", "anthropic"),
    "openai": ("openai", "openai", "openai"),
    "google": ("google", "gemini", "google"),
    "openrouter": ("openrouter", "openrouter", "openrouter"),
    "alibaba": ("", "dashscope", ""),
    "cerebras": ("cerebras", "cerebras", "cerebras"),
    "deepseek": ("deepseek", "deepseek", "deepseek"),
    "fireworks": ("fireworks", "", "fireworks"),
    "groq": ("groq", "groq", "groq"),
    "huggingface": ("", "", "huggingface"),
    "meta": ("meta", "meta", "meta"),
    "minimax": ("minimax", "minimax", "minimax"),
    "mistral": ("mistral", "mistral", "mistral"),
    "moonshotai": ("moonshotai", "moonshot", "moonshotai"),
    "nvidia": ("", "", "nvidia"),
    "sambanova": ("", "sambanova", ""),
    "together": ("together", "", "together"),
    "xai": ("x-ai", "xai", "xai"),
    "zai": ("zai", "zai", "zai"),
}
_MTOK = 1_000_000
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_NOT_CHAT = re.compile(
    r"^ft:|embed|image|audio|realtime|tts|transcribe|moderation|search|deep-research|lyria|live"
    r"|computer-use|robotics|ocr|whisper|babbage|davinci|instruct-0914|voxtral|guard|:batch|-batch"
    r"|-omni"
)
_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_OWN_SWITCHES = frozenset({"qwen", "deepseek", "zai", "together", "ant-ling", "baseten"})
"""Forms of reasoning that no dialect of ours can ask for."""


class Rates(Struct, frozen=True):
    """US dollars per million tokens: input, output, cached input, cache writes, of an hour."""

    input: Decimal
    output: Decimal
    read: Decimal | None = None
    write: Decimal | None = None
    hour: Decimal | None = None


class Said(Struct, kw_only=True):
    """The facts of one source about a model."""

    window: int | None = None
    output: int | None = None
    can: dict[str, bool] = field(default_factory=dict[str, bool])
    levels: tuple[str, ...] = ()
    form: str = ""
    fixed_temperature: bool = False
    least_cached: int | None = None
    most_images: int | None = None
    ends: str = ""
    successor: str = ""
    price: Rates | None = None
    tiers: tuple[tuple[int, Rates], ...] = ()


Models = dict[str, Said]
"""The facts of a source, by our model ids."""


def read_genai(wheel: Path, today: date) -> tuple[Models, str]:
    """Return the prices of today in the wheel of `genai-prices`, and its version."""
    sys.path.insert(0, str(wheel))
    providers: list[Any] = importlib.import_module("genai_prices.data").providers
    found: Models = {}
    for name, (theirs, _, _) in PROVIDERS.items():
        for provider in (each for each in providers if each.id == theirs):
            for model in provider.models:
                if (said := _read_genai_model(model, today)) is not None:
                    for each in (model.id, *_list_equal_names(model.match)):
                        found.setdefault(f"{name}:{each}", said)
    return found, wheel.name.split("-")[1]


def _list_equal_names(match: Any) -> Iterator[str]:
    for each in getattr(match, "or_", [match]):
        if (name := getattr(each, "equals", None)) is not None:
            yield name


def _read_genai_model(model: Any, today: date) -> Said | None:
    prices = model.prices
    if isinstance(prices, list):
        moment = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
        prices = model.get_prices(moment)
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    all_rates = [getattr(prices, each) for each in (*names, "cache_write_1h_mtok")]
    starts = sorted({t.start for each in all_rates for t in getattr(each, "tiers", ())})

    def at(start: int) -> Rates:
        return Rates(*(_get_genai_rate(each, start) for each in all_rates))  # pyright: ignore[reportArgumentType]

    return Said(
        window=model.context_window,
        price=at(0),
        tiers=tuple((start, at(start)) for start in starts),
    )


def _get_genai_rate(rate: Any, start: int) -> Decimal | None:
    if rate is None or isinstance(rate, Decimal):
        return rate
    reached = [each.price for each in rate.tiers if each.start <= start]
    return reached[-1] if reached else rate.base


def read_litellm(wheel: Path) -> tuple[Models, str]:
    """Return the facts of the table in the wheel of `litellm`, and its version."""
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("litellm/model_prices_and_context_window_backup.json")
    rows: dict[str, dict[str, Any]] = json.loads(text, parse_float=Decimal)
    ours = {theirs: name for name, (_, theirs, _) in PROVIDERS.items() if theirs}
    found: Models = {}
    for key, row in rows.items():
        name = ours.get(row.get("litellm_provider", ""))
        is_chat = row.get("mode") in ("chat", "responses")
        if name is not None and is_chat and not _NOT_CHAT.search(key):
            own = key.removeprefix(f"{row['litellm_provider']}/")
            found[f"{name}:{own}"] = _read_litellm_model(row)
    return found, wheel.name.split("-")[1]


def _read_litellm_model(row: Mapping[str, Any]) -> Said:
    starts = sorted(int(hit[1]) * 1000 for each in row if (hit := _TIER.fullmatch(each)))
    can = {
        "tools": bool(row.get("supports_function_calling")),
        "images": bool(row.get("supports_vision")),
        "documents": bool(row.get("supports_pdf_input")),
        "audio": bool(row.get("supports_audio_input")),
        "thinking": bool(row.get("supports_reasoning")),
    }
    if row.get("thinking_always_on"):
        can["off"] = False
    successor = str(row.get("successor_model") or "")
    return Said(
        window=row.get("max_input_tokens"),
        output=row.get("max_output_tokens"),
        can=can,
        form="adaptive" if row.get("supports_adaptive_thinking") else "",
        fixed_temperature=row.get("supports_sampling_params") is False,
        least_cached=row.get("prompt_cache_min_tokens"),
        ends=str(row.get("deprecation_date") or ""),
        successor=successor.removeprefix(f"{row['litellm_provider']}/"),
        price=_read_litellm_rates(row, ""),
        tiers=tuple(
            (start, rates)
            for start in starts
            if (rates := _read_litellm_rates(row, f"_above_{start // 1000}k_tokens")) is not None
        ),
    )


def _read_litellm_rates(row: Mapping[str, Any], suffix: str) -> Rates | None:
    names = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
    writes = ("cache_creation_input_token_cost", "cache_creation_input_token_cost_above_1hr")
    rates = [row.get(f"{each}{suffix}") for each in (*names, *writes)]
    if rates[0] is None or rates[1] is None:
        return None
    return Rates(*(None if each is None else Decimal(each) * _MTOK for each in rates))  # pyright: ignore[reportArgumentType]


def read_pi(package: Path) -> tuple[Models, str]:
    """Return the facts of the data in the package of `pi-ai`, and its version."""
    theirs = {name: ours for ours, (_, _, name) in PROVIDERS.items() if name}
    found: Models = {}
    with tarfile.open(package) as archive:
        for name in archive.getnames():
            hit = re.fullmatch(r"package/dist/providers/data/([a-z0-9-]+)\.json", name)
            if hit is None or hit[1] not in theirs or (file := archive.extractfile(name)) is None:
                continue
            for models in json.load(file, parse_float=Decimal).values():
                for row in models.values():
                    if row.get("type") == "chat" and (
                        hit[1] == "openrouter" or not _NOT_CHAT.search(row["id"])
                    ):
                        own = row["id"].removeprefix("models/")
                        found[f"{theirs[hit[1]]}:{own}"] = _read_pi_model(row)
    return found, package.name.removesuffix(".tgz").rpartition("-")[2]


def _read_pi_model(row: Mapping[str, Any]) -> Said:
    compat, cost = row.get("compat", {}), row["cost"]
    is_ours = compat.get("thinkingFormat") not in _OWN_SWITCHES
    takes_effort = is_ours and compat.get("supportsReasoningEffort") is not False
    has_levels = bool(row["reasoning"] and takes_effort)
    return Said(
        window=row["contextWindow"],
        output=row["maxTokens"],
        can={"tools": True, "images": "image" in row["input"], "thinking": has_levels},
        levels=_read_pi_levels(row) if has_levels else (),
        form="adaptive" if compat.get("forceAdaptiveThinking") else "",
        fixed_temperature=compat.get("supportsTemperature") is False,
        most_images=row.get("inputLimits", {}).get("images", {}).get("maxPerRequest"),
        price=_read_pi_rates(cost),
        tiers=tuple(
            (each["inputTokensAbove"], rates)
            for each in cost.get("tiers", ())
            if (rates := _read_pi_rates(each)) is not None
        ),
    )


def _read_pi_levels(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the levels of reasoning: all but those that are null, and the highest if named."""
    named = row.get("thinkingLevelMap")
    if named is None:
        return ()
    above = ("xhigh", "max")
    return tuple(
        each
        for each in _LEVELS
        if (each in named or each not in above) and named.get(each, each) is not None
    )


def _read_pi_rates(cost: Mapping[str, Any]) -> Rates | None:
    told = [cost.get(each) for each in ("input", "output", "cacheRead", "cacheWrite")]
    if told[0] is None or told[1] is None:
        return None
    first, second, *rest = (None if each is None else Decimal(each) for each in told)
    assert first is not None
    assert second is not None
    return Rates(first, second, *(each or None for each in rest))
