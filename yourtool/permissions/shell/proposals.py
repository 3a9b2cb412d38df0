"""Proposes the narrowest rules for a command line that needs an approval."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourtool.permissions.shell.coverage import cover_line, is_reading
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.plain import PlainCommand, quote_plain
from yourtool.permissions.shell.specs import (
    CommandSpec,
    build_spec,
    loads_programs,
    parse_spec,
    runs_others,
)
from yourtool.permissions.shell.syntax import Word, iter_nodes, parse, text_of
from yourtool.permissions.shell.wrapped import unwrap

_MAX_EXCERPT = 40
_EXPANDED = "part of it is only known when it runs: `{}`"
_PROGRAM = "it is a program of the shell: `{}`"
_PROBLEMS = {
    "file_redirect": "it redirects to or from a file: `{}`",
    "heredoc_redirect": "it contains a document: `{}`",
    "herestring_redirect": "it contains a document: `{}`",
    "simple_expansion": _EXPANDED,
    "expansion": _EXPANDED,
    "command_substitution": _EXPANDED,
    "process_substitution": _EXPANDED,
    "arithmetic_expansion": _EXPANDED,
    "if_statement": _PROGRAM,
    "for_statement": _PROGRAM,
    "c_style_for_statement": _PROGRAM,
    "while_statement": _PROGRAM,
    "case_statement": _PROGRAM,
    "function_definition": _PROGRAM,
    "subshell": _PROGRAM,
    "compound_statement": _PROGRAM,
    "declaration_command": _PROGRAM,
    "test_command": _PROGRAM,
    "negated_command": _PROGRAM,
    "&": "it runs something in the background",
    "comment": "it contains a comment",
}
"""Why a line is not plain, by the type of a node of its tree."""


class Proposal(Struct, frozen=True):
    """The specs that would cover a line."""

    specs: tuple[str, ...] = ()
    note: str = ""
    """Why no rule is proposed, or which command the rules do not cover; a clause."""
    wider: tuple[str, ...] = ()
    """Specs for the same commands without their assignments, which the user can add."""


def propose_specs(
    line: str, specs: Sequence[CommandSpec], place: Place, *, is_trusted: bool = False
) -> Proposal:
    """Return a spec for each command of the line that these specs do not cover yet."""
    coverage = cover_line(specs, line, place, is_trusted=is_trusted)
    if not coverage.commands:
        return Proposal(note=_describe_problem(line))
    if coverage.problem:
        return Proposal(note=coverage.problem)
    proposed: list[str] = []
    wider: list[str] = []
    for command in coverage.uncovered:
        inner = unwrap(command, place) or command
        proposal = _propose_spec(inner, place)
        if not proposal.specs:
            return proposal
        proposed += proposal.specs
        if build_spec(inner).variables:
            wider += _propose_spec(replace(inner, variables=()), place).specs
    known = [*specs, *filter(None, map(parse_spec, proposed))]
    needed = (
        each
        for each in dict.fromkeys(wider)
        if not cover_line(known, each, place, is_trusted=is_trusted).is_complete
    )
    return Proposal(tuple(dict.fromkeys(proposed)), wider=tuple(needed))


def _propose_spec(command: PlainCommand, place: Place) -> Proposal:
    name = command.texts[0]
    if name == "git" and (helper := place.find_git_helper()) is not None:
        return Proposal(note=f"{helper} lets git run other programs, so no rule covers it")
    if runs_others(name) and not is_reading(command, place):
        return Proposal(note=f"`{name}` runs other programs or code, so no rule covers it")
    if name == "cd":
        return Proposal(note="`cd` leads out of the workspace, or nowhere")
    for word in command.words:
        if word.is_glob:
            return Proposal(note=f"`{word.text}` means other files when there are others")
    wanted = build_spec(command)
    for name, _ in wanted.variables:
        if loads_programs(name):
            return Proposal(note=f"`{name}` can make programs run others, so no rule covers it")
    for each in wanted.files:
        if not place.is_own_file(each.path):
            return Proposal(
                note=f"`{each.path}` is not a file of the workspace that a rule can name"
            )
    variables = (f"{name}={quote_plain([Word(value)])} " for name, value in wanted.variables)
    files = (f" {each}" for each in wanted.files)
    spec = "".join((*variables, quote_plain(command.words), *files))
    if parse_spec(spec) != wanted:
        return Proposal(note=f"no rule can name `{_shorten(spec)}`")
    return Proposal((spec,))


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_EXCERPT else f"{text[: _MAX_EXCERPT - 3]}..."


def _describe_problem(line: str) -> str:
    root = parse(line)
    if root is None:
        return "it is too long to be checked"
    for node in iter_nodes(root):
        if (problem := _PROBLEMS.get(node.type)) is not None:
            return problem.format(_shorten(text_of(node).partition("\n")[0]))
    return "part of it is not plain text"
