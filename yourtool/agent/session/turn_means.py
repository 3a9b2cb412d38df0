"""Adapter and tools of a turn."""

import asyncio
from contextlib import suppress

from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn import loop
from yourtool.agent.turn.turn import TurnMeans
from yourtool.errors import YourtoolError
from yourtool.messages.metadata import RoutingDecisionRecord
from yourtool.models import Model
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry


async def import_turn(registry: Registry, catalogue: Catalogue, model: str) -> None:
    """Import in a thread what the turns of a model need, while its session waits for the disk."""

    def import_modules() -> None:
        _ = loop.run_turn
        with suppress(YourtoolError):  # opening the session reports it
            registry.prepare(catalogue.resolve(model))

    await asyncio.to_thread(import_modules)


async def find_means(
    env: SessionEnvironment, model: Model, routing: RoutingDecisionRecord
) -> TurnMeans:
    """Return the means of a turn, with the modules for its requests imported.

    Another agent has its own tools, and starts with the first request.
    """
    registry, effort = env.requests.registry, env.requests.effort
    if env.agents is not None and registry.is_agent(model):
        agents = env.agents
        adapter = await asyncio.to_thread(agents.find_adapter, model)
        toolbox = await asyncio.to_thread(agents.build_toolbox, model)
        return TurnMeans(adapter, toolbox, routing, effort)
    await asyncio.to_thread(registry.prepare, model)
    return TurnMeans(registry.adapter(model), env.tools.toolbox, routing, effort)
