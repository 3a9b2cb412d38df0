"""One row for each model from the rows of the sources.

Where they differ, the smallest limit and the highest price count, and the others are named.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from docs.catalogue.sources import LITELLM, PI, Models, Rates, Said
from yourtool.models import EFFORTS
from yourtool.providers.catalogue import families
from yourtool.providers.catalogue.shipped import Row

_KEPT = timedelta(days=400)
"""Time for which the name of a model that ended stays known."""
_FIRST_PATCHES = (4, 0.1)
"""The first GPT that is trained on patches
(https://cookbook.openai.com/examples/gpt4-1_prompting_guide)."""
_OWN_API = frozenset({"anthropic", "openai", "google"})
"""Providers whose API always takes the effort of models that reason."""


def merge(sources: Mapping[str, Models], today: date) -> dict[str, Row]:
    """Return the rows of all models, sorted by id; `sources` by their short names."""
    ids = {*sources.get(LITELLM, {}), *sources.get(PI, {})}
    rows = dict[str, Row]()
    for model in sorted(ids):
        said = {key: models[model] for key, models in sources.items() if model in models}
        _correct_window(model, said, sources.get(PI, {}))
        row = _merge_row(model, said)
        if row.window is not None and (row.ends is None or row.ends > today - _KEPT):
            rows[model] = row
    return {model: row for model, row in rows.items() if not _is_same_without_date(model, rows)}


def _correct_window(model: str, said: Mapping[str, Said], listed: Models) -> None:
    """Replace a window that is the end of OpenAI's first price, and no limit.

    What OpenRouter lists includes the reply.
    """
    provider, _, name = model.partition(":")
    whole = listed.get(f"openrouter:{provider}/{name}")
    if provider == "openai" and whole and whole.window and PI in said and len(said) == 1:
        pi = said[PI]
        if pi.window and pi.output and pi.window < whole.window - pi.output:
            pi.window = whole.window - pi.output


def _is_same_without_date(model: str, rows: Mapping[str, Row]) -> bool:
    """True if the row of the name without the date is equal."""
    provider, _, name = model.partition(":")
    shorter = families.omit_date(name)
    return shorter != name and rows.get(f"{provider}:{shorter}") == rows[model]


def _merge_row(model: str, said: Mapping[str, Said]) -> Row:
    provider, _, name = model.partition(":")
    windows = {key: each.window for key, each in said.items() if each.window}
    starts = {start for each in said.values() for start, _ in each.tiers}
    if len(windows) > 1 and windows.get(PI) in starts:
        del windows[PI]  # the end of the first price, which is no limit
    outputs = {key: each.output for key, each in said.items() if each.output}
    window, output = min(windows.values(), default=None), min(outputs.values(), default=None)
    prices = {key: _list_rates(each) for key, each in said.items() if _is_priced(name, each)}
    highest = _find_highest(prices)
    is_thinking, levels = _find_levels(provider, said)
    form = _find_form(provider, said) if is_thinking else None
    lit = said.get(LITELLM, Said())
    can = {ability for each in said.values() for ability, has in each.can.items() if has}
    can -= {"off", "thinking"}
    can |= {"thinking"} if is_thinking else set[str]()
    can |= {"cache"} if highest and any(highest[0][2:3]) else set[str]()
    is_gpt = families.simplify(name).startswith("gpt") and provider in ("openai", "openrouter")
    is_patching = families.parse(families.simplify(name)).version >= _FIRST_PATCHES
    is_patching = is_gpt and (is_patching or "gpt-oss" in name)
    if provider == "anthropic" or is_gpt or (provider == "google" and form != "budget"):
        can.add("schema")
    shown: dict[str, dict[str, Any]] = {
        "window": windows,
        "output": outputs,
        "price": {key: f"{each[0][0]}/{each[0][1]}" for key, each in prices.items()},
    }
    chosen = {"window": window, "output": output}
    if highest:
        chosen["price"] = f"{highest[0][0]}/{highest[0][1]}"  # pyright: ignore[reportArgumentType]
    return Row(
        window=window,
        output=None if output is None or window is None else min(output, window),
        can=tuple(sorted(can)),  # pyright: ignore[reportArgumentType]
        levels=levels,  # pyright: ignore[reportArgumentType]
        form=form,  # pyright: ignore[reportArgumentType]
        edit="apply_patch" if is_patching else None,
        fixed_temperature=any(each.fixed_temperature for each in said.values())
        or (provider == "openai" and is_thinking),
        least_cached=None if lit.least_cached is None else int(lit.least_cached),
        most_images=said[PI].most_images if PI in said else None,
        price=highest[0] if highest else None,
        tiers=tuple(highest[1].items()) if highest else (),
        ends=date.fromisoformat(lit.ends) if lit.ends else None,
        successor=lit.successor or None,
        by={
            figure: "".join(key for key, value in told.items() if value == chosen[figure])
            or "".join(told)
            for figure, told in shown.items()
            if told
        },
        said={
            figure: differing
            for figure, told in shown.items()
            if (differing := {k: v for k, v in told.items() if v != chosen[figure]})
        },
    )


def _find_levels(provider: str, said: Mapping[str, Said]) -> tuple[bool, tuple[str, ...]]:
    """Return whether a model takes an effort, and the levels that are known."""
    lit, pi = said.get(LITELLM, Said()), said.get(PI)
    if pi is not None:
        is_thinking, levels = pi.can["thinking"], pi.levels
    else:
        is_thinking, levels = provider in _OWN_API and lit.can.get("thinking", False), ()
    if lit.can.get("off") is False:
        levels = tuple(each for each in levels if each != "off")
    if _find_form(provider, said) == "adaptive":
        levels = tuple(each for each in levels if each != "minimal")
    elif provider == "anthropic" and is_thinking:
        levels = EFFORTS
    return is_thinking, levels if is_thinking else ()


def _find_form(provider: str, said: Mapping[str, Said]) -> str | None:
    if provider == "anthropic":
        return next((each.form for each in said.values() if each.form), "budget")
    if provider == "google":
        return "effort" if PI in said and said[PI].levels else "budget"
    return None


def _is_priced(name: str, said: Said) -> bool:
    """True if a source states a price; zero for a model that is not free means unknown."""
    return said.price is not None and bool(said.price.input or said.price.output or ":free" in name)


_Rates = tuple[Decimal | None, ...]


def _list_rates(said: Said) -> tuple[_Rates, dict[int, _Rates]]:
    assert said.price is not None
    return _to_tuple(said.price), {start: _to_tuple(rates) for start, rates in said.tiers}


def _to_tuple(rates: Rates) -> _Rates:
    told = (rates.input, rates.output, rates.read, rates.write, rates.hour)
    return tuple(None if each is None else _shorten(each) for each in told)


def _shorten(rate: Decimal) -> Decimal:
    rate = rate.quantize(Decimal("1e-6")).normalize()
    return rate.quantize(Decimal(1)) if rate == rate.to_integral_value() else rate


def _find_highest(
    prices: Mapping[str, tuple[_Rates, dict[int, _Rates]]],
) -> tuple[_Rates, dict[int, _Rates]] | None:
    """Return the highest of each rate, and the same for each tier that a source has."""
    if not prices:
        return None
    starts = sorted({start for _, tiers in prices.values() for start in tiers})
    told = [tiers for _, tiers in prices.values() if tiers] or [{}]
    highest = {
        start: _highest_of([each[start] for each in told if start in each]) for start in starts
    }
    kept = {
        start: rates
        for at, (start, rates) in enumerate(highest.items())
        if not at or rates != highest[starts[at - 1]]
    }
    return _highest_of([base for base, _ in prices.values()]), kept


def _highest_of(all_rates: list[_Rates]) -> _Rates:
    found = list[Decimal | None]()
    for column in zip(*all_rates, strict=True):
        told = [each for each in column if each is not None]
        found.append(max(told) if told else None)
    while len(found) > 2 and found[-1] is None:
        found.pop()
    return tuple(found)
