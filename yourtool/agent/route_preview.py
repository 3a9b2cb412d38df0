"""The routing decision for a prompt in a new session, without a session."""

from yourtool.agent.history.state import State
from yourtool.agent.input.mentions import parse_address
from yourtool.agent.routes import Routes
from yourtool.agent.runtime import Runtime
from yourtool.config import Problem
from yourtool.events.turns import RouteDecided
from yourtool.ids import new_id
from yourtool.messages.message import PromptMessage, now
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
