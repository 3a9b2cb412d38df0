"""Settings as Structs and command-line options.

The precedence is option, environment variable, file, default; each value has its source. An unknown
key is an error. A file of the workspace never sets anything here.
"""

import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from yourtool.errors import ConfigError
from yourtool.foundation.files import path_exists
from yourtool.models import CacheRetention, Effort
from yourtool.paths import Paths, shipped_directory
from yourtool.settings.agent_config import (
    Agents,
    BudgetConfig,
    CheckConfig,
    ContextConfig,
    DelegationConfig,
    FallbackConfig,
    Limits,
    RoutingConfig,
    SessionsConfig,
    UndoConfig,
    WorkspaceConfig,
    find_amount_problem,
)
from yourtool.settings.hook_config import HookConfig
from yourtool.settings.sandbox_config import SandboxConfig
from yourtool.settings.shell_config import ShellConfig
from yourtool.settings.tables import (
    Fault,
    TableKey,
    build_tables,
    flatten,
    format_key,
    iter_leaves,
    parse_toml,
)
from yourtool.settings.toml_places import line_of
from yourtool.settings.ui_config import UiConfig

Api: TypeAlias = Literal["messages", "chat", "responses", "generate-content", "ollama"]
"""The API of a server; each has a package in `providers/dialects`."""
ThinkingOnSwap: TypeAlias = Literal["drop", "text"]
"""Whether another model's reasoning is dropped or sent as text after a swap."""

AUTO_THEME = "auto"
"""The theme that depends on the background of the terminal."""


class Mode(StrEnum):
    """The approval mode: which tool calls need an approval."""

    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    AUTO = "auto"


class ProviderConfig(Struct, frozen=True):
    """A provider of the user, or changes to a built-in one."""

    api: Annotated[
        Api | None,
        Meta(
            description="The API of the server; `docs/providers.md` lists those of providers.",
            examples=["chat"],
        ),
    ] = None
    base_url: Annotated[
        str | None,
        Meta(
            description="The base URL, to which the paths of the API are appended.",
            examples=["http://127.0.0.1:8080/v1"],
        ),
    ] = None
    key_env: Annotated[
        str | None,
        Meta(description="The environment variable with the API key.", examples=["MY_SERVER_KEY"]),
    ] = None
    sdk: Annotated[
        bool, Meta(description="Use the provider's own library, which supports other logins.")
    ] = False
    headers: Annotated[
        dict[str, str], Meta(description="Additional request headers; never shown.")
    ] = {}
    quirks: Annotated[
        dict[str, bool | str], Meta(description="Deviations from the API, by name.")
    ] = {}


class Config(Struct, frozen=True):
    """All settings; the table in `docs/configuration.md` is generated from them."""

    model: Annotated[
        str, Meta(description="The default model; empty: that of the first provider with a key.")
    ] = ""
    theme: Annotated[
        str,
        Meta(
            description="The name of a theme, which `/theme` lists, or `auto`: `dark` or `light`,"
            " like the background of the terminal."
        ),
    ] = AUTO_THEME
    mode: Annotated[
        Mode,
        Meta(description="Approval mode: `ask`, `accept-edits`, `plan`; `auto` only by `--mode`."),
    ] = Mode.ASK
    effort: Annotated[
        Effort | None,
        Meta(
            description="The reasoning effort: `off`, `minimal`, `low`, `medium`, `high`,"
            " `xhigh` or `max`.",
            examples=["high"],
        ),
    ] = None
    cache_retention: Annotated[
        CacheRetention,
        Meta(
            description="How long providers cache the beginning of a conversation: `none`, `short`"
            " (minutes) or `long` (an hour or more; costs more; only on the providers' own"
            " hosts)."
        ),
    ] = "short"
    thinking_on_swap: Annotated[
        ThinkingOnSwap,
        Meta(description="Another model's reasoning after a swap: dropped, or sent as text."),
    ] = "drop"
    workspaces: Annotated[
        dict[str, WorkspaceConfig],
        Meta(description="Settings by path of a directory.", examples=["/home/me/project"]),
    ] = {}
    limits: Limits = Limits()
    budget: BudgetConfig = BudgetConfig()
    context: ContextConfig = ContextConfig()
    fallback: FallbackConfig = FallbackConfig()
    routing: RoutingConfig = RoutingConfig()
    delegation: DelegationConfig = DelegationConfig()
    sessions: SessionsConfig = SessionsConfig()
    undo: UndoConfig = UndoConfig()
    sandbox: SandboxConfig = SandboxConfig()
    shell: ShellConfig = ShellConfig()
    checks: Annotated[
        dict[str, CheckConfig],
        Meta(description="Commands that run after edits, by name, in order.", examples=["format"]),
    ] = {}
    hooks: Annotated[
        tuple[HookConfig, ...],
        Meta(description="Commands that run at events of a session; `docs/hooks.md`."),
    ] = ()
    providers: Annotated[
        dict[str, ProviderConfig], Meta(description="Providers by name.", examples=["my-server"])
    ] = {}
    agents: Agents = {}
    ui: UiConfig = UiConfig()


ENVIRONMENT: Mapping[str, TableKey] = {
    "YOURTOOL_MODEL": ("model",),
    "YOURTOOL_THEME": ("theme",),
    "YOURTOOL_MODE": ("mode",),
    "YOURTOOL_EFFORT": ("effort",),
    "YOURTOOL_SANDBOX_ENABLED": ("sandbox", "enabled"),
}
"""Environment variables and the keys that they set; empty variables are ignored."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of the command line, which apply to every session of the run."""

    workspace: Path
    names_workspace: bool = False  # so that a resumed session goes on in it
    model: str | None = None
    use_placeholders: bool = False
    """Whether `model` gets placeholders for stored media that it does not support."""
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    no_sandbox: bool = False
    """Whether commands of models run without the sandbox, despite the settings."""
    add_dirs: tuple[Path, ...] = ()
    mcp_config: Path | None = None
    """A file with further MCP servers."""
    max_turns: int | None = None
    max_cost: Decimal | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the final reply of every turn."""
    attachments: tuple[str, ...] = ()
    """Files and URLs for the first prompt."""
    interactive: bool = True


class Setting(Struct, frozen=True):
    """One active value."""

    key: TableKey
    value: Any
    source: str
    """`default`, `option --model`, `environment YOURTOOL_MODEL` or the file."""


_MAX_FILE_BYTES = 256 * 1024  # larger files take too long to parse


class Problem(Struct, frozen=True, kw_only=True):
    """One mistake in the settings."""

    where: str
    """A file, an option or a variable."""
    line: int | None = None
    key: str = ""
    message: str
    nearest: str | None = None
    """The key or value that was probably meant."""

    @property
    def prevents_start(self) -> bool:
        """Whether the program does not start; without valid keys it uses the default keys."""
        return self.key not in ("ui.keymap", "ui.keys")

    def __str__(self) -> str:
        place = self.where if self.line is None else f"{self.where}:{self.line}"
        key = f" `{self.key}`:" if self.key else ""
        hint = f"; did you mean `{self.nearest}`?" if self.nearest else ""
        return f"{place}:{key} {self.message}{hint}"


class ConfigReport(Struct, frozen=True):
    """The settings with their sources and mistakes."""

    config: Config
    """Built from the valid values only if there are problems."""
    settings: tuple[Setting, ...]
    problems: tuple[Problem, ...]
    text: str
    """The text of the file."""

    def require_usable(self) -> None:
        """Check that no mistake prevents the start.

        Raises:
            ConfigError: with the file, line, key and nearest key of the first problem.
        """
        if problems := [each for each in self.problems if each.prevents_start]:
            first, *more = problems
            tail = f"\n{len(more)} more: `yourtool config check` lists them" if more else ""
            raise ConfigError(f"{first}{tail}")


def load_config(
    paths: Paths,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Config:
    """Return the active settings as `load_report` does, checked with `require_usable`."""
    report = load_report(paths, environ, options)
    report.require_usable()
    return report.config


def load_report(
    paths: Paths,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ConfigReport:
    """Return the settings with their sources and mistakes; `options` maps dotted keys to values."""
    file = config_file(paths)
    text, values, problems = _read(file)
    found: dict[TableKey, tuple[Any, str]] = {}
    for key, outcome in iter_leaves(values, Config):
        if (fault := _find_fault(key, outcome)) is not None:
            problems.append(_problem(fault, str(file), line_of(text, key), key))
        else:
            found[key] = outcome, str(file)
    for key, value, source in _overrides(os.environ if environ is None else environ, options or {}):
        [(_, outcome)] = iter_leaves(build_tables({key: value}), Config)
        is_option = source.startswith("option")
        fault = outcome if is_option else _find_fault(key, outcome)
        if isinstance(fault, Fault):
            problems.append(_problem(fault, source, None, key))
        else:
            found[key] = outcome, source
    config = msgspec.convert(
        build_tables({key: value for key, (value, _) in found.items()}), Config
    )
    settings = tuple(
        Setting(key, value, found[key][1] if key in found else "default")
        for key, value in flatten(config)
    )
    return ConfigReport(config, settings, tuple(problems), text)


def config_file(paths: Paths) -> Path:
    """Return the path of the user's settings."""
    return paths.home / "config.toml"


def install_defaults(paths: Paths) -> None:
    """Create the user's directories and files on the first run; nothing is ever overwritten.

    `paths.require_data_directory` creates the directory of the sessions, with its own error.
    Only the comments at the head of each template are copied, never its values: a copy of
    today's prices would hide tomorrow's.

    Raises:
        ConfigError: the directory cannot be written.
    """
    if path_exists(config_file(paths)):
        return
    try:
        for directory in (paths.home, paths.state, paths.cache):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for template in sorted(shipped_directory("config").glob("*.toml")):
            _create(paths.home / template.name, _comments_of(template))
    except OSError as error:
        raise ConfigError(
            f"{paths.home}: {error.strerror}; set `YOURTOOL_HOME` to a directory you can write"
        ) from error


def _comments_of(template: Path) -> str:
    lines = template.read_text("utf-8").splitlines(keepends=True)
    return "".join(takewhile(lambda line: line.isspace() or line.startswith("#"), lines))


def _create(path: Path, content: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)


def _find_fault(key: TableKey, outcome: Any) -> Fault | None:
    """Return what is wrong with a value of a file or a variable; `auto` is for one run only."""
    if key == ("mode",) and outcome == Mode.AUTO:
        return Fault("`auto` is not a default: use `--mode auto`, or `/mode auto` in a session")
    if isinstance(outcome, Decimal) and (problem := find_amount_problem(outcome)):
        return Fault(problem)
    return outcome if isinstance(outcome, Fault) else None


def _problem(fault: Fault, where: str, line: int | None, key: TableKey) -> Problem:
    return Problem(
        where=where, line=line, key=format_key(key), message=fault.message, nearest=fault.nearest
    )


def _read(file: Path) -> tuple[str, dict[str, Any], list[Problem]]:
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            problem = f"it is larger than {_MAX_FILE_BYTES // 1024} KiB; move it away"
            return "", {}, [Problem(where=str(file), message=problem)]
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return "", {}, []
    except OSError as error:
        return "", {}, [Problem(where=str(file), message=str(error.strerror))]
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8; save the file as UTF-8"
        return "", {}, [Problem(where=str(file), message=problem)]
    try:
        return text, parse_toml(text), []
    except ValueError as error:
        message, _, place = str(error).partition(" (at ")
        position = re.match(r"line (\d+)", place)
        last_line = len(text.splitlines()) if place else None
        line = int(position[1]) if position else last_line
        return "", {}, [Problem(where=str(file), line=line, message=f"not TOML: {message}")]


def _overrides(
    environ: Mapping[str, str], options: Mapping[str, Any]
) -> Iterator[tuple[TableKey, Any, str]]:
    for name, key in ENVIRONMENT.items():
        if environ.get(name):
            value = environ[name]
            yield key, {"true": True, "false": False}.get(value, value), f"environment {name}"
    for name, value in options.items():
        key = tuple(name.split("."))
        yield key, value, f"option --{OPTIONS.get(name, name)}"


OPTIONS: Mapping[str, str] = {
    "limits.max_requests_per_turn": "max-turns",
    "limits.max_cost_per_turn_usd": "max-cost",
}
"""Options whose name differs from the key that they set."""
