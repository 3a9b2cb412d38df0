"""Configured MCP servers.

    {"mcpServers": {"git": {"command": "mcp-server-git", "args": ["-r", "."]},
                    "docs": {"type": "http", "url": "https://example.org/mcp",
                             "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"}}}}

Other programs read the same files, so their fields are accepted. `${NAME}` and `${NAME:-default}`
are replaced by environment variables when a server starts, never in what is shown or stored.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from yourtool.effects import SideEffects
from yourtool.errors import UsageError
from yourtool.foundation.suggestions import find_closest
from yourtool.settings.problems import Problem
from yourtool.settings.sandbox_config import HostSpec
from yourtool.settings.tables import is_table

PROJECT_FILE = ".mcp.json"
CALL_SECONDS = 300.0
_MAX_NAME_LENGTH = 64
_MAX_SERVERS = 100
_COLON = re.compile(r"[ \t\r\n]*:")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,99})(?::-([^}]{0,400}))?\}")

Source: TypeAlias = Literal["option", "user", "project"]
Transport: TypeAlias = Literal["stdio", "http"]
SOURCES: tuple[Source, ...] = ("option", "user", "project")
"""In order of precedence."""

_TEXTS = frozenset({"command", "url", "type"})
_MAPS = frozenset({"env", "headers", "oauth"})
_LISTS = frozenset({"args", "disabledTools", "hosts"})
_OWN = frozenset({"effects", "toolEffects", "sandbox", "oauth"})
"""Fields that a file of a project cannot set, because they give a server more."""
_FLAGS = frozenset({"disabled", "sandbox"})
_KEYS = (*sorted(_TEXTS | _MAPS | _LISTS | _OWN | _FLAGS), "timeoutSeconds")
_NEEDED = _TEXTS | {"args", "env", "headers"}
"""Fields without which another program would be started."""
_OAUTH_SECRETS = ("clientSecret", "privateKey")
_OAUTH_NEEDED = ("clientId", "issuer")
_OAUTH_IDENTITY = ("identityToken", "identityEndpoint", "identityClientId")
"""Fields of a login with a token of the user's identity provider: all of them or none."""
_OAUTH_KEYS = (*_OAUTH_NEEDED, *_OAUTH_SECRETS, *_OAUTH_IDENTITY)
_LOCAL = ("http://localhost:", "http://127.0.0.1:")
_FOREIGN = frozenset({"alwaysAllow", "autoApprove", "trust"})
"""Fields with which other programs allow calls."""


class McpSettingsError(UsageError):
    """A server cannot be started with its settings."""


class SettingsFile(Struct, frozen=True):
    """A file with servers."""

    name: str
    """For messages and as identity: an absolute path."""
    text: str
    source: Source


class ServerSettings(Struct, frozen=True, kw_only=True):
    """One configured server, with variables not replaced."""

    name: str
    file: str
    source: Source
    line: int = 1
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    oauth: Mapping[str, str] = {}
    """With what the program logs in without the user; empty: the user logs in."""
    disabled: bool = False
    disabled_tools: tuple[str, ...] = ()
    effects: SideEffects = SideEffects.NETWORK
    tool_effects: Mapping[str, SideEffects] = {}
    sandbox: bool | None = None
    """The user's choice; None: one of a project, or one that models can change."""
    hosts: tuple[str, ...] = ()
    """Hosts that it can reach from the sandbox."""
    timeout_seconds: float = CALL_SECONDS

    @property
    def place(self) -> str:
        """Where the server is configured."""
        return f"{self.file}:{self.line}"

    @property
    def definition(self) -> str:
        """What would be started or connected to, as indented JSON, for the user and the hash."""
        shown: dict[str, Any] = (
            {"url": self.url, "headers": dict(self.headers)}
            | ({"oauth": dict(self.oauth)} if self.oauth else {})
            if self.transport == "http"
            else {"command": self.command, "args": list(self.args), "env": dict(self.env)}
            | ({"hosts": list(self.hosts)} if self.hosts else {})
        )
        return json.dumps(shown, indent=2, ensure_ascii=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the definition."""
        return hashlib.sha256(self.definition.encode("utf-8", "replace")).hexdigest()

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that the server gets."""
        return tuple(dict.fromkeys(found[1] for found in _VARIABLE.finditer(self.definition)))

    def has_tool(self, name: str) -> bool:
        """Whether a tool of the server is switched on."""
        return name not in self.disabled_tools

    def get_effects(self, tool: str) -> SideEffects:
        """Return the effect of a tool: `network` unless the user chose another one."""
        return self.tool_effects.get(tool, self.effects)

    def expand(self, text: str, environ: Mapping[str, str]) -> str:
        """Return a text of the settings with its variables replaced.

        Raises:
            McpSettingsError: a variable is not set and has no default.
        """

        def get_value(match: re.Match[str]) -> str:
            found = environ.get(match[1]) or match[2]
            if found is None:
                raise McpSettingsError(
                    f"{self.place}: `{match[0]}` is not set; set `{match[1]}`, or write a default"
                    f" as `${{{match[1]}:-value}}`"
                )
            return found

        return _VARIABLE.sub(get_value, text)


class LoadedSettings(Struct, frozen=True):
    """The servers of all files."""

    servers: tuple[ServerSettings, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_settings(files: Iterable[SettingsFile]) -> LoadedSettings:
    """Return the servers of files; of several with one name, the one of the first source."""
    found, problems = dict[str, ServerSettings](), list[Problem]()
    for file in sorted(files, key=lambda each: SOURCES.index(each.source)):
        reader = _Reader(file, problems)
        for server in reader.read():
            if (first := found.get(server.name)) is not None:
                message = f"is not used: {first.place} has a server of the same name"
                reader.report(server.name, "", message)
            elif len(found) < _MAX_SERVERS:
                found[server.name] = server
            else:
                reader.report(server.name, "", f"is not used: there are over {_MAX_SERVERS}")
    return LoadedSettings(tuple(found.values()), tuple(problems))


def read_file(path: Path, source: Source) -> SettingsFile | None:
    """Return a file of the user; None if it does not exist.

    Raises:
        McpSettingsError: it cannot be read.
    """
    try:
        return SettingsFile(str(path), path.read_text("utf-8-sig", "replace"), source)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise McpSettingsError(f"`{path}` cannot be read: {error.strerror or error}") from error


class _DuplicateError(ValueError):
    """An object has a name twice."""


class _Reader:
    """Reads the servers of one file, and reports its mistakes."""

    def __init__(self, file: SettingsFile, problems: list[Problem]) -> None:
        self._file = file
        self._problems = problems

    def read(self) -> list[ServerSettings]:
        """Return the servers without mistakes that prevent a start."""
        try:
            document: Any = json.loads(self._file.text, object_pairs_hook=_build_object)
        except json.JSONDecodeError as error:
            self._add(error.lineno, "", f"not JSON: {error.msg}")
            return []
        except (ValueError, RecursionError) as error:
            self._add(1, "", f"not JSON: {error}")
            return []
        servers = document.get("mcpServers") if is_table(document) else None
        if not is_table(servers):
            self._add(1, "mcpServers", "must be an object of servers by their names")
            return []
        built = (self._build(name, entry) for name, entry in servers.items())
        return [each for each in built if each is not None]

    def report(self, server: str, key: str, message: str, nearest: str | None = None) -> None:
        """Add a mistake in a server, or in one of its fields."""
        path = f"mcpServers.{server}" + (f".{key}" if key else "")
        self._add(self._find_line(server, key), path, message, nearest)

    def _add(self, line: int, key: str, message: str, nearest: str | None = None) -> None:
        self._problems.append(
            Problem(where=self._file.name, line=line, key=key, message=message, nearest=nearest)
        )

    def _find_line(self, server: str, key: str) -> int:
        """Return the line of a server or of a field, as the names first occur."""
        text, at = self._file.text, 0
        for name in filter(None, ("mcpServers", server, key)):
            quoted = json.dumps(name, ensure_ascii=False)
            found = text.find(quoted, at)
            while found >= 0 and not _COLON.match(text, found + len(quoted)):
                found = text.find(quoted, found + 1)
            at = max(at, found + 1)
        return text.count("\n", 0, at) + 1

    def _build(self, name: str, entry: Any) -> ServerSettings | None:
        if not name.strip() or len(name) > _MAX_NAME_LENGTH or not name.isprintable():
            self.report(name, "", f"a name has 1 to {_MAX_NAME_LENGTH} printable characters")
            return None
        if not is_table(entry):
            self.report(name, "", "must be an object with a `command` or a `url`")
            return None
        fields = {key: value for key, value in entry.items() if self._accepts(name, key, value)}
        if (transport := self._find_transport(name, fields)) is None:
            return None
        if any(key in _NEEDED and key not in fields for key in entry):
            return None  # what would be started is not what the file intends
        effects = self._find_effects(name, fields)
        return ServerSettings(
            name=name,
            file=self._file.name,
            source=self._file.source,
            line=self._find_line(name, ""),
            transport=transport,
            command=fields.get("command", ""),
            args=tuple(fields.get("args", ())),
            env=fields.get("env", {}),
            url=fields.get("url", ""),
            headers=fields.get("headers", {}),
            oauth=fields.get("oauth", {}),
            disabled=fields.get("disabled", False),
            disabled_tools=tuple(fields.get("disabledTools", ())),
            effects=effects.pop("", SideEffects.NETWORK),
            tool_effects=effects,
            sandbox=fields.get("sandbox"),
            hosts=tuple(fields.get("hosts", ())),
            timeout_seconds=float(fields.get("timeoutSeconds", CALL_SECONDS)),
        )

    def _accepts(self, server: str, key: str, value: Any) -> bool:
        """Whether a field is used; reports why if it is not."""
        if key in _FOREIGN:
            message = "is ignored: rules of `permissions.toml` allow calls"
        elif key not in _KEYS:
            self.report(server, key, "there is no such field", find_closest(key, _KEYS))
            return False
        elif key in _OWN and self._file.source == "project":
            message = "is ignored: only your own `mcp.json` can set it"
        elif (kind := _find_kind_problem(key, value)) is not None:
            message = kind
        else:
            return True
        self.report(server, key, message)
        return False

    def _find_transport(self, name: str, fields: Mapping[str, Any]) -> Transport | None:
        kind = fields.get("type") or ("http" if "url" in fields else "stdio")
        match kind:
            case "stdio" if fields.get("command", "").strip():
                return "stdio"
            case "stdio":
                self.report(name, "", "needs a `command`, or a `url`")
            case "http" | "streamable-http" | "streamableHttp":
                if str(fields.get("url", "")).startswith(("https://", "http://", "${")):
                    return "http"
                self.report(name, "url", "needs an address that starts with `https://`")
            case "sse":
                message = "is not supported: use the server's address for `http`"
                self.report(name, "type", message)
            case _:
                known = ("stdio", "http")
                message = f"there is no type `{kind}`; use `stdio` or `http`"
                self.report(name, "type", message, find_closest(str(kind), known))
        return None

    def _find_effects(self, name: str, fields: Mapping[str, Any]) -> dict[str, SideEffects]:
        """Return the effects that the user chose, by the name of the tool; empty: all others."""
        chosen: dict[str, Any] = dict(fields.get("toolEffects", {}))
        if "effects" in fields:
            chosen[""] = fields["effects"]
        found = dict[str, SideEffects]()
        for tool, written in chosen.items():
            try:
                found[tool] = msgspec.convert(written, SideEffects)
            except msgspec.ValidationError:
                names = ", ".join(f"`{each.value}`" for each in SideEffects)
                key = f"toolEffects.{tool}" if tool else "effects"
                self.report(name, key, f"must be one of {names}")
        return found


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict[str, Any]()
    for name, value in pairs:
        if name in found:
            raise _DuplicateError(f"`{name}` occurs twice in one object")
        found[name] = value
    return found


def _find_kind_problem(key: str, value: Any) -> str | None:
    """Return why a value is not of the kind that its field needs, or None."""
    if key in _FLAGS:
        return None if isinstance(value, bool) else "must be `true` or `false`"
    if key in _LISTS:
        if not _is_texts(value):
            return "must be a list of texts"
        return _find_host_problem(value) if key == "hosts" else None
    if key in _MAPS:
        if not is_table(value) or not _is_texts(list(value.values())):
            return "must be an object of texts"
        return _find_oauth_problem(value) if key == "oauth" else None
    if key == "timeoutSeconds":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        usable = is_number and math.isfinite(value) and 0 < value <= 3_600
        return None if usable else "must be a number of seconds, at most 3600"
    if key == "toolEffects":
        return None if is_table(value) else "must be an object of effects by the names of tools"
    return None if isinstance(value, str) else "must be a text"


def _find_host_problem(value: list[str]) -> str | None:
    """Return why a server cannot reach these hosts, or None."""
    try:
        msgspec.convert(value, tuple[HostSpec, ...])
    except msgspec.ValidationError:
        return "must be a list of hosts such as `example.org`, `*.example.org`"
    return None


def _find_oauth_problem(value: dict[str, Any]) -> str | None:
    """Return why the program cannot log in with these settings, or None."""
    if unknown := [each for each in value if each not in _OAUTH_KEYS]:
        return f"has no field `{unknown[0]}`; its fields are {', '.join(_OAUTH_KEYS)}"
    if missing := [each for each in _OAUTH_NEEDED if not value.get(each)]:
        return f"needs `{missing[0]}`"
    secrets = [each for each in _OAUTH_SECRETS if each in value]
    if len(secrets) != 1:
        return "needs either `clientSecret` or `privateKey`"
    if not _VARIABLE.fullmatch(value[secrets[0]]):
        return f"needs a variable such as `${{DOCS_SECRET}}` as its `{secrets[0]}`"
    return _find_identity_problem(value)


def _find_identity_problem(oauth: dict[str, Any]) -> str | None:
    """Return why a token of an identity provider cannot be used, or None."""
    given = [each for each in _OAUTH_IDENTITY if oauth.get(each)]
    if not given:
        return None
    if missing := [each for each in (*_OAUTH_IDENTITY, "clientSecret") if each not in oauth]:
        return f"with `{given[0]}` also needs `{missing[0]}`"
    if not _VARIABLE.fullmatch(oauth["identityToken"]):
        return "needs a variable such as `${ID_TOKEN}` as its `identityToken`"
    if not oauth["identityEndpoint"].startswith(("https://", *_LOCAL)):
        return "needs an `identityEndpoint` that starts with `https://`"
    return None


def _is_texts(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(each, str) and "\0" not in each for each in cast("list[Any]", value))
