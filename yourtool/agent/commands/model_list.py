"""Rows of the model list."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from yourtool.agent.commands.base import Choice
from yourtool.foundation.amounts import format_age, format_tokens
from yourtool.models import DEMO, Model, Price
from yourtool.providers.catalogue.trials import ModelTrial

LEGEND = "⚒ tools  ▣ images  ♪ audio  ▤ documents  ✻ reasoning"
COLUMNS = ("$ in/out", "context", "can", "")
"""Headings of the columns, most important first."""
IN_USE, DEFAULT = "✓", "★"
"""Marks of the model of the session, and of the default model."""
NOT_SET_UP = "not set up"


def model_choices(
    models: Iterable[Model],
    why_not: Callable[[str], str | None],
    current: str,
    default: str = "",
    source: Callable[[str], str] = lambda _: "",
    measured: Callable[[str], str] = lambda _: "",
) -> tuple[Choice, ...]:
    """Return the usable models by provider, then one row for each provider to be set up.

    The provider of the model `current` comes first. `source` returns the age of a server's
    description of a model, by its id, and `measured` its figures. The value of a provider's row is
    its name.
    """
    providers: dict[str, list[Model]] = {}
    for model in sorted(models, key=lambda model: model.id):
        providers.setdefault(model.provider, []).append(model)
    active = current.partition(":")[0]
    rows, missing = list[Choice](), list[Choice]()
    for name in sorted(providers, key=lambda name: (name != active, name == DEMO, name)):
        if (reason := why_not(name)) is None:
            rows += _model_rows(providers[name], current, default, source, measured)
        else:
            missing.append(_provider_row(name, providers[name], reason))
    return *rows, *missing


def _model_rows(
    models: Sequence[Model],
    current: str,
    default: str,
    source: Callable[[str], str],
    measured: Callable[[str], str],
) -> list[Choice]:
    rows: list[Choice] = []
    for model in models:
        provider, _, name = model.id.partition(":")
        is_current, is_default = model.id == current, model.id == default
        states = [
            *(["in use"] if is_current else []),
            *(["default"] if is_default else []),
            *([] if model.known else ["capabilities are a guess"]),
        ]
        age, figures = source(model.id), measured(model.id)
        context = "?" if model.window is None else format_tokens(model.window)
        about = (
            *states,
            *([figures] if figures else []),
            f"{context} context",
            ", ".join(name for _, name, has in _capabilities(model) if has) or "text only",
            format_price(model.price),
            *([f"alias {', '.join(model.aliases)}"] if model.aliases else []),
            *([age] if age else []),
        )
        rows.append(
            Choice(
                model.id,
                name,
                " · ".join(about),
                (
                    _format_rates(model.price),
                    f"{context:>6}",
                    "".join(symbol if has else "-" for symbol, _, has in _capabilities(model)),
                    ", ".join(states) or age,
                ),
                mark=(IN_USE if is_current else "") + (DEFAULT if is_default else ""),
                group=provider,
                keywords=model.id,
            )
        )
    return rows


def _provider_row(name: str, models: Sequence[Model], reason: str) -> Choice:
    """Return the row of a provider that has to be set up; its models are found by the filter."""
    count = "1 model" if len(models) == 1 else f"{len(models)} models"
    return Choice(
        name,
        f"{name}: Enter sets it up ({count})",
        reason,
        group=NOT_SET_UP,
        keywords=" ".join(f"{model.id} {' '.join(model.aliases)}" for model in models),
        is_muted=True,
    )


def _capabilities(model: Model) -> tuple[tuple[str, str, bool], ...]:
    """Return the symbol and the name of each capability, and whether the model has it."""
    capabilities = model.capabilities
    return (
        ("⚒", "tools", capabilities.supports_tools),
        ("▣", "images", capabilities.supports_images),
        ("♪", "audio", capabilities.supports_audio),
        ("▤", "documents", capabilities.supports_documents),
        ("✻", "reasoning", capabilities.supports_thinking),
    )


def format_source(described_at: datetime | None, trial: ModelTrial | None, now: datetime) -> str:
    """Return the date of test requests, else the age of a server's description of its model."""
    if trial is not None:
        return f"tested {trial.at:%Y-%m-%d}"
    if described_at is None:
        return ""
    return f"from its server, {format_age(now - described_at)}"


def format_price(price: Price | None) -> str:
    """Return a price per million tokens."""
    if price is None:
        return "unpriced"
    if not price.input_per_mtok_usd and not price.output_per_mtok_usd:
        return "free"
    words = f"${price.input_per_mtok_usd:f} in, ${price.output_per_mtok_usd:f} out per M"
    if not price.tiers:
        return words
    first = min(tier.above_prompt_tokens for tier in price.tiers)
    return f"{words}, more above {format_tokens(first)}"


def _format_rates(price: Price | None) -> str:
    """Return the price of a million tokens for a column: input / output, `+` if there are tiers."""
    if price is None:
        return "unpriced"
    if not price.input_per_mtok_usd and not price.output_per_mtok_usd:
        return "free"
    tiers = "+" if price.tiers else ""
    into, out = price.input_per_mtok_usd.normalize(), price.output_per_mtok_usd.normalize()
    return f"{into:>4f}/{out:f}{tiers}"
