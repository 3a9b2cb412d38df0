"""The command line as a Struct."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Literal

from msgspec import Struct

from yourtool.models import Effort
from yourtool.settings.config import Mode, RunOptions


class Arguments(Struct, frozen=True, kw_only=True):
    """A parsed command line; the defaults apply to an empty command line."""

    command: str = ""
    """Empty for a run, in the interface or with `-p`."""
    action: str = ""
    """The action of a command, such as `list` in `sessions list`."""
    json: bool = False
    probe: bool = False
    """`models --probe`: query the providers and the usual local ports."""
    ask: bool = False
    """`models --probe --ask`: send test requests to models."""
    yes: bool = False
    """Without a question: `models --yes` tests models, `sessions export --yes` replaces secrets,
    `sessions delete --yes` and `prune --yes` delete sessions."""
    confirm: bool = False
    """`sessions forget --confirm`: change the stored messages."""
    id: str = ""
    words: tuple[str, ...] = ()
    """The words after `trust`, after `models`, after the action of `auth`, or after a server of
    `mcp`."""
    in_keychain: bool = False
    """`auth set --keychain`."""
    query: str = ""
    """The words of `sessions search`, or the command of `permissions check`."""
    file: Path | None = None
    """File of `sessions export` or `import`; None or `-`: standard output or input.

    The rules of `permissions replay --with` (None: those of the user), or of `route replay --with`
    (None: the stored ones).
    """
    rule: str = ""
    """The rule of `permissions remove`, or its line."""
    export_format: Literal["markdown", "html", "jsonl", "pi", "bundle"] | None = None
    """Format of `sessions export`; None: derived from the file name."""
    redaction: Literal["passthrough", "pseudonymize", "redact_private", "aggregate_only"] = (
        "passthrough"
    )
    """`sessions export --redact`."""
    salt: str = ""
    """`sessions export --salt`."""
    title: str = ""
    """The title of `sessions rename`."""
    force: bool = False
    """`sessions export --force`: overwrite an existing file."""
    source: str = ""
    """File or session id of `sessions replay`, or the user of `sessions forget`."""
    cost_by: Literal["model", "day", "session", "role", "bucket"] = "model"
    """`cost --by`."""
    reprice: str | None = None
    """`cost --reprice`: a stored price table or a file; empty: the prices of today."""
    as_model: str | None = None
    """`cost --as-model`."""
    since: str = ""
    """Of `cost`, `route replay`, `sessions search`: a date, a time, or `7d`; empty: everything."""
    prices_file: Path | None = None
    """`route replay --prices`."""
    models_file: Path | None = None
    """`route replay --models`."""
    until: str = ""
    """`sessions search --until`, as `since`."""
    changed_file: str = ""
    """`sessions search --file`."""
    tool_failed: bool = False
    """`sessions search --tool-failed`."""
    min_cost: Decimal | None = None
    """`sessions search --min-cost`."""
    directory: Path | None = None
    """`sessions search --dir`."""
    at: str | None = None
    """Message id of `sessions fork --at`, or the number of an entry of `sessions tree --at`."""
    steps: bool = False
    """`sessions tree --steps`: also calls and results."""
    here_only: bool = False
    """`sessions list --here` and `search --here`: only sessions of the workspace."""
    workers: bool = False
    """`sessions list --workers`: also sessions of delegated tasks."""
    shell: str | None = None
    """The shell of `completion`; None: the one that `SHELL` names."""
    prompt: str | None = None
    """Prompt of `-p` (None: interface; empty: standard input only) or of `route`."""
    first_prompt: str = ""
    """The prompt that the interface sends when it has opened."""
    continue_last: bool = False
    """`--continue`."""
    resume: str | None = None
    """Session id of `--resume`; empty: pick a session from a list."""
    first_message: str = ""
    """`--at`: the message that the interface shows first."""
    model: str | None = None
    in_words: bool = False
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    no_sandbox: bool = False
    mcp_config: Path | None = None
    """`--mcp-config`: a file with further MCP servers."""
    env: tuple[str, ...] = ()
    """`mcp add --env`: `NAME=VALUE`."""
    header: tuple[str, ...] = ()
    """`mcp add --header`: `NAME: VALUE`."""
    workspace: Path
    names_workspace: bool = False
    """True if `--cwd` names the workspace."""
    add_dirs: tuple[Path, ...] = ()
    output_format: str = "text"
    max_turns: int | None = None
    max_cost: Decimal | None = None
    attachments: tuple[str, ...] = ()
    output_schema: Path | None = None
    effort: Effort | None = None
    session_dir: str | None = None
    no_color: bool = False
    options: Mapping[str, object] = {}
    """All options of a command as they were parsed; those of extensions have no field."""


def build_run_options(arguments: Arguments, *, interactive: bool) -> RunOptions:
    """Return the options of a run, with a user or without one."""
    return RunOptions(
        workspace=arguments.workspace,
        names_workspace=arguments.names_workspace,
        model=arguments.model,
        use_placeholders=arguments.in_words,
        mode=arguments.mode,
        allow=arguments.allow,
        deny=arguments.deny,
        no_sandbox=arguments.no_sandbox,
        add_dirs=arguments.add_dirs,
        mcp_config=arguments.mcp_config,
        max_turns=arguments.max_turns,
        max_cost=arguments.max_cost,
        effort=arguments.effort,
        attachments=arguments.attachments,
        interactive=interactive,
    )
