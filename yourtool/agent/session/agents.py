"""The other agents that a session uses as models: when it can, and what their turns use."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from yourtool.agent.history.summary_texts import render_conversation
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn import loop
from yourtool.agent_config import AgentConfig
from yourtool.agents.session_agents import SessionAgents
from yourtool.config import Mode
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


def open_agents(config: Mapping[str, AgentConfig], env: SessionEnvironment) -> SessionAgents:
    """Return the agents of a session; none is started yet."""

    def find_problem() -> str | None:
        if env.is_worker:
            return "An agent cannot do the task of a worker: its tools cannot be limited."
        if env.gate.mode is Mode.PLAN:
            return (
                "Plan mode is on, and nothing holds an agent to reading: choose another mode, or"
                " another model for the plan."
            )
        return None

    return SessionAgents(config, env.workspace.root, env.watch, render_conversation, find_problem)


async def import_turn(registry: Registry, catalogue: Catalogue, model: str) -> None:
    """Import in a thread what the turns of a model need, while its session waits for the disk."""

    def import_modules() -> None:
        _ = loop.run_turn
        with suppress(YourtoolError):  # opening the session reports it
            registry.prepare(catalogue.resolve(model))

    await asyncio.to_thread(import_modules)


async def find_means(env: SessionEnvironment, model: Model) -> TurnMeans:
    """Return the means of a turn, with the modules for its requests imported."""
    if env.agents is not None and env.registry.is_agent(model):
        agents = env.agents
        return await asyncio.to_thread(
            lambda: TurnMeans(agents.find_adapter(model), agents.build_toolbox(model))
        )
    await asyncio.to_thread(env.registry.prepare, model)
    return TurnMeans(env.registry.adapter(model), env.tools.toolbox)
