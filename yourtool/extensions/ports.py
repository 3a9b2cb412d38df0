"""Ports of extensions.

A module is the port: it has functions of these names.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping, Sequence

    from yourtool.agent.commands.base import SlashCommand
    from yourtool.agent.routes.learned_routing import LearnedRouting
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session
    from yourtool.agent.session_environment import OtherAgents, SessionEnvironment
    from yourtool.cli.arguments import Arguments
    from yourtool.paths import Paths
    from yourtool.providers.catalogue.models import Catalogue
    from yourtool.providers.registry import Registry
    from yourtool.settings.agent_config import AgentConfig, RoutingConfig
    from yourtool.store.base import SessionStore
    from yourtool.store.forks import Outcome
    from yourtool.store.sqlite.store import SqliteStore
    from yourtool.tools.processes.process import ShellCommand
    from yourtool.tui.widgets.key_mode import KeyMode
    from yourtool.tui.widgets.prompt import Prompt


class CommandModule(Protocol):
    """A command of the command line."""

    def add_arguments(self, parser: "ArgumentParser", /) -> None:
        """Add the arguments of the command to its parser."""
        ...

    def run(self, paths: "Paths", arguments: "Arguments", /) -> int:
        """Run the command and return the exit code."""
        ...


class SessionActionModule(Protocol):
    """An action of `yourtool sessions`."""

    def add_arguments(self, parser: "ArgumentParser", /) -> None:
        """Add the arguments of the action to its parser."""
        ...

    async def run(
        self, session_id: str, store: "SqliteStore", paths: "Paths", arguments: "Arguments", /
    ) -> int:
        """Run the action for the session of its argument `id`, if any; return the exit code."""
        ...


class ModelTrials(Protocol):
    """A module that tests with small requests what models can do."""

    def add_arguments(self, parser: "ArgumentParser", /) -> None:
        """Add options to `yourtool models`."""
        ...

    def test_models(
        self, file: Path, arguments: "Arguments", registry: "Registry", catalogue: "Catalogue", /
    ) -> tuple[list[str], bool]:
        """Test the models that the user chose, and store each result in `file`.

        Returns messages for the user, and whether every model answered.

        Raises:
            UsageError: nothing can be tested, or the user did not agree.
        """
        ...


class SessionImporter(Protocol):
    """A module that imports sessions of other programs."""

    async def import_sessions(
        self, store: "SessionStore", content: bytes, file: Path, workspace: Path, blobs: Path, /
    ) -> "Sequence[Outcome]":
        """Store the sessions in a file; `-` is standard input.

        Raises:
            UsageError: no session can be read.
        """
        ...


class AgentsModule(Protocol):
    """A module with other agents that answer as models."""

    def open_agents(
        self, config: "Mapping[str, AgentConfig]", env: "SessionEnvironment", /
    ) -> "OtherAgents":
        """Return the agents of a session; none is started yet."""
        ...

    def build_command(self, name: str, config: "AgentConfig", workspace: Path, /) -> "ShellCommand":
        """Return the command of an agent; blocks on the file system.

        Raises:
            InvalidRequestError: there is no such program.
        """
        ...


class LearnedRoutesModule(Protocol):
    """A module that learns from past turns."""

    def open_learned_routes(
        self, store: "SessionStore", workspace: str, config: "RoutingConfig", /
    ) -> "LearnedRouting":
        """Return the past turns of a workspace, a real path; none is loaded yet."""
        ...

    async def describe_models(
        self, store: "SessionStore", workspace: str, /
    ) -> "Mapping[str, str]":
        """Return the figures of models in the past turns of a workspace.

        Raises:
            StoreError: the past turns cannot be read.
        """
        ...


class LineInterface(Protocol):
    """A module with an interface that appends lines."""

    async def open_conversation(
        self, runtime: "Runtime", resume: str | None, *, continue_last: bool, first_prompt: str
    ) -> None:
        """Show the session of the command line until the user quits.

        `resume` is the id of a session, or empty: the user chooses one.
        """
        ...


class SlashCommandsModule(Protocol):
    """A module with slash commands, which imports what they need on use."""

    COMMANDS: "tuple[SlashCommand, ...]"
    """A custom command of the user with the same name replaces one."""

    def find_notices(self, session: "Session", /) -> "Sequence[str]":
        """Return warnings about a session that was opened; blocks on nothing."""
        ...


class KeyModeModule(Protocol):
    """A module with other keys for the prompt."""

    def build_key_mode(self, prompt: "Prompt", /) -> "KeyMode":
        """Return the keys, which start in the mode of an empty prompt."""
        ...
