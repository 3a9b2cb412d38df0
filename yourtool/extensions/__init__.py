"""Table of extensions.

Each extension is a folder of this package; without the folder, its row offers nothing. The rest of
the program imports none of them: it finds in this table what they offer, and imports it on use.

Where a change goes:

- an extension: a folder in `extensions/` and `tests/extensions/`, its row in
  `extensions/__init__.py`, `REMOVABLE` in `tests/removable.py`
- a kind of thing that extensions offer: a field of `Extension` with its loader, a protocol in
  `extensions/ports.py`; who reads it: the first contract in `pyproject.toml`
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from yourtool.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yourtool.agent.commands.base import SlashCommand
    from yourtool.agent.routes.learned_routing import LearnedRouting
    from yourtool.agent.session.session import Session
    from yourtool.agent.session_environment import OtherAgents, SessionEnvironment
    from yourtool.extensions.ports import (
        AgentsModule,
        CommandModule,
        KeyModeModule,
        LearnedRoutesModule,
        LineInterface,
        ModelTrials,
        SessionActionModule,
        SessionImporter,
        SlashCommandsModule,
    )
    from yourtool.settings.agent_config import AgentConfig, RoutingConfig
    from yourtool.store.base import SessionStore
    from yourtool.tools.processes.process import ShellCommand


class Command(Struct, frozen=True, kw_only=True):
    """A command of the command line, or an action of one."""

    name: str
    summary: str
    module: str
    """A `CommandModule` or a `SessionActionModule`."""
    before: str = ""
    """The command that follows it in lists."""


class Extension(Struct, frozen=True, kw_only=True):
    """A folder of this package, with what it offers."""

    folder: str
    commands: tuple[Command, ...] = ()
    session_actions: tuple[Command, ...] = ()
    """Actions of `yourtool sessions`."""
    learned_routes: str = ""
    """A `LearnedRoutesModule`, for `[routing] patterns`."""
    route_replay: str = ""
    """A `CommandModule`, for `yourtool route replay`."""
    model_trials: str = ""
    """A `ModelTrials`, for `yourtool models --ask`."""
    session_importer: str = ""
    """A `SessionImporter`, for files of other programs."""
    line_interface: str = ""
    """A `LineInterface`, for `[ui] linear`."""
    agents: str = ""
    """An `AgentsModule`, for `[agents]`."""
    key_mode: str = ""
    """A `KeyModeModule`, for `[ui] vim`."""
    slash_commands: str = ""
    """A `SlashCommandsModule`, which is imported with the table of slash commands."""


_ROWS = (
    Extension(folder="agents", agents="agents.session_agents"),
    Extension(folder="asides", slash_commands="asides.commands"),
    Extension(
        folder="editors",
        commands=(
            Command(
                name="acp",
                summary="serve the Agent Client Protocol, for editors",
                module="editors.command",
                before="config",
            ),
        ),
    ),
    Extension(folder="importers", session_importer="importers.importing"),
    Extension(folder="linear", line_interface="linear.conversation"),
    Extension(
        folder="lab",
        session_actions=(
            Command(
                name="replay",
                summary="play a session again, offline, with its stored replies and results",
                module="lab.session_replay",
            ),
        ),
        learned_routes="lab.learned_routes",
        route_replay="lab.route_replay",
        model_trials="lab.model_trials",
    ),
    Extension(
        folder="repair",
        session_actions=(
            Command(
                name="prune",
                summary="delete old sessions, and attachments that no message refers to",
                module="repair.prune_command",
                before="replay",
            ),
            Command(
                name="check",
                summary="look for damage in stored sessions",
                module="repair.check_command",
            ),
            Command(
                name="salvage",
                summary="replace a damaged database by one with every row that can be read",
                module="repair.salvage_command",
            ),
        ),
    ),
    Extension(folder="settings_list", slash_commands="settings_list.commands"),
    Extension(
        folder="settings_import",
        commands=(
            Command(
                name="import",
                summary="take over settings of other agents",
                module="settings_import.command",
                before="completion",
            ),
        ),
    ),
    Extension(folder="vim", key_mode="vim.keys"),
)
_FOLDERS = {path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")}
EXTENSIONS = tuple(each for each in _ROWS if each.folder in _FOLDERS)
"""The rows of the folders that exist."""


def find_commands() -> Iterator[Command]:
    """Yield the commands of all extensions."""
    return (command for each in EXTENSIONS for command in each.commands)


def find_removed(command: str) -> str:
    """Return the folder of a removed extension that had a command; else an empty text."""
    removed = (each for each in _ROWS if each.folder not in _FOLDERS)
    return next((e.folder for e in removed if command in {c.name for c in e.commands}), "")


def find_session_actions() -> Iterator[Command]:
    """Yield the actions of `yourtool sessions` of all extensions."""
    return (action for each in EXTENSIONS for action in each.session_actions)


def load_session_action(name: str) -> "SessionActionModule":
    """Import an action of `yourtool sessions`."""
    return _load(next(each.module for each in find_session_actions() if each.name == name))


def load_command(command: Command) -> "CommandModule":
    """Import the module of a command."""
    return _load(command.module)


def load_route_replay() -> "CommandModule | None":
    """Import the replay of stored decisions on models, if there is such an extension."""
    return _load_first(each.route_replay for each in EXTENSIONS)


def load_model_trials() -> "ModelTrials | None":
    """Import the tests of models, if there is such an extension."""
    return _load_first(each.model_trials for each in EXTENSIONS)


def load_session_importer() -> "SessionImporter | None":
    """Import what reads the sessions of other programs, if there is such an extension."""
    return _load_first(each.session_importer for each in EXTENSIONS)


def load_line_interface() -> "LineInterface | None":
    """Import the interface that appends lines, if there is such an extension."""
    return _load_first(each.line_interface for each in EXTENSIONS)


def open_agents(
    config: "Mapping[str, AgentConfig]", env: "SessionEnvironment"
) -> "OtherAgents | None":
    """Return the other agents of a session; None: the user has none, or no extension for them."""
    module = _load_agents() if config else None
    return module.open_agents(config, env) if module is not None else None


def build_agent_command(name: str, config: "AgentConfig", workspace: Path) -> "ShellCommand":
    """Return the command of another agent; blocks on the file system.

    Raises:
        InvalidRequestError: there is no such program, or no extension for agents.
    """
    if (module := _load_agents()) is None:
        raise InvalidRequestError("This installation has no extension for agents")
    return module.build_command(name, config, workspace)


def _load_agents() -> "AgentsModule | None":
    return _load_first(each.agents for each in EXTENSIONS)


def open_learned_routes(
    store: "SessionStore", workspace: str, config: "RoutingConfig"
) -> "LearnedRouting | None":
    """Return the past turns of a workspace; None: there is no such extension."""
    module = _load_learned_routes()
    return module.open_learned_routes(store, workspace, config) if module is not None else None


async def describe_models(store: "SessionStore", workspace: str) -> "Mapping[str, str]":
    """Return the figures of models in the past turns of a workspace; blocks for an import.

    Raises:
        StoreError: the past turns cannot be read.
    """
    module = _load_learned_routes()
    return await module.describe_models(store, workspace) if module is not None else {}


def _load_learned_routes() -> "LearnedRoutesModule | None":
    return _load_first(each.learned_routes for each in EXTENSIONS)


def load_key_mode() -> "KeyModeModule | None":
    """Import the other keys for the prompt, if there is such an extension."""
    return _load_first(each.key_mode for each in EXTENSIONS)


def list_slash_commands() -> "tuple[SlashCommand, ...]":
    """Return the slash commands of all extensions."""
    return tuple(command for module in _load_slash_commands() for command in module.COMMANDS)


def find_notices(session: "Session") -> "Sequence[str]":
    """Return the warnings of extensions about a session that was opened."""
    return [text for module in _load_slash_commands() for text in module.find_notices(session)]


def _load_slash_commands() -> "list[SlashCommandsModule]":
    return [_load(each.slash_commands) for each in EXTENSIONS if each.slash_commands]


def _load_first(modules: Iterable[str]) -> Any:
    """Import the first module with a name."""
    name = next(filter(None, modules), None)
    return _load(name) if name else None


def _load(module: str) -> Any:
    return import_module(f"{__name__}.{module}")
