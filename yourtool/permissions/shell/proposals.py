"""Proposed rules for a command line.

The first proposal for `git commit -m "Fix"` is `git commit *`, where a table shows that its options
and arguments do only what the program is known for, and the second one the exact line.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourtool.git.harmless_settings import changes_harmless_setting
from yourtool.permissions.shell.coverage import cover_line, covers_command, find_helper
from yourtool.permissions.shell.git_notes import describe_unoffered
from yourtool.permissions.shell.lines.plain import PlainCommand, quote_plain
from yourtool.permissions.shell.lines.syntax import Word, iter_nodes, parse, text_of
from yourtool.permissions.shell.open_rules import iter_prefixes
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.programs.table import find_module, find_program, find_row
from yourtool.permissions.shell.reading import find_obstacle, is_known_to_read
from yourtool.permissions.shell.specs import (
    EVERY_WRITE,
    CommandSpec,
    build_spec,
    loads_programs,
    parse_spec,
)
from yourtool.permissions.shell.wrapped import iter_meanings

_MAX_EXCERPT = 40
_PROBLEMS = {
    "file_redirect": "it redirects to or from a file: `{}`",
    **dict.fromkeys(
        ("heredoc_redirect", "herestring_redirect"), "it contains a document: `{}`"
    ),
    **dict.fromkeys(
        ("simple_expansion", "expansion", "command_substitution", "process_substitution",
         "arithmetic_expansion"),
        "part of it is only known when it runs: `{}`",
    ),
    **dict.fromkeys(
        ("if_statement", "for_statement", "c_style_for_statement", "while_statement",
         "case_statement", "function_definition", "subshell", "compound_statement",
         "declaration_command", "test_command", "negated_command"),
        "a rule covers plain commands, and this is more than that: `{}`",
    ),
    "&": "it runs something in the background",
}  # fmt: skip
"""Why a line is not plain, by the type of a node of its tree."""
_FAMILIES = (
    ("cargo bench", "cargo build", "cargo check", "cargo clippy", "cargo doc", "cargo fmt",
     "cargo run", "cargo test"),
    ("cat * >", "echo * >", "printf * >"),
    ("cp", "mkdir", "mv", "sed -i", "touch"),
    ("git add", "git commit"),
    ("git branch", "git checkout", "git switch", "git tag"),
    ("git cherry-pick", "git merge", "git rebase", "git revert"),
    ("git fetch", "git pull"),
    ("git mv", "git rm"),
    ("go build", "go fmt", "go test", "go vet"),
    ("ruff check", "ruff format"),
)  # fmt: skip
"""Commands that can do the same to a project and follow each other; one answer offers them all."""


class Proposal(Struct, frozen=True):
    """The specs that would cover a line."""

    specs: tuple[str, ...] = ()
    note: str = ""
    """Why no rule is proposed, or which command the rules do not cover; a clause."""
    wider: tuple[str, ...] = ()
    """Specs for the same commands without their assignments, which the user can add."""
    exact: tuple[str, ...] = ()
    """The specs for this line only; empty if they are the same, or if a command has none."""


class _Offer(Struct, frozen=True):
    """The specs for one command."""

    spec: str = ""
    """The first one that is offered; empty if none is."""
    exact: str = ""
    """The rule for this command only, or an empty text."""
    note: str = ""


def propose_specs(
    line: str, specs: Sequence[CommandSpec], place: Place, *, is_trusted: bool = False
) -> Proposal:
    """Return a spec for each command of the line that these specs do not cover yet."""
    coverage = cover_line(specs, line, place, is_trusted=is_trusted)
    if not coverage.commands:
        return Proposal(note=_describe_problem(line))
    if coverage.problem:
        return Proposal(note=coverage.problem)
    offers: list[_Offer] = []
    wider: list[str] = []
    for command, where in zip(coverage.uncovered, coverage.places, strict=True):
        *_, inner = iter_meanings(command, where)
        offer = _build_offer(inner, where)
        if not offer.spec:
            return Proposal(note=offer.note)
        offers.append(offer)
        if build_spec(inner).variables:
            wider.append(_build_offer(replace(inner, variables=()), where).spec)
    proposed = _with_families(dict.fromkeys(each.spec for each in offers), specs)
    exact = tuple(dict.fromkeys(each.exact for each in offers))
    known = [*specs, *filter(None, map(parse_spec, proposed))]
    needed = (
        each
        for each in dict.fromkeys(filter(None, wider))
        if not cover_line(known, _to_line(each), place, is_trusted=is_trusted).is_complete
    )
    is_other = all(exact) and exact != tuple(dict.fromkeys(each.spec for each in offers))
    return Proposal(proposed, wider=tuple(needed), exact=exact if is_other else ())


def _with_families(offered: Iterable[str], specs: Sequence[CommandSpec]) -> tuple[str, ...]:
    """Return specs, then those of the same families that are not in effect yet."""
    own = tuple(offered)
    related = (
        f"{each} *"
        for spec in own
        for family in _FAMILIES
        if spec.removesuffix(" *") in family and spec.endswith("*")
        for each in family
    )
    return tuple(
        dict.fromkeys((*own, *(each for each in related if parse_spec(each) not in specs)))
    )


def _to_line(spec: str) -> str:
    """Return a command that only a spec covers."""
    return spec.removesuffix("*")


def _build_offer(command: PlainCommand, place: Place) -> _Offer:
    """Return the specs for a command: with `*`, and for this command only."""
    if (helper := find_helper(command.texts, place)) is not None:
        return _Offer(note=f"{helper} lets git run other programs")
    for name, _ in build_spec(command).variables:
        if loads_programs(name):
            return _Offer(note=f"`{name}` can make programs run others")
    prefix = _propose_prefix(command, place)
    exact, note = _propose_exact(command, place, is_known=bool(prefix))
    return _Offer(prefix or exact, exact, note)


def _propose_prefix(command: PlainCommand, place: Place) -> str:
    """Return a spec with `*`; empty if none covers the command, or if none is offered."""
    texts = command.texts
    is_replaced = texts[1:2] == ("-m",) and texts[2:3] and find_module(texts[2])
    if command.files:
        return _propose_writes(command, place)
    if texts[0] in ("[", "[[", "cd") or is_replaced:
        return ""  # a module with the name of a tool may be one of the workspace
    assignments = _build_assignments(build_spec(command))
    for prefix in iter_prefixes(texts, place.is_own_file):
        spec = f"{assignments}{quote_plain([Word(each) for each in prefix])} *"
        parsed = parse_spec(spec)
        if parsed is not None and covers_command(parsed, command, place):
            return spec
    return ""


def _propose_writes(command: PlainCommand, place: Place) -> str:
    """Return a spec for all writes of a program that only reads or prints, or an empty text."""
    texts = command.texts
    _, rest = find_row(texts)
    prefix = quote_plain([Word(each) for each in texts[: len(texts) - len(rest)]])
    spec = f"{_build_assignments(build_spec(command))}{prefix}{EVERY_WRITE}"
    parsed = parse_spec(spec)
    is_covered = parsed is not None and covers_command(parsed, command, place)
    return spec if is_covered else ""


def _propose_exact(command: PlainCommand, place: Place, *, is_known: bool) -> tuple[str, str]:
    """Return a spec for this command only, or an empty one and the reason.

    `is_known`: there is a spec with `*`, so the program is not one that can do anything.
    """
    name = command.texts[0]
    is_known = is_known or is_known_to_read(command, place) or _is_harmless_setting(command)
    program = find_program(name)
    is_open = program is None or program.is_named_exactly
    if not is_open and not is_known and find_obstacle(command, place) is not None:
        if name == "git":
            return "", describe_unoffered(command.texts)
        return "", f"`{name}` runs other programs or code"
    if name in ("[", "[["):
        return "", "no rule is about a test of the shell"
    if name == "cd":
        return "", "`cd` leads out of the workspace, or nowhere"
    for word in command.words:
        if word.is_glob:
            return "", f"`{word.text}` means other files when there are others"
    wanted = build_spec(command)
    for each in wanted.files:
        if not place.is_own_file(each.path):
            return "", f"`{each.path}` is not a file of the workspace that a rule can name"
    files = (f" {each}" for each in wanted.files)
    spec = "".join((_build_assignments(wanted), quote_plain(command.words), *files))
    is_same = parse_spec(spec) == wanted and "\n" not in spec
    if not is_same or not covers_command(wanted, command, place):
        return "", f"no rule can name `{_shorten(spec)}`"
    return spec, ""


def _is_harmless_setting(command: PlainCommand) -> bool:
    program, *words = command.texts
    return [program, *words[:1]] == ["git", "config"] and changes_harmless_setting(words[1:])


def _build_assignments(spec: CommandSpec) -> str:
    return "".join(f"{name}={quote_plain([Word(value)])} " for name, value in spec.variables)


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
