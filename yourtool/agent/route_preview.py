"""Preview of routing decisions.

It covers a prompt in a new session and a swap in a stored one. Nothing is sent or stored.
"""

import asyncio

from yourtool.agent.history.state import State
from yourtool.agent.input.mentions import parse_address
from yourtool.agent.routes.session_routes import Routes
from yourtool.agent.runtime import Runtime
from yourtool.agent.session.preflight import Preflight, Preflights, PreflightSettings
from yourtool.events.turns import RouteDecided
from yourtool.ids import new_id
from yourtool.messages.message import PromptMessage, now
from yourtool.paths import from_stored_path
from yourtool.providers.base import FileRoots
from yourtool.settings.problems import Problem
from yourtool.store.base import resolve_id
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.toolset import ToolSnapshot


class RoutePreview:
    """Decides on prompts as the first turn of a new session would."""

    def __init__(self, runtime: Runtime, routes: Routes) -> None:
        self._runtime = runtime
        self._routes = routes

    @classmethod
    async def open(cls, runtime: Runtime) -> "RoutePreview":
        """Read the rules, which stay the same for all prompts."""
        workspace = runtime.options.workspace
        estimates = runtime.build_estimates(workspace, ToolSnapshot(default_toolbox()))
        routes = await runtime.build_routes(workspace, estimates)
        await routes.rules.load_inputs()
        if routes.learned is not None:
            await routes.learned.load()
        return cls(runtime, routes)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The mistakes in files of rules, and their warnings."""
        return self._routes.rules.problems

    def decide(self, prompt: str) -> RouteDecided:
        """Return the decision; sends and stores nothing.

        Raises:
            UsageError: the prompt is empty or starts with an invalid `@alias`.
            UnknownModelError: no model, or more than one, has the name in `--model`.
        """
        state, catalogue = State(), self._runtime.catalogue
        options = self._runtime.options
        addressed = parse_address(prompt, catalogue, options.workspace)
        message = PromptMessage(
            id=new_id(), session_id="", content=addressed.content, created_at=now()
        )
        state.add_message(message)
        state.model = catalogue.resolve(options.model).id if options.model else None
        return self._routes.decide(addressed.override, state)


async def examine_swap(runtime: Runtime, prefix: str, name: str) -> Preflight:
    """Return what a swap of a stored session would change; `prefix` is the start of its id.

    Raises:
        SessionNotFoundError: no session has this id.
        UnknownModelError: no model, or more than one, has this name.
    """
    state, config = State(), runtime.config
    await runtime.store.replay(await resolve_id(runtime.store, prefix), state.apply)
    workspace = from_stored_path(state.workspace_path)
    estimates = runtime.build_estimates(workspace, ToolSnapshot(default_toolbox()))
    routes = await runtime.build_routes(workspace, estimates)
    await routes.load_description(runtime.catalogue.resolve(name))
    settings = PreflightSettings(
        places=FileRoots(runtime.paths.blobs, workspace),
        effort=config.effort if state.effort is None else state.effort.effort,
        thinking_on_swap=config.thinking_on_swap,
        retention=config.cache_retention,
        make_room_at=config.context.make_room_at,
    )
    preflights = Preflights(state, runtime.registry, routes, estimates)
    return await asyncio.to_thread(preflights.examine, name, settings, now())
