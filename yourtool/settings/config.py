"""Settings as Structs and command-line options.

The precedence is option, environment variable, file, default; each value has its source. A mistake
in the file is a notice, and the start uses the other values; a mistake in the environment or an
option is an error. A file of the workspace never sets anything here.
"""

import os
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from yourtool.errors import ConfigError
from yourtool.models import CacheRetention, Effort
from yourtool.paths import Paths
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
from yourtool.settings.problems import Problem, is_restriction, read_settings
from yourtool.settings.sandbox_config import SandboxConfig
from yourtool.settings.shell_config import ShellConfig
from yourtool.settings.shown_values import format_value
from yourtool.settings.tables import (
    Fault,
    TableKey,
    build_tables,
    flatten,
    format_key,
    iter_leaves,
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
    names_workspace: bool = False  # a resumed session continues in it
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


_BUDGETS = BudgetConfig.__struct_fields__
_LEAST_BUDGET = Decimal("0.01")
"""US dollars; a budget with a mistake asks soon, because without one there would be no limit."""
_UNUSED = "It has no effect."


class ConfigReport(Struct, frozen=True):
    """The settings with their sources and mistakes."""

    config: Config
    """Built from the valid values only if there are problems."""
    settings: tuple[Setting, ...]
    problems: tuple[Problem, ...]
    text: str
    """The text of the file."""

    @property
    def hides_restriction(self) -> bool:
        """True if a mistake may hide a restriction, so that every call needs an approval."""
        return any(each.hides_restriction for each in self.problems)

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
    """Return the active settings as `load_usable` does."""
    return load_usable(paths, environ, options).config


def load_usable(
    paths: Paths,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ConfigReport:
    """Return what `load_report` does, checked with `require_usable`."""
    report = load_report(paths, environ, options)
    report.require_usable()
    return report


def load_report(
    paths: Paths,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ConfigReport:
    """Return the settings with their sources and mistakes; `options` maps dotted keys to values."""
    file = config_file(paths)
    text, values, problems = read_settings(file)
    found: dict[TableKey, tuple[Any, str]] = {}
    faults = list[tuple[TableKey, Fault, str]]()
    for key, outcome in iter_leaves(values, Config):
        if (fault := _find_fault(key, outcome)) is not None:
            faults.append((key, fault, str(file)))
            if (least := _find_least(key, fault)) is not None:
                found.setdefault(least, (_LEAST_BUDGET, str(file)))
        else:
            found[key] = outcome, str(file)
    for key, value, source in _overrides(os.environ if environ is None else environ, options or {}):
        [(_, outcome)] = iter_leaves(build_tables({key: value}), Config)
        is_option = source.startswith("option")
        fault = outcome if is_option else _find_fault(key, outcome)
        if isinstance(fault, Fault):
            faults.append((key, fault, source))
        else:
            found[key] = outcome, source
    config = msgspec.convert(
        build_tables({key: value for key, (value, _) in found.items()}), Config
    )
    used = dict(flatten(config))
    settings = tuple(
        Setting(key, value, found[key][1] if key in found else "default")
        for key, value in used.items()
    )
    problems += [_problem(key, fault, where, text, used) for key, fault, where in faults]
    return ConfigReport(config, settings, tuple(problems), text)


def validate(key: TableKey, value: Any) -> Any:
    """Return the value of a setting, converted to its type, or what is wrong with it as a `Fault`.

    A `Fault` also for a value that only an option can have.
    """
    [(_, outcome), *_] = iter_leaves(build_tables({key: value}), Config)
    fault = _find_fault(key, outcome)
    return outcome if fault is None else fault


def config_file(paths: Paths) -> Path:
    """Return the path of the user's settings."""
    return paths.home / "config.toml"


def _find_fault(key: TableKey, outcome: Any) -> Fault | None:
    """Return what is wrong with a value of a file or a variable; `auto` is for one run only."""
    if key == ("mode",) and outcome == Mode.AUTO:
        return Fault("`auto` is not a default: use `--mode auto`, or `/mode auto` in a session")
    if isinstance(outcome, Decimal) and (problem := find_amount_problem(outcome)):
        return Fault(problem)
    return outcome if isinstance(outcome, Fault) else None


def _find_least(key: TableKey, fault: Fault) -> TableKey | None:
    """Return the budget that a mistake may have been meant for."""
    name = fault.nearest or key[-1]
    return (key[0], name) if key[0] == "budget" and name in _BUDGETS else None


def _problem(
    key: TableKey, fault: Fault, where: str, text: str, used: Mapping[TableKey, Any]
) -> Problem:
    """Return a mistake with the value that applies instead; `used`: the active values."""
    problem = Problem(
        where=where, key=format_key(key), message=fault.message, nearest=fault.nearest
    )
    if problem.prevents_start:
        return problem
    meant = next((each for each in (key, (*key[:-1], fault.nearest or "")) if each in used), None)
    return replace(
        problem,
        line=line_of(text, key),
        outcome=_UNUSED if meant is None else _describe(meant, used[meant]),
        hides_restriction=is_restriction(f"{key[0]} {fault.nearest if len(key) == 1 else ''}"),
    )


def _describe(key: TableKey, value: Any) -> str:
    shown = "not set" if value is None else f"`{format_value(key, value)}`"
    return f"`{format_key(key)}` is {shown}."


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


def find_option_settings(options: RunOptions) -> dict[str, Any]:
    """Return the settings that options of the command line override, by key."""
    given = {
        "model": options.model,
        "mode": options.mode,
        "effort": options.effort,
        "limits.max_requests_per_turn": options.max_turns,
        "limits.max_cost_per_turn_usd": options.max_cost,
    }
    return {key: value for key, value in given.items() if value is not None}


OPTIONS: Mapping[str, str] = {
    "limits.max_requests_per_turn": "max-turns",
    "limits.max_cost_per_turn_usd": "max-cost",
}
"""Options whose name differs from the key that they set."""
