"""Commands `/model`, `/models` and `/effort`."""

import asyncio
from collections.abc import AsyncGenerator, Set
from contextlib import aclosing, suppress
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourtool import extensions
from yourtool.agent.commands.api_keys import enter_key
from yourtool.agent.commands.base import (
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    Invocation,
    SettingChanged,
    SheetRow,
    ShowSwap,
    SlashCommand,
    StartSession,
    StartTurn,
)
from yourtool.agent.commands.model_list import COLUMNS, LEGEND, format_source, model_choices
from yourtool.agent.commands.routing import explain_model
from yourtool.agent.commands.sessions.sessions import fork_before
from yourtool.agent.session.preflight import Preflight
from yourtool.errors import StoreError, SwapRefusedError, UsageError
from yourtool.events.catalog import Event
from yourtool.events.deltas import Notice
from yourtool.messages.message import now
from yourtool.models import EFFORTS, Effort
from yourtool.settings.config import WorkspaceConfig
from yourtool.settings.saved_settings import SAVE_OPTION, save_setting

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_DISCOVERY_SECONDS = 1
"""Seconds to wait for servers before the list is shown; later answers are added to it."""
_HERE = "--here"
"""The option that saves the model of the directory."""
_NO_QUESTION = "--yes"
"""The option that switches although something is lost."""


class _Answer(StrEnum):
    """The answers to the preflight of a swap."""

    SWITCH = "switch"
    MAKE_ROOM = "make room"
    PLACEHOLDERS = "placeholders"
    FORK = "fork"
    CANCEL = "cancel"


def choose_model(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/model`: switch to a name, reset with `-`, explain with `show`, or choose from a list.

    `--save` makes a model the default, `--here` that of the directory; without a name, the active
    one. `--yes` switches without a question about what is lost.
    """
    words = argument.split()
    asks = _NO_QUESTION not in words
    options = {each for each in (SAVE_OPTION, _HERE) if each in words}
    argument = " ".join(each for each in words if each not in (*options, _NO_QUESTION))
    if options:
        return _switch_and_save(session, runtime, argument, options, asks=asks)
    match argument:
        case "":
            return list_models(session, runtime, "")
        case "show":
            return explain_model(session, runtime, "")
        case "-":
            return _select_model(session, None)
        case name:
            return _switch_model(session, runtime, name, asks=asks)


async def list_models(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/models`: choose a model; models of servers appear as soon as they answer."""
    catalogue = runtime.catalogue
    figures: dict[str, str] = {}

    def get_figures(model_id: str) -> str:
        return figures.get(model_id, "")

    def get_source(model_id: str) -> str:
        trial = catalogue.find_trial(model_id)
        return format_source(catalogue.discovered_at(model_id), trial, now())

    def get_choices() -> tuple[Choice, ...]:
        return model_choices(
            catalogue.all(),
            runtime.registry.configuration_problem,
            session.model.id,
            runtime.default_models(session.project).preferred,
            get_source,
            get_figures,
        )

    async def discover() -> tuple[Choice, ...]:
        await asyncio.gather(runtime.find_servers(elsewhere=True), measure_models())
        return get_choices()

    async def measure_models() -> None:
        with suppress(StoreError):
            workspace = str(session.workspace)
            figures.update(await extensions.describe_models(runtime.store, workspace))

    async def save(value: str) -> CommandResults:
        if ":" in value:
            async for result in _switch_and_save(session, runtime, value, {SAVE_OPTION}):
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


async def offer_swap(session: "Session", runtime: "Runtime", name: str) -> CommandResults:
    """Show what a swap would change, and continue with the answer."""
    yield _build_sheet(session, runtime, await session.models.examine(name))


def _build_sheet(session: "Session", runtime: "Runtime", preflight: Preflight) -> ShowSwap:
    target, refused = preflight.target.id, preflight.refusal
    fork_at = "" if session.busy or refused is None else refused.fork_at

    async def answer(choice: str) -> CommandResults:
        match choice:
            case _Answer.SWITCH | _Answer.PLACEHOLDERS:
                placeholders = choice == _Answer.PLACEHOLDERS
                async for event in session.select_model(target, use_placeholders=placeholders):
                    yield event
                yield SettingChanged("model")
            case _Answer.MAKE_ROOM:
                yield StartTurn(_make_room_and_switch(session, target))
            case _Answer.FORK:
                async for result in fork_before(session, runtime, fork_at):
                    yield result
                yield Invocation(MODEL, f"{target} {_NO_QUESTION}")
            case _:
                pass

    return ShowSwap(
        f"Swap to {target}?",
        _list_answers(preflight, session, fork_at),
        then=answer,
        rows=tuple(SheetRow(*each) for each in preflight.consequences),
    )


async def _select_model(session: "Session", name: str | None) -> CommandResults:
    async for event in session.select_model(name):
        yield event
    yield SettingChanged("model")


async def _switch_and_save(
    session: "Session", runtime: "Runtime", name: str, options: Set[str], *, asks: bool = True
) -> CommandResults:
    """Switch to a model and save it as the default; without a name, save the active one.

    `options`: whether it is saved for the directory (`--here`), for all others (`--save`), or both.
    """
    if name in ("show", "-"):
        raise UsageError(f"`/model {name}` takes no `{min(options)}`.")
    model = runtime.catalogue.resolve(name) if name else session.model
    if name and model.id != session.model.id:
        async for result in _switch_model(session, runtime, model.id, asks=asks):
            yield result
        selected = session.state.pending_model or session.model.id
        if selected != model.id and not session.model.is_demo:
            yield Notice(level="info", text="The default model did not change.")
            return
    if SAVE_OPTION in options:
        file = await asyncio.to_thread(save_setting, runtime.paths, ("model",), model.id)
        runtime.config = replace(runtime.config, model=model.id)
        yield Notice(level="info", text=f"Saved `{model.id}` as the default model in {file}.")
    if _HERE in options:
        async for notice in _save_here(session, runtime, model.id):
            yield notice


async def _save_here(session: "Session", runtime: "Runtime", model_id: str) -> CommandResults:
    """Save the default model of the directory of the session."""
    paths, project, config = runtime.paths, session.project, runtime.config
    key = ("workspaces", str(project), "model")
    file = await asyncio.to_thread(save_setting, paths, key, model_id)
    settings = config.workspaces.get(str(project), WorkspaceConfig())
    workspaces = {**config.workspaces, str(project): replace(settings, model=model_id)}
    runtime.config = replace(config, workspaces=workspaces)
    yield Notice(
        level="info", text=f"Saved `{model_id}` as the default model of {project} in {file}."
    )
    if (await runtime.open_rules(project)).defaults.workspace_default != model_id:
        text = "`routing.toml` has another default for this directory, which comes first."
        yield Notice(level="warning", text=text)


def _choose_row(session: "Session", runtime: "Runtime", value: str) -> CommandResults:
    """Switch to the model of a row, or show how to set up the provider of a row."""
    if ":" in value:
        return _switch_model(session, runtime, value)
    if _needs_key(runtime, value):
        return enter_key(session, runtime, value)
    raise UsageError(runtime.registry.configuration_problem(value) or f"`{value}` is set up.")


def _needs_key(runtime: "Runtime", provider: str) -> bool:
    rows = {row.name: row for row in runtime.registry.providers()}
    return provider in rows and bool(rows[provider].base_url) and rows[provider].needs_key


async def _switch_model(
    session: "Session", runtime: "Runtime", name: str, *, asks: bool = True
) -> CommandResults:
    """Switch to another model; if something is at stake, the user is asked first.

    Switching from the demo to a real model starts a new session.
    """
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
    preflight = await session.models.examine(name)
    try:
        if preflight.refusal is not None or not (asks and preflight.is_at_stake):
            async for result in _select_model(session, name):
                yield result
            return
    except SwapRefusedError as refused:
        if not preflight.has_remedy(is_busy=session.busy):
            raise
        yield Notice(level="error", text=str(refused))
    yield _build_sheet(session, runtime, preflight)


async def _make_room_and_switch(session: "Session", target: str) -> AsyncGenerator[Event, None]:
    """Summarise old messages with the active model, then switch."""
    async with aclosing(session.compact()) as events:
        async for event in events:
            yield event
    async for event in session.select_model(target):
        yield event


def _list_answers(preflight: Preflight, session: "Session", fork_at: str) -> tuple[Choice, ...]:
    active, target, refused = preflight.active.id, preflight.target.id, preflight.refusal
    rows = list[Choice]()
    if refused is None:
        rows.append(Choice(_Answer.SWITCH, "Switch", f"{target} answers from the next prompt on"))
    if preflight.can_make_room(is_busy=session.busy):
        about = f"{active} summarises what is before the last turn; the session has everything"
        rows.append(Choice(_Answer.MAKE_ROOM, "Make room first, then switch", about))
    if refused is not None and refused.media:
        about = f"the model gets placeholders; the session still has the {refused.media}"
        title = f"Send placeholders for the {refused.media}"
        rows.append(Choice(_Answer.PLACEHOLDERS, title, about))
    numbers = {each.id: number for number, each in enumerate(session.state.prompts, 1)}
    if refused is None and not session.busy:
        about = f"{target} continues in a copy; this session keeps {active}"
        rows.append(Choice(_Answer.FORK, "Fork", about))
    elif refused is not None and fork_at in numbers:
        about = f"continue in a copy of the session, up to prompt {numbers[fork_at]}"
        rows.append(Choice(_Answer.FORK, f"Fork before the first of the {refused.media}", about))
    return *rows, Choice(_Answer.CANCEL, "Cancel", f"{active} stays active")


MODEL = SlashCommand(
    name="model",
    run=choose_model,
    argument="[NAME | - | show] [--save | --here] [--yes]",
    argument_kind="model",
    changes_model=True,
    keywords=(("show", "explain the last choice"), ("-", "use the default model")),
    summary="switch model; `-` resets to the default, `show` explains the last choice, `--save`"
    " makes it the default, `--here` that of this directory, `--yes` asks nothing",
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
