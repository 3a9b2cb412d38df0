"""`yourtool mcp`: commands for MCP servers.

They list, show, add, remove and accept servers, log in at them and call them.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from yourtool.agent.commands.mcp import describe_server
from yourtool.agent.session.known_secrets import build_mask
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.agent.tool_servers import build_environments, build_surroundings, load_servers
from yourtool.cli import mcp_login
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import open_settings, print_json, print_lines, print_table
from yourtool.errors import ConfigError, ToolError, UsageError
from yourtool.foundation.files import replace_file
from yourtool.paths import Paths, own_directories, resolve_paths
from yourtool.permissions.trust import MCP_SERVERS
from yourtool.run_result import ExitCode
from yourtool.settings.tables import is_table
from yourtool.tools.sandbox.sandboxes import Sandboxes
from yourtool.tools.servers.logins import FILE_NAME as LOGINS_FILE
from yourtool.tools.servers.logins import Logins
from yourtool.tools.servers.server import ServerState, ToolServer
from yourtool.tools.servers.servers import ToolServers, estimate_tokens
from yourtool.tools.servers.settings import McpSettingsError, SettingsFile, load_settings
from yourtool.tools.servers.tool import read_texts

_SECONDS = 35.0
"""More than a connection can take."""
OUTSIDE = (
    'It runs outside the sandbox, with your rights; `"sandbox": true` in the file changes that.'
)
"""Where the programs in the file of the user run."""


def run(paths: Paths, arguments: Arguments) -> int:
    """Run an action of `yourtool mcp`."""
    match arguments.action:
        case "add":
            return _add(paths, arguments)
        case "remove":
            return _remove(paths, arguments)
        case "login":
            return mcp_login.run_login(paths, arguments)
        case "list":
            return asyncio.run(_with_servers(paths, arguments, (), _print_list))
        case "show":
            return asyncio.run(_with_servers(paths, arguments, (arguments.id,), _print_server))
        case "accept":
            return asyncio.run(_with_servers(paths, arguments, (arguments.id,), _accept))
        case _:
            return asyncio.run(_with_servers(paths, arguments, (arguments.id,), _call))


async def _with_servers(
    paths: Paths,
    arguments: Arguments,
    names: tuple[str, ...],
    action: Callable[[ToolServers, Arguments], Awaitable[int]],
) -> int:
    """Connect to servers, all or those with a name, and run an action on them."""
    workspace, config = arguments.workspace, open_settings(paths).config
    loaded, used = load_servers(workspace, paths, arguments.mcp_config), config.sandbox.is_used
    boxes = Sandboxes(config.sandbox, own_directories(paths)) if used else None
    sandbox, environments = boxes and boxes.build(workspace), build_environments(config)
    around = build_surroundings(workspace, paths, sandbox, environments)
    servers = ToolServers(loaded, around)
    if notice := _find_untrusted_servers(workspace, paths):
        _print_problems([notice])
    for name in names:
        servers.find(name)
    try:
        servers.start(names)
        await servers.settle(_SECONDS, names)
        return await action(servers, arguments)
    finally:
        await servers.close()
        if boxes is not None:
            await boxes.close()


def _find_untrusted_servers(workspace: Path, paths: Paths) -> str | None:
    """Return which files of the project with servers are not used, and how to use them."""
    trust = ProjectTrust(workspace, paths)
    found = trust.examine()
    files = tuple(each for each in found.files if each.kind is MCP_SERVERS)
    return trust.find_notice(replace(found, files=files), is_interactive=False)


async def _print_list(servers: ToolServers, arguments: Arguments) -> int:
    rows = [_describe(each) for each in servers.servers]
    if arguments.json:
        print_json({"servers": rows, "problems": servers.find_problems()})
        return ExitCode.ANSWERED
    if rows:
        print_table(
            [("SERVER", "STATE", "TOOLS", "TOKENS", "FROM")]
            + [
                (
                    str(each["name"]),
                    str(each["state"]),
                    str(len(each["tools"])),
                    f"{each['tokens']:,}",
                    str(each["place"]),
                )
                for each in rows
            ]
        )
    else:
        print_lines("There are no MCP servers. `yourtool mcp add NAME -- COMMAND` adds one.")
    _print_problems(servers.find_problems())
    return ExitCode.ANSWERED


def _print_problems(problems: Iterable[str]) -> None:
    """Print problems, which quote what files of others have."""
    print_lines(*(f"yourtool: {each}" for each in problems), file=sys.stderr)


def _describe(server: ToolServer) -> dict[str, Any]:
    """Return a server as it is listed and shown as JSON."""
    settings = server.settings
    return {
        "name": server.name,
        "state": server.state.value,
        "reason": server.reason,
        "source": settings.source,
        "place": settings.place,
        "definition": json.loads(settings.definition),
        "variables": settings.variables,
        "tokens": estimate_tokens(each.foreign for each in server.tools),
        "tools": [
            {
                "name": each.definition.name,
                "original_name": each.foreign.name,
                "description": each.foreign.description,
                "effects": each.definition.side_effects.value,
                "annotations": dict(each.foreign.annotations),
                "losses": each.losses,
            }
            for each in server.tools
        ],
        "difference": server.difference,
    }


async def _print_server(servers: ToolServers, arguments: Arguments) -> int:
    server = servers.find(arguments.id)
    if arguments.json:
        print_json(_describe(server))
        return _find_code(server)
    for section in describe_server(server, in_shell=True):
        print_lines(section.title)
        for name, text in section.rows:
            print_lines(*(f"  {line}" for line in f"{name}: {text}".split("\n")))
    _print_problems(servers.find_problems(with_servers=False))
    return _find_code(server)


def _find_code(server: ToolServer) -> ExitCode:
    """Return whether a server can be used, or is not to be used yet."""
    match server.state:
        case ServerState.NEEDS_LOGIN:
            return ExitCode.NO_MODEL
        case ServerState.FAILED | ServerState.PENDING:
            return ExitCode.FAILED
        case _:
            return ExitCode.ANSWERED


async def _accept(servers: ToolServers, arguments: Arguments) -> int:
    """Accept a server and, if it connects then, what it offers."""
    server = servers.find(arguments.id)
    await _print_server(servers, arguments)
    await server.accept()
    await servers.settle(_SECONDS, (server.name,))
    print_lines(f"Accepted {server.name} as it is above.")
    if server.state is not ServerState.CONNECTED:
        _print_problems([server.problem or f"`{server.name}` has not answered yet."])
    return _find_code(server)


async def _call(servers: ToolServers, arguments: Arguments) -> int:
    server, (name, *rest) = servers.find(arguments.id), arguments.words
    if server.state is not ServerState.CONNECTED:
        _print_problems(servers.find_problems())
        return _find_code(server) or ExitCode.FAILED
    named = [each for each in server.tools if name in (each.foreign.name, each.definition.name)]
    if not named:
        names = ", ".join(each.foreign.name for each in server.tools) or "none"
        raise UsageError(f"`{server.name}` has no tool `{name}`; its tools are: {names}")
    try:
        result = await server.call(named[0], _parse_arguments(rest))
    except ToolError as error:
        raise UsageError(str(error)) from error
    mask = build_mask(resolve_paths(), os.environ)
    if arguments.json:
        print_json({"content": mask.value(list(result.content)),
                    "structured": mask.value(result.structured),
                    "is_error": result.is_error})  # fmt: skip
    else:
        print_lines(*map(mask.text, read_texts(result)))
    return ExitCode.FAILED if result.is_error else ExitCode.ANSWERED


def _parse_arguments(words: list[str]) -> dict[str, Any]:
    """Return the arguments of a call.

    Raises:
        UsageError: they are not a JSON object.
    """
    try:
        found: Any = json.loads(words[0]) if words else {}
    except ValueError as error:
        raise UsageError(f"the arguments are not JSON: {error}") from error
    if len(words) > 1 or not is_table(found):
        raise UsageError('write the arguments as one JSON object, such as \'{"path": "a"}\'')
    return found


def _add(paths: Paths, arguments: Arguments) -> int:
    """Add a server to the file of the user.

    Raises:
        UsageError: the server is not valid, or there is one of its name.
    """
    document = _read_own(paths)
    if arguments.id in document["mcpServers"]:
        raise UsageError(
            f"there is a server `{arguments.id}`; `yourtool mcp remove {arguments.id}` removes it"
        )
    first, *rest = arguments.words
    if first.startswith(("http://", "https://")):
        headers = _split_pairs("--header", arguments.header, ":")
        entry: dict[str, Any] = {"type": "http", "url": first}
        entry |= {"headers": headers} if headers else {}
    else:
        env = _split_pairs("--env", arguments.env, "=")
        entry = {"command": first, "args": rest} | ({"env": env} if env else {})
    document["mcpServers"][arguments.id] = entry
    _store_own(paths, document)
    if arguments.json:
        print_json({"name": arguments.id, "file": str(paths.mcp_servers)})
    else:
        print_lines(f"Added {arguments.id} to {paths.mcp_servers}.",
                    *([OUTSIDE] if "command" in entry else []),
                    f"`yourtool mcp show {arguments.id}` connects to it.")  # fmt: skip
    return ExitCode.ANSWERED


def _remove(paths: Paths, arguments: Arguments) -> int:
    """Remove a server from the file of the user, and its login.

    Raises:
        UsageError: it is not there.
    """
    document = _read_own(paths)
    others = document["mcpServers"]
    if (entry := others.pop(arguments.id, None)) is None:
        file = paths.mcp_servers
        raise UsageError(f"there is no server `{arguments.id}` in `{file}`")
    _store_own(paths, document)
    logins = Logins(paths.home / LOGINS_FILE)
    unused = _find_addresses({arguments.id: entry}) - _find_addresses(others)
    has_login = any(logins.forget(url) for url in unused)
    if arguments.json:
        print_json({"name": arguments.id, "removed": True})
    else:
        and_login = ", and its login" if has_login else ""
        print_lines(f"Removed {arguments.id} from {paths.mcp_servers}{and_login}.")
    return ExitCode.ANSWERED


def _find_addresses(entries: dict[str, Any]) -> set[str]:
    """Return the addresses of servers, except those with variables that are not set."""
    file = SettingsFile("", json.dumps({"mcpServers": entries}), "user")
    found = set[str]()
    for each in load_settings([file]).servers:
        with suppress(McpSettingsError):
            found.add(each.expand(each.url, os.environ))
    return found


def _read_own(paths: Paths) -> dict[str, Any]:
    """Return the file of the user.

    Raises:
        ConfigError: it is not an object with servers.
    """
    file = paths.mcp_servers
    try:
        found: Any = json.loads(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {"mcpServers": {}}
    except (OSError, ValueError) as error:
        raise ConfigError(f"`{file}` was not changed: {error}") from error
    if not is_table(found) or not is_table(found.setdefault("mcpServers", {})):
        raise ConfigError(f"`{file}` was not changed: `mcpServers` must be an object")
    return found


def _store_own(paths: Paths, document: dict[str, Any]) -> None:
    """Store the file of the user, with mode 0600: it can contain keys.

    Raises:
        ConfigError: a server is not valid, or the file cannot be written.
    """
    file, text = paths.mcp_servers, json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if problems := load_settings([SettingsFile(str(file), text, "user")]).problems:
        raise ConfigError(f"`{file}` was not changed: {problems[0]}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, text.encode())
    except OSError as error:
        raise ConfigError(f"`{file}` cannot be written: {error.strerror or error}") from error


def _split_pairs(option: str, values: tuple[str, ...], sign: str) -> dict[str, str]:
    """Return names and values of a repeated option.

    Raises:
        UsageError: a value has no sign between them.
    """
    pairs = [each.partition(sign) for each in values]
    if wrong := [name for name, found, _ in pairs if not (name.strip() and found)]:
        raise UsageError(f"`{option} {wrong[0]}`: write the name, `{sign}` and the value")
    return {name.strip(): value.strip() for name, _, value in pairs}
