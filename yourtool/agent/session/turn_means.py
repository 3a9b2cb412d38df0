"""Adapter and tools of a turn."""

import asyncio
from contextlib import suppress

from msgspec import Struct

from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn import loop
from yourtool.errors import YourtoolError
from yourtool.models import Model
from yourtool.providers.base import Adapter
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.tools.toolset import Toolbox


class TurnMeans(Struct, frozen=True):
    """What answers the requests of a turn, and what its calls can use."""

    adapter: Adapter
    toolbox: Toolbox


async def import_turn(registry: Registry, catalogue: Catalogue, model: str) -> None:
    """Import in a thread what the turns of a model need, while its session waits for the disk."""

    def import_modules() -> None:
        _ = loop.run_turn
        with suppress(YourtoolError):  # opening the session reports it
            registry.prepare(catalogue.resolve(model))

    await asyncio.to_thread(import_modules)


async def find_means(env: SessionEnvironment, model: Model) -> TurnMeans:
    """Return the means of a turn, with the modules for its requests imported."""
    if env.agents is not None and env.requests.registry.is_agent(model):
        agents = env.agents
        return await asyncio.to_thread(
            lambda: TurnMeans(agents.find_adapter(model), agents.build_toolbox(model))
        )
    await asyncio.to_thread(env.requests.registry.prepare, model)
    return TurnMeans(env.requests.registry.adapter(model), env.tools.toolbox)
