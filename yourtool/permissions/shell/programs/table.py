"""One table of programs.

A row is about a program, or about one command of it, such as `git add`. Each question about a line
(does it only read? what does a rule cover? what is denied, written, deleted? does it need a
network?) has its own fields; the rows are in the files `*.toml` of this directory.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

Arguments: TypeAlias = Literal[
    "addresses", "any", "awk", "date", "downloads", "find", "jq", "none",
    "npm", "packages", "paths", "pattern", "printf", "remote", "revisions", "sed",
    "settings", "targets", "test", "text", "variables",
]  # fmt: skip
"""Arguments of a program.

`paths` are inside the workspace; `pattern` is one text, then paths; `text` is anything; `any` also
what looks like an option; `variables` mean nothing to the shell and to programs; `none` allows no
argument; `remote` is the name of a remote, never an address, then revisions; `packages` are names
of a registry, never addresses; `addresses` are those of websites, and `downloads` those that name
no protected place.
"""
Action: TypeAlias = Literal["deletes", "moves", "overwrites", "changes"]
_VERSION = "0123456789.-"


class Words(tuple[str, ...]):
    """Words of a text, such as `"all quiet file="`."""


class Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    """Options and arguments of a program; every other option needs an approval.

    It may write, run a program or read other files.
    """

    arguments: Arguments = "none"
    same_as: str = ""
    """Another row, to which this one adds."""
    letters: Words = Words()
    """Short options, as for getopt: `x:` has a value, `x::` perhaps one in the same word."""
    options: Words = Words()
    """Long options: `x=` has a value behind `=`, `x:` also one in the next word."""
    tests: Words = Words()
    """Those of `find`."""
    files: Words = Words()
    """Options whose values are paths, without hyphens."""
    numbers: bool = False
    """Whether `-20` is an option."""
    response_files: bool = False
    """Whether the program replaces an argument or a value `@FILE` by what is in the file."""
    forms: Mapping[str, str] = {}
    """Regular expressions for the values of options, which match as a whole."""
    bundle: bool = False
    """Whether the first argument has letters of options also without a hyphen, as in `xzf`."""
    loads_code: bool = False
    """Whether it runs code of the workspace even with these options."""
    runs_code: bool = False
    """Whether the program runs code of the workspace, and so never runs without a rule."""
    follows_links: bool = False
    """Whether the program follows the links that it finds below a directory."""
    enters_submodules: bool = False
    """Whether git works in the submodules, too, with the settings that are there."""
    problem: str = ""
    """Why it needs an approval although it only reads; a predicate."""
    contained: bool = False
    """Whether the problem does not exist in a full sandbox."""
    needs: Words = Words()
    """Options; without each of them the program runs code of the workspace. Rules do not use the
    row, as they are about the program with any option."""

    @property
    def is_for_rules(self) -> bool:
        """Whether rules use the row: it is about all that the program can do."""
        return not (self.needs or self.problem)


class Star(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments that `*` of a rule never covers, and the rules with `*` that are offered.

    Of every program, no argument or value leads out of the workspace, to a protected place or to
    credentials, and none is `@FILE` or `file:…`.
    """

    same_as: str = ""
    letters: str = ""
    """Of options that name a program, its settings, or the address of one."""
    values: str = ""
    """Of options with a value in the same word, which contains no further letters."""
    options: Words = Words()
    """Long options like those of `letters`, also abbreviated."""
    harmless: Words = Words()
    """Long options that look like those of the row `*`."""
    words: Words = Words()
    """Arguments that count like these options."""
    contains: Words = Words()
    """Parts of arguments that do."""
    matches: tuple[str, ...] = ()
    """Regular expressions for whole arguments that do."""
    names: Words = Words()
    """Options whose value is a name or a version, never the path of a program or a module."""
    only: Accepted | None = None
    """All that `*` covers, for programs with too many other options."""
    covers: Words = Words()
    """The commands that `*` covers."""
    before: Words = Words()
    """Options with a value in the next word that may precede them."""
    at_signs: bool = False
    """Whether a leading `@` is part of a name."""
    elsewhere: bool = False
    """Whether paths are those of another machine."""
    bins: bool = False
    """Whether the command can be another program of the table, whose row applies."""
    long_only: bool = False
    """Whether options with one dash are long ones."""
    addresses: bool = False
    """Whether arguments can be addresses of code, so that `*` covers none."""
    packages: bool = False
    """Whether arguments are names of a registry: a package can contain any program, so that no
    rule with `*` is offered."""
    keeps: int | None = None
    """Arguments after the row that an offered rule keeps; without it the rules name the line."""
    verbs: Words = Words()
    """The first argument of an offered rule, which keeps it."""
    launches: bool = False
    """Whether the arguments are another command, whose rows apply as well."""
    code: bool = False
    """Whether the first argument is a program, or an option contains one; a rule has to name it."""
    needs: int = 1
    """Arguments that a rule has to name for that."""

    @property
    def is_offered(self) -> bool:
        return self.keeps is not None or bool(self.verbs)


class Downloads(Struct, frozen=True, forbid_unknown_fields=True):
    """Commands of a program that need a network, and the files that name its hosts."""

    commands: tuple[str, ...] = ()
    """The first words after the options; an empty text is the program without any."""
    remote: tuple[str, ...] = ()
    """Commands that need one only if an argument names something elsewhere (`@`, `://`)."""
    bare: tuple[str, ...] = ()
    """Commands that need none without a further argument."""
    offline: Words = Words()
    """Options with which nothing is fetched."""
    local: Words = Words()
    """Directories of programs in the workspace; one that is there is not fetched."""
    locks: tuple[str, ...] | None = None
    """Lock and settings files of a project, which name the hosts that the program asks. None: hosts
    would not help, as it asks others, or changes files that the sandbox protects."""
    contained: tuple[str, ...] = ()
    """Commands that need nothing else outside the sandbox."""
    elsewhere: Words = Words()
    """Options with which they write into the home directory or the system."""
    same_as: str = ""


Removed: TypeAlias = Literal["", "branches", "history", "remote", "stashes", "worktree"]


class Loss(Struct, frozen=True, forbid_unknown_fields=True):
    """What a command of git discards."""

    marks: Words = Words()
    """The options because of which it does; empty: it always does."""
    unless: Words = Words()
    """Options with which it does not."""
    files: Literal["", "unstaged", "staged"] = ""
    """Which files of the work tree are replaced; those that are staged, too."""
    paths: bool = False
    """Whether these are the files in the arguments."""
    removed: Removed = ""
    """What else is removed."""


class Program(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table."""

    also: tuple[str, ...] = ()
    """Other programs with the same row."""
    runs: Words = Words()
    """What arguments can contain: a `command`; lines for a `shell`, which reads its input as well;
    `code` in another language; `lines` in options; `subscripts`, which bash evaluates; or a `file`
    of commands. `input`: without further arguments, it runs what it reads from its input."""
    is_fed: bool = False
    """Whether it adds arguments from its input to the command."""
    exact: bool | None = None
    """Whether a rule for one line is offered; None: unless the program runs commands or code."""
    writes: Literal["", "arguments", "compressed", "copies", "first", "in place", "last"] = ""
    """Which arguments are written: all; all, also without their ending; those that are no sources;
    one of the first two; all with `-i`, and the files that a script names; or the last."""
    output: Words = Words()
    """Options, long ones or letters, whose values are written; `o`, `O` and `--output` are so of
    every program."""
    here: Words = Words()
    """Options with which it writes below the directory where it runs, or `*` for always."""
    enters: Words = Words()
    """Options that name the directory where the command runs that it starts."""
    action: Action | None = None
    """What it does to the files in its arguments."""
    values: Words = Words()
    """Its options with a value in the next word."""
    tool: bool = False
    """Whether a project installs it, and a rule gives the project nothing that it lacks: it could
    put another program in its place, also for `[sandbox] outside`, where `pip` may be."""
    is_module: bool = False
    """Whether it is a Python module, whose name has `_` where that of the program has `-`."""
    builtin: bool = False
    """Whether it is a command of bash."""
    added: Words = Words()
    """Options with which git, or this command of it, runs no other program, not even in a
    submodule, whose settings it would obey to find out what changed in it."""
    loses: Loss | None = None
    asks: bool = False
    """Whether this command of git asks the remote in its first argument."""
    signs: Words = Words()
    """Options with which this command of git signs."""
    note: str = ""
    """Why no rule with `*` covers it; a predicate."""
    reads: Accepted | None = None
    """With which options and arguments it only reads."""
    changes: Accepted | None = None
    """What `*` of a rule covers of a program that changes files and repositories."""
    star: Star | None = None
    network: Downloads | None = None

    @property
    def runs_others(self) -> bool:
        """Whether its arguments can be a program or code."""
        return not {"command", "shell", "code"}.isdisjoint(self.runs)

    @property
    def is_named_exactly(self) -> bool:
        """Whether a rule for one line is offered."""
        return not (self.runs_others or "file" in self.runs) if self.exact is None else self.exact


Facet: TypeAlias = Literal["reads", "changes"]


@functools.cache
def load_programs() -> Mapping[str, Program]:
    """Return the rows by program, or by program and command."""
    rows: dict[str, Program] = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        read = msgspec.toml.decode(file.read_bytes(), type=dict[str, Program], dec_hook=_decode)
        for name, row in read.items():
            rows |= dict.fromkeys((name, *row.also), row)
    return {name: build_program(name, rows) for name in rows}


def _decode(kind: type[Words], text: str) -> Words:
    return kind(text.split())


def build_program(name: str, rows: Mapping[str, Program]) -> Program:
    """Return a row with all that it has from others."""
    facets = ("reads", "changes", "star", "network")
    return replace(rows[name], **{each: _inherit(rows, name, each) for each in facets})


def _inherit(rows: Mapping[str, Program], name: str, facet: str) -> Any:
    row = getattr(rows[name], facet)
    if row is None or not row.same_as:
        return row
    base, plain = _inherit(rows, row.same_as, facet), type(row)()
    own = {each: getattr(row, each) for each in row.__struct_fields__ if each != "same_as"}
    changed = {each: value for each, value in own.items() if value != getattr(plain, each)}
    return replace(base, **{each: _merge(getattr(base, each), own[each]) for each in changed})


def _merge(inherited: Any, own: Any) -> Any:
    match own:
        case Words():
            return Words((*inherited, *own))
        case dict():
            return inherited | own
        case _:
            return own


def find_program(word: str) -> Program | None:
    """Return the row of a program, found by its name without its path and its version."""
    rows, name = load_programs(), word.rpartition("/")[2]
    return rows.get(name) or rows.get(name.rstrip(_VERSION))


def is_known(word: str) -> bool:
    """Whether the table has the program, or one of its commands."""
    name = word.rpartition("/")[2]
    return not {name, name.rstrip(_VERSION)}.isdisjoint(_get_names())


@functools.cache
def _get_names() -> frozenset[str]:
    return frozenset(name.partition(" ")[0].lower() for name in load_programs())


def find_module(name: str) -> str:
    """Return the program that is a Python module; empty if none is."""
    program = name.replace("_", "-")
    row = load_programs().get(program)
    return program if row is not None and row.is_module and "-" not in name else ""


def can_run(word: str, *kinds: str) -> bool:
    """Whether a program runs what its arguments or its input contain; kinds of `Program.runs`."""
    row = find_program(word)
    return row is not None and not set(kinds).isdisjoint(row.runs)


def is_fed(word: str) -> bool:
    """Whether a program adds arguments from its input to the command that it runs."""
    row = find_program(word)
    return row is not None and row.is_fed


def find_launched(words: Sequence[str | None]) -> int | None:
    """Return the first word that can be the program which a command runs; None: it runs none."""
    name = (words[0] or "").rpartition("/")[2].lower()
    if can_run(name, "command", "shell"):
        return 1
    starts: list[int] = []
    for command in _get_launchers().get(name, ()):
        at = 0
        for each in command:  # options and their values may be between them
            at = words.index(each, at + 1) if each in words[at + 1 :] else len(words)
        starts.append(at + 1)
    return min((each for each in starts if each <= len(words)), default=None)


@functools.cache
def _get_launchers() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the commands of programs that run others, without the programs, by their names."""
    found: dict[str, list[Sequence[str]]] = {}
    rows = load_programs().items()
    for program, *command in (name.split() for name, row in rows if "command" in row.runs):
        if command:
            found.setdefault(program, []).append(command)
    return found


def find_row(words: Sequence[str], facet: Facet = "reads") -> tuple[Accepted | None, Sequence[str]]:
    """Return the row of a command, or None, and the words after the name."""
    rows = load_programs()
    for size in (3, 2, 1):
        row = rows.get(" ".join(words[:size]))
        if row is not None and (found := getattr(row, facet)) is not None:
            return found, words[size:]
    return None, words[1:]
