"""The command line as a Struct."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Literal

from msgspec import Struct

from yourtool.cli.parser import build_parser, split_prompt
from yourtool.config import Mode
from yourtool.errors import UsageError
from yourtool.models import Effort


class Arguments(Struct, frozen=True, kw_only=True):
    """A parsed command line; the defaults apply to an empty command line."""

    command: str = ""
    """Empty for a run, in the interface or with `-p`."""
    action: str = ""
    """The action of a command, such as `list` in `sessions list`."""
    json: bool = False
    probe: bool = False
    """`models --probe`: query the providers and the usual local ports."""
    id: str = ""
    words: tuple[str, ...] = ()
    """The words after `trust`, or after the action of `auth`."""
    in_keychain: bool = False
    """`auth set --keychain`."""
    query: str = ""
    """The words of `sessions search`, or the command of `permissions check`."""
    file: Path | None = None
    """File of `sessions export` or `import`; None or `-`: standard output or input.

    The rules of `permissions replay --with`; None: those of the user.
    """
    rule: str = ""
    """The rule of `permissions remove`, or its line."""
    export_format: Literal["markdown", "jsonl"] | None = None
    """Format of `sessions export`; None: derived from the file name."""
    title: str = ""
    """The title of `sessions rename`."""
    force: bool = False
    """`sessions export --force`: overwrite an existing file."""
    source: str = ""
    """File or session id of `sessions replay`."""
    fix: bool = False
    """`sessions check --fix`: store what is sound as a new session."""
    at: str | None = None
    """Message id of `sessions fork --at`, or the number of an entry of `sessions tree --at`."""
    steps: bool = False
    """`sessions tree --steps`: also calls and results."""
    here_only: bool = False
    """`sessions list --here` and `search --here`: only sessions of the workspace."""
    workers: bool = False
    """`sessions list --workers`: also sessions of delegated tasks."""
    prompt: str | None = None
    """Prompt of `-p` (None: interface; empty: standard input only) or of `route`."""
    first_prompt: str = ""
    """The prompt that the interface sends when it has opened."""
    continue_last: bool = False
    """`--continue`."""
    resume: str | None = None
    """Session id of `--resume`; empty: pick a session from a list."""
    model: str | None = None
    in_words: bool = False
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    workspace: Path
    add_dirs: tuple[Path, ...] = ()
    output_format: str = "text"
    max_turns: int | None = None
    max_cost: Decimal | None = None
    attachments: tuple[str, ...] = ()
    output_schema: Path | None = None
    effort: Effort | None = None
    session_dir: str | None = None
    no_color: bool = False


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse a command line; `--help` and `--version` print and exit.

    Raises:
        UsageError: an argument is invalid.
    """
    rest, word = split_prompt(argv)
    options = vars(build_parser(rest).parse_args(rest))
    headless = options["prompt"]
    if word is not None and options.get("command"):
        raise UsageError(f"`{options['command']}` takes no prompt; quote a prompt of several words")
    if word is not None and headless:
        raise UsageError("there are two prompts, one of them after `-p`; quote the prompt")
    arguments = Arguments(
        command=options.get("command") or "",
        action=options.get("action", ""),
        json=options.get("json", False),
        probe=options.get("probe", False),
        id=options.get("id", ""),
        in_keychain=options.get("in_keychain", False),
        words=tuple(options.get("words", ())),
        query=" ".join(options.get("query", ())),
        file=options.get("file"),
        rule=options.get("rule", ""),
        export_format=options.get("export_format"),
        title=options.get("title", ""),
        force=options.get("force", False),
        source=options.get("source", ""),
        fix=options.get("fix", False),
        at=options.get("at"),
        here_only=options.get("here_only", False),
        workers=options.get("workers", False),
        prompt=options.get("route_prompt", headless if word is None or headless is None else word),
        first_prompt=word or "" if headless is None else "",
        continue_last=options["continue_last"],
        resume=options["resume"],
        model=options["model"],
        in_words=options["in_words"],
        mode=Mode(options["mode"]) if options["mode"] else None,
        allow=tuple(options["allow"]),
        deny=tuple(options["deny"]),
        workspace=options["cwd"],
        add_dirs=tuple(options["add_dir"]),
        output_format=options["output_format"] or "text",
        max_turns=options["max_turns"],
        max_cost=options["max_cost"],
        attachments=tuple(options["attach"]),
        output_schema=options["output_schema"],
        effort=options["effort"],
        session_dir=options["session_dir"],
        no_color=options["no_color"],
    )
    _reject_conflicts(arguments, formatted=options["output_format"] is not None)
    return arguments


def _reject_conflicts(arguments: Arguments, *, formatted: bool) -> None:
    is_run = not arguments.command
    if arguments.continue_last and arguments.resume is not None:
        raise UsageError("`--continue` and `--resume` cannot be combined; `--resume ID` is enough")
    if is_run and arguments.prompt is None and formatted:
        raise UsageError("`--output-format` requires `-p`")
    if is_run and arguments.prompt is None and arguments.output_schema is not None:
        raise UsageError("`--output-schema` requires `-p`")
    if arguments.in_words and arguments.model is None:
        raise UsageError("`--in-words` requires `--model`, the model to switch to")
    if is_run and arguments.prompt is not None and arguments.resume == "":
        raise UsageError("`--resume` requires an id with `-p`; `yourtool sessions list` lists them")
