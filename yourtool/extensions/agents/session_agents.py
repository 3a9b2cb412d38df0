"""Agents of one session."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.agent.history.summary_texts import render_conversation
from yourtool.agent.session_environment import SessionEnvironment, SettledAgent
from yourtool.errors import InvalidRequestError
from yourtool.extensions import agents
from yourtool.extensions.agents.hand_over import Render
from yourtool.foundation.files import expand_home
from yourtool.models import Model, ModelId
from yourtool.process.environment import is_key
from yourtool.settings.agent_config import AgentConfig
from yourtool.settings.config import Mode
from yourtool.tools.changes.workspace_watch import WorkspaceWatch
from yourtool.tools.processes.environments import Environments
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.toolset import Toolbox

if TYPE_CHECKING:
    from yourtool.extensions.agents.adapter import AgentAdapter


class SessionAgents:
    """Starts the agents of the user's settings for one session, and ends them."""

    def __init__(
        self,
        config: Mapping[str, AgentConfig],
        workspace: Path,
        watch: WorkspaceWatch,
        render: Render,
        find_problem: Callable[[], str | None],
    ) -> None:
        """`render` and `find_problem` are those of `AgentAdapter`."""
        self._config = config
        self._workspace = workspace
        self._watch = watch
        self._render = render
        self._find_problem = find_problem
        self._adapters: dict[str, AgentAdapter] = {}

    def find_adapter(self, model: Model) -> "AgentAdapter":
        """Return the adapter of an agent, which starts with its first request."""
        if (adapter := self._adapters.get(model.id)) is None:
            name = ModelId.parse(model.id).name
            config = self._config.get(name)
            agent = agents.agent.Agent(
                model.id,
                lambda: self._build_command(name),
                self._workspace,
                self._watch,
                offers_files=config is None or config.files,
            )
            adapter = agents.adapter.AgentAdapter(agent, self._render, self._find_problem)
            self._adapters[model.id] = adapter
        return adapter

    def build_toolbox(self, model: Model) -> Toolbox:
        """Return the tools of turns that an agent answers."""
        return agents.tools.build_toolbox(self.find_adapter(model))

    def abandon(self, model: Model) -> None:
        """Let the next request to an agent stop its present prompt first."""
        if (adapter := self._adapters.get(model.id)) is not None:
            adapter.is_abandoned = True

    async def settle(self, model: Model) -> SettledAgent:
        """End what an agent does for a turn."""
        if (adapter := self._adapters.get(model.id)) is None:
            return SettledAgent()
        adapter.pending.clear()
        agent = adapter.agent
        problem = await agent.settle()
        changes = tuple(each.changes for each in agent.found)
        settled = SettledAgent(changes, tuple(agent.unasked), problem)
        agent.found.clear()
        agent.unasked.clear()
        return settled

    async def close(self) -> None:
        """End all agents; idempotent."""
        adapters, self._adapters = self._adapters, {}
        for adapter in adapters.values():
            await adapter.close()

    def _build_command(self, name: str) -> ShellCommand:
        if (config := self._config.get(name)) is None or not config.command:
            raise InvalidRequestError(describe_missing(name))
        return build_command(name, config, self._workspace)


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

    return SessionAgents(
        config, env.place.workspace.root, env.place.watch, render_conversation, find_problem
    )


def build_command(name: str, config: AgentConfig, workspace: Path) -> ShellCommand:
    """Return the command of an agent; blocks on the file system.

    Raises:
        InvalidRequestError: there is no such program.
    """
    own = Environments().build_for_own_program(os.environ, workspace)
    environment = {name: value for name, value in own.items() if not is_key(name, value)}
    given = {each: os.environ[each] for each in config.environment if each in os.environ}
    program, *arguments = config.command or ("",)
    found = shutil.which(str(expand_home(Path(program))), path=environment["PATH"])
    if found is None or not Path(found).is_absolute():
        raise InvalidRequestError(
            f"There is no program `{program}` for `acp:{name}`: install it, or correct"
            f" `command` of `[agents.{name}]` in `config.toml`"
        )
    return ShellCommand((found, *arguments), workspace, {**environment, **given})


def describe_missing(name: str) -> str:
    """Return how an agent is configured that is not."""
    return (
        f"There is no agent `{name}`: add `[agents.{name}]` to `config.toml`, with its `command`,"
        ' such as `command = ["my-agent", "acp"]`'
    )
