"""`/key`: the keys of the providers."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    Choose,
    CommandResults,
    EnterText,
    SettingChanged,
    SlashCommand,
    StartSession,
)
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.models import DEMO
from yourtool.settings.credentials import KEYCHAIN

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session
    from yourtool.providers.provider_specs import ProviderSpec


async def enter_key(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/key`: enter a key for a provider and switch to that provider."""
    specs = {spec.name: spec for spec in runtime.registry.providers() if spec.name != DEMO}
    if not argument:
        choices = tuple(
            Choice(
                spec.name,
                spec.label,
                spec.key_url or ("" if spec.needs_key else "no key required"),
            )
            for spec in specs.values()
        )
        yield Choose("Select a provider", choices, then=partial(enter_key, session, runtime))
        return
    if argument not in specs:  # the argument can be a key: do not repeat it
        raise UsageError(f"`/key` takes the name of a provider: {', '.join(sorted(specs))}.")
    spec = specs[argument]
    source = f"Create a key at {spec.key_url}. " if spec.key_url else ""
    yield EnterText(
        f"API key for {spec.label}",
        f"{source}Your input is hidden and stored where only you can read it.",
        then=partial(_save_key, session, runtime, spec),
        hidden=True,
    )


async def _save_key(
    session: "Session", runtime: "Runtime", spec: "ProviderSpec", key: str
) -> CommandResults:
    if not key:
        return
    place = await asyncio.to_thread(runtime.registry.save_key, spec.name, key)
    runtime.availability.reset(spec.name)
    if session.model.is_demo and not session.busy:  # the demo works in a copy of the directory
        yield StartSession(spec.default_model)
    elif spec.default_model:
        async for event in session.select_model(spec.default_model):
            yield event
    where = "the keychain" if place == KEYCHAIN else f"`{place}`"
    yield Notice(level="info", text=f"Saved the key for `{spec.name}` in {where}.")
    yield SettingChanged("model")


COMMANDS = (
    SlashCommand(
        name="key",
        run=enter_key,
        argument="[PROVIDER]",
        argument_kind="provider",
        summary="enter an API key (hidden) and use that provider",
    ),
)
