"""Parsing of a command line."""

from collections.abc import Sequence

from yourtool.cli.arguments import Arguments
from yourtool.cli.parser import build_parser, split_prompt
from yourtool.errors import UsageError
from yourtool.settings.config import Mode

_OF_COMMANDS = (
    "action",
    "json",
    "probe",
    "ask",
    "yes",
    "confirm",
    "id",
    "in_keychain",
    "file",
    "rule",
    "export_format",
    "redaction",
    "salt",
    "changed_file",
    "tool_failed",
    "until",
    "min_cost",
    "directory",
    "title",
    "force",
    "source",
    "at",
    "cost_by",
    "reprice",
    "as_model",
    "since",
    "prices_file",
    "models_file",
    "steps",
    "here_only",
    "workers",
    "shell",
)
"""Options of commands that are fields of `Arguments` under the same names."""


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
        **{name: options[name] for name in _OF_COMMANDS if name in options},
        words=tuple(options.get("words", ())),
        query=" ".join(options.get("query", ())),
        prompt=options.get("route_prompt", headless if word is None or headless is None else word),
        first_prompt=word or "" if headless is None else "",
        continue_last=options["continue_last"],
        resume=options["resume"],
        first_message=options["first_message"],
        model=options["model"],
        in_words=options["in_words"],
        mode=Mode(options["mode"]) if options["mode"] else None,
        allow=tuple(options["allow"]),
        deny=tuple(options["deny"]),
        no_sandbox=options["no_sandbox"],
        mcp_config=options["mcp_config"],
        env=tuple(options.get("env", ())),
        header=tuple(options.get("header", ())),
        workspace=options["cwd"],
        names_workspace=any(each.partition("=")[0] == "--cwd" for each in rest),
        add_dirs=tuple(options["add_dir"]),
        output_format=options["output_format"] or "text",
        max_turns=options["max_turns"],
        max_cost=options["max_cost"],
        attachments=tuple(options["attach"]),
        output_schema=options["output_schema"],
        effort=options["effort"],
        session_dir=options["session_dir"],
        no_color=options["no_color"],
        options=options if options.get("command") else {},
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
    if is_run and arguments.first_message and (not arguments.resume or arguments.prompt):
        raise UsageError("`--at MESSAGE` requires `--resume ID`, and the interface")
    if is_run and arguments.prompt is not None and arguments.resume == "":
        raise UsageError("`--resume` requires an id with `-p`; `yourtool sessions list` lists them")
