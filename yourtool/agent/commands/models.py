"""`/model`, `/models` and `/effort`: the model of the session and its reasoning effort."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourtool.agent.commands.api_keys import enter_key
from yourtool.agent.commands.base import (
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    Invocation,
    SettingChanged,
    SlashCommand,
    StartSession,
)
from yourtool.agent.commands.routing import explain_model
from yourtool.agent.commands.sessions import fork_before
from yourtool.amounts import format_age
from yourtool.errors import SwapRefusedError, UsageError
from yourtool.events.deltas import Notice
from yourtool.messages.message import Message, now
from yourtool.models import DEMO, EFFORTS, Effort, Model, Price
from yourtool.saved_settings import save_setting, split_save_option

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

LEGEND = "⚒ tools  ▣ images  ♪ audio  ▤ documents  ✻ reasoning"
COLUMNS = ("$ in/out", "context", "can", "")
"""Headings of the columns of `/models`, most important first."""
IN_USE, DEFAULT = "✓", "★"
"""Marks of the model of the session, and of the default model."""
NOT_SET_UP = "not set up"
_DISCOVERY_SECONDS = 1
"""Seconds to wait for servers before the list is shown; later answers are added to it."""
_PLACEHOLDERS, _FORK, _CANCEL = "placeholders", "fork", "cancel"


def choose_model(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/model`: switch to a name, reset with `-`, explain with `show`, or choose from a list.

    `--save` makes a model the default; without a name, the active one.
    """
    argument, saves = split_save_option(argument)
    if saves:
        return _switch_and_save(session, runtime, argument)
    match argument:
        case "":
            return list_models(session, runtime, "")
        case "show":
            return explain_model(session, runtime, "")
        case "-":
            return _select_model(session, None)
        case name:
            return _switch_model(session, runtime, name)


async def list_models(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/models`: choose a model; models of servers appear as soon as they answer."""
    catalogue = runtime.catalogue

    def get_choices() -> tuple[Choice, ...]:
        return model_choices(
            catalogue.all(),
            runtime.registry.configuration_problem,
            session.model.id,
            runtime.default_models(session.project).preferred,
            lambda model_id: format_source(catalogue.discovered_at(model_id), now()),
        )

    async def discover() -> tuple[Choice, ...]:
        await runtime.find_servers(elsewhere=True)
        return get_choices()

    async def save(value: str) -> CommandResults:
        if ":" in value:
            async for result in _switch_and_save(session, runtime, value):
                yield result

    discovery = asyncio.ensure_future(discover())
    try:
        await asyncio.wait((discovery,), timeout=_DISCOVERY_SECONDS)
        is_complete = discovery.done()
        yield Choose(
            "Model for this session",
            discovery.result() if is_complete else get_choices(),
            then=partial(_choose_row, session, runtime),
            hint=LEGEND,
            actions=(ChoiceAction("ctrl+s", "Ctrl+S as default", save),),
            current=session.model.id,
            columns=COLUMNS,
            update=None if is_complete else discovery,
        )
    finally:
        discovery.cancel()


async def choose_effort(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/effort`: set a level from the next turn on, reset with `-`, or show the current one."""
    level: Effort | None = next((each for each in EFFORTS if each == argument), None)
    if argument and argument != "-" and level is None:
        raise UsageError(
            f"Unknown reasoning effort `{argument}`; choose one of {', '.join(EFFORTS)}."
        )
    if argument:
        async for event in session.select_effort(level):
            yield event
    yield Notice(level="info", text=session.effort_summary())


def swap_alternatives(session: "Session", runtime: "Runtime", refused: SwapRefusedError) -> Choose:
    """Return the choices if a model does not support the media in the session.

    They are placeholders for the media, a fork from before them, or no swap.
    """
    fork_at = "" if session.busy else refused.fork_at

    async def swap_anyway(choice: str) -> CommandResults:
        if choice == _PLACEHOLDERS:
            async for event in session.select_model(refused.model, use_placeholders=True):
                yield event
            yield SettingChanged("model")
        elif choice == _FORK:
            async for result in fork_before(session, runtime, fork_at):
                yield result
            yield Invocation(MODEL, refused.model)

    return Choose(
        f"{refused.model} does not support the {refused.media} in this session",
        _swap_choices(refused, session.model, session.state.prompts, fork_at),
        then=swap_anyway,
    )


async def _select_model(session: "Session", name: str | None) -> CommandResults:
    async for event in session.select_model(name):
        yield event
    yield SettingChanged("model")


async def _switch_and_save(session: "Session", runtime: "Runtime", name: str) -> CommandResults:
    """Switch to a model and save it as the default; without a name, save the active one."""
    if name in ("show", "-"):
        raise UsageError(f"`/model {name}` takes no `--save`.")
    model = runtime.catalogue.resolve(name) if name else session.model
    if name and model.id != session.model.id:
        async for result in _switch_model(session, runtime, model.id):
            yield result
    file = await asyncio.to_thread(save_setting, runtime.paths, "model", model.id)
    runtime.config = replace(runtime.config, model=model.id)
    yield Notice(level="info", text=f"Saved `{model.id}` as the default model in {file}.")


async def _choose_row(session: "Session", runtime: "Runtime", value: str) -> CommandResults:
    """Switch to the model of a row, or show how to set up the provider of a row."""
    if ":" in value:
        results = _switch_model(session, runtime, value)
    elif _needs_key(runtime, value):
        results = enter_key(session, runtime, value)
    else:
        raise UsageError(runtime.registry.configuration_problem(value) or f"`{value}` is set up.")
    async for result in results:
        yield result


def _needs_key(runtime: "Runtime", provider: str) -> bool:
    rows = {row.name: row for row in runtime.registry.providers()}
    return provider in rows and bool(rows[provider].base_url) and rows[provider].needs_key


async def _switch_model(session: "Session", runtime: "Runtime", name: str) -> CommandResults:
    """Switch to another model; switching from the demo to a real model starts a new session."""
    if session.model.is_demo and not session.busy:
        target = runtime.catalogue.resolve(name)
        if not target.is_demo:
            yield StartSession(target.id)
            yield Notice(
                level="info",
                text=f"Started a new session in {session.project}; /resume lists the demo session.",
            )
            yield SettingChanged("model")
            return
    try:
        async for result in _select_model(session, name):
            yield result
    except SwapRefusedError as refused:
        if not refused.media:
            raise
        yield Notice(level="error", text=str(refused))
        yield swap_alternatives(session, runtime, refused)


def model_choices(
    models: Iterable[Model],
    why_not: Callable[[str], str | None],
    current: str,
    default: str = "",
    source: Callable[[str], str] = lambda _: "",
) -> tuple[Choice, ...]:
    """Return the usable models by provider, then one row for each provider to be set up.

    The provider of the model `current` comes first. `source` returns the age of a server's
    description of a model, by its id. The value of a provider's row is its name.
    """
    providers: dict[str, list[Model]] = {}
    for model in sorted(models, key=lambda model: model.id):
        providers.setdefault(model.provider, []).append(model)
    active = current.partition(":")[0]
    rows, missing = list[Choice](), list[Choice]()
    for name in sorted(providers, key=lambda name: (name != active, name == DEMO, name)):
        if (reason := why_not(name)) is None:
            rows += _model_rows(providers[name], current, default, source)
        else:
            missing.append(_provider_row(name, providers[name], reason))
    return *rows, *missing


def _model_rows(
    models: Sequence[Model], current: str, default: str, source: Callable[[str], str]
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
        age = source(model.id)
        context = _format_tokens(model.capabilities.max_context_tokens)
        about = (
            *states,
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


def _swap_choices(
    refused: SwapRefusedError, active: Model, prompts: Sequence[Message], fork_at: str
) -> tuple[Choice, ...]:
    placeholders = f"the model gets placeholders; the session still has the {refused.media}"
    rows = [Choice(_PLACEHOLDERS, f"Send placeholders for the {refused.media}", placeholders)]
    for number, each in enumerate(prompts, 1):
        if each.id == fork_at:
            detail = f"continue in a copy of the session, up to prompt {number}"
            rows.append(Choice(_FORK, f"Fork before the first of the {refused.media}", detail))
    return *rows, Choice(_CANCEL, "Cancel", f"{active.id} stays active")


def format_source(described_at: datetime | None, now: datetime) -> str:
    """Return the age of a server's description of its model."""
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
    return f"{words}, more above {_format_tokens(first)}"


def _format_rates(price: Price | None) -> str:
    """Return the price of a million tokens for a column: input / output, `+` if there are tiers."""
    if price is None:
        return "unpriced"
    if not price.input_per_mtok_usd and not price.output_per_mtok_usd:
        return "free"
    tiers = "+" if price.tiers else ""
    into, out = price.input_per_mtok_usd.normalize(), price.output_per_mtok_usd.normalize()
    return f"{into:>4f}/{out:f}{tiers}"


def _format_tokens(tokens: int) -> str:
    """Return a number of tokens in short form, such as `200k`."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1_000:.3g}k" if tokens >= 1_000 else str(tokens)


MODEL = SlashCommand(
    name="model",
    run=choose_model,
    argument="[NAME | - | show] [--save]",
    argument_kind="model",
    changes_model=True,
    keywords=(("show", "explain the last choice"), ("-", "use the default model")),
    summary="switch model; `-` resets to the default, `show` explains the last choice, `--save`"
    " makes it the default",
)
COMMANDS = (
    MODEL,
    SlashCommand(
        name="models",
        run=list_models,
        summary="pick a model from a list with capabilities and prices",
    ),
    SlashCommand(
        name="effort",
        run=choose_effort,
        argument="[LEVEL | -]",
        argument_kind="effort",
        changes_model=True,
        keywords=(("-", "use the model's default"),),
        summary="set the reasoning effort; `-` uses the model's default",
    ),
)
