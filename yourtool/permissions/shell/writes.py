"""Files that a command line visibly writes.

What a script or an interpreter writes is not visible in the line.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, takewhile
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from yourtool.git.harmless_settings import changes_harmless_setting
from yourtool.git.repositories import open_repository
from yourtool.permissions.configured_places import Protection
from yourtool.permissions.protected_places import is_protected
from yourtool.permissions.shell.argument_paths import skip_sources
from yourtool.permissions.shell.entered import Entered, is_subshell
from yourtool.permissions.shell.lines.assigned_values import iter_filled, read_values
from yourtool.permissions.shell.lines.plain_commands import MOVES
from yourtool.permissions.shell.lines.syntax import Node, parse, text_of, word_of
from yourtool.permissions.shell.programs.arguments import is_free, only_reads
from yourtool.permissions.shell.programs.git_commands import read_git
from yourtool.permissions.shell.programs.table import (
    Program,
    can_run,
    find_launched,
    find_program,
    find_row,
)
from yourtool.permissions.shell.protected_targets import HERE, is_protected_target, make_relative
from yourtool.permissions.shell.wrapped import find_inner_start

_COMPRESSED = re.compile(r"\.(?:bz2|gz|lz4|lzma|xz|Z|zst)$")
_SEPARATORS, _PARTS = frozenset("/|,#@!:"), 3
_FLAGS = frozenset("gGiIpP0123456789")
"""Of an expression of an editor that writes no other file."""
_OUTPUT_OPTIONS = ("output-document", "output-directory", "outfile", "outdir", "target-directory")
"""Of any program, also abbreviated; the short ones are `-o` and `-O`."""
_DIRECTORY_OPTIONS = ("directory", "directory-prefix")
"""Of programs that write below this directory."""
_OTHER_OUTPUT = re.compile(r"-o[A-Z]$|-out")
"""As of `nmap` and `openssl`."""
_FIRST = 2
"""Arguments of which one is the archive: `zip A`, `7z a A`."""
_SED_FILE = re.compile(r"(?<![A-Za-z0-9.])[gpiIeEmM0-9]*+[wW]\s*([^\s;}]+)")
_QUOTED = re.compile(r"[\"']([^\"']*)[\"']")
_WRITING_OPERATORS = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_MAX_DEPTH = 8
_MAX_RESOLVED = 2_000
_PATH = re.compile(r"[\w.~/:-]+")
_EXPANDED = re.compile(r"[$`*?\[]")
"""In a directory that is known only when the command runs."""
_READING_GIT_CONFIG = frozenset(
    {"-l", "--list", "list", "get", "get-all", "--get", "--get-all", "--get-regexp"}
)
_EDIT = ("-e", "--edit", "edit")
_WORK_TREE = re.compile(r"--work-tree=|GIT_WORK_TREE=|core\.worktree=", re.IGNORECASE)
"""Before the directory in which git writes files."""


def find_protected_write(line: str, root: Path) -> str | None:
    """Return the first protected place that a line visibly writes to, as the line names it.

    `root`: the workspace, where the line runs.
    """
    return next(iter_protected_writes(line, root), None)


def iter_protected_writes(line: str, root: Path, *, is_compared: bool = False) -> Iterator[str]:
    """Yield all of them; some more than once.

    `is_compared`: a sandbox compares the settings of git afterwards, and keeps harmless changes.
    """
    entered = Entered(root)
    made = set[Path]()
    protection = Protection(root)
    for number, target in enumerate(_iter_targets(line, entered, depth=0)):
        here = entered.here
        if isinstance(target, _MadeRepository):
            made.add(Path(os.path.normpath(here / target.path)))
        elif isinstance(target, _Settings):
            if not (target.is_harmless and is_compared):
                yield target.file or make_relative(
                    _find_settings(here / target.path, made, root), root
                )
        elif is_protected(target):
            yield target if here == root else _name_target(target, here, root)
        elif number < _MAX_RESOLVED:
            found = (each for each in entered if is_protected_target(target, each, protection))
            if (directory := next(found, None)) is not None:
                is_named_from_root = directory == root and target != HERE
                yield target if is_named_from_root else _name_target(target, directory, root)


class _MadeRepository(Struct, frozen=True):
    """A directory that git makes a repository."""

    path: str


class _Settings(Struct, frozen=True):
    """The settings of git that a command changes."""

    path: str
    """Where git runs."""
    file: str = ""
    """The file, unless it is that of the repository."""
    is_harmless: bool = False
    """Whether the setting is a harmless one of the repository."""


_Target: TypeAlias = str | _MadeRepository | _Settings


def _find_settings(directory: Path, made: Collection[Path], root: Path) -> str:
    """Return the settings of the repository of a directory, which the line itself may make."""
    start = Path(os.path.normpath(directory))
    if _EXPANDED.search(str(start.relative_to(root) if start.is_relative_to(root) else "")):
        return str(start / ".git/config")
    for top in (start, *start.parents):
        if top in made:
            return str(top / ".git/config")
        if (repository := open_repository(top / ".git")) is not None:
            return os.path.realpath(repository.common / "config")
    return str(root / ".git/config")


def _name_target(target: str, directory: Path, root: Path) -> str:
    """Return a target relative to the workspace; one that the shell expands as it is written."""
    return target if target[:1] in ("~", "$") else make_relative(str(directory / target), root)


def _iter_targets(line: str, entered: Entered, depth: int) -> Iterator[_Target]:
    """Yield words that name written files; enters the directories that the line enters."""
    if depth > _MAX_DEPTH or (tree := parse(line)) is None or tree.has_error:
        yield from dict.fromkeys(_PATH.findall(line))  # not understood: each may be written to
        return
    values = read_values(tree)
    waiting: list[Node | Entered] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Entered):
            entered.restore(node)
            continue
        if is_subshell(node):
            waiting.append(entered.save())
        waiting += reversed(node.children)
        if node.type == "file_redirect":
            yield from chain.from_iterable(iter_filled(tuple(_iter_redirected(node)), values))
        elif node.type == "variable_assignment":
            entered.search(_read(node))
            yield from _iter_work_trees(_read(node))
        elif node.type == "command":
            for each in node.children:
                entered.search(_read(each) if each.type == "variable_assignment" else "")
            words = [_read(each) for each in node.children if each.type not in _NO_WORDS]
            for filled in iter_filled(words, values):
                yield from _iter_written(filled, entered)
            if _runs_code(words):
                yield from _iter_written_by_code(words, entered, depth)


def _iter_written_by_code(words: Sequence[str], entered: Entered, depth: int) -> Iterator[_Target]:
    outer = entered.save()
    codes = words[1:] if _name(words[0]) != "eval" else (*words[1:], " ".join(words[1:]))
    for word in codes:
        if re.search(r"[\s;&|<>]", word):
            yield from _iter_targets(word, entered, depth + 1)
    if _name(words[0]) != "eval":
        entered.restore(outer)


_NO_WORDS = ("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect")


def _iter_redirected(node: Node) -> Iterator[str]:
    operators = {each.type for each in node.children}
    if not operators & _WRITING_OPERATORS:
        return
    numbers = ("number",) if ">&" in operators else ()  # a descriptor, too
    no_files = {*_WRITING_OPERATORS, "file_descriptor", *numbers}
    yield from (_read(each) for each in node.children if each.type not in no_files)


def _iter_written(words: Sequence[str], entered: Entered) -> Iterator[_Target]:
    if not words:
        return
    name = _name(words[0])
    if name in MOVES:
        entered.move(words)
    outer, row = entered.save(), find_program(name) or Program()
    directories = list(_iter_values(words[1:], row.enters))
    for each in directories:
        entered.enter(each)
    if row.enters:
        for word in words:
            yield from _iter_work_trees(word)
    if (inner := find_inner_start(words)) is not None:
        yield from _iter_written(words[inner:], entered)
    else:
        first = find_launched(words) or len(words)
        for at in (0, *range(first, len(words))):
            if at and _name(words[at]) in MOVES:
                entered.move(words[at:])
            yield from _iter_written_by(_name(words[at]), words[at + 1 :])
    if directories:
        entered.restore(outer)


def _is_substitution(word: str) -> bool:
    """Return whether a word is an expression such as `s/a/b/g`."""
    parts = word.split(word[1]) if word[:1] in ("s", "S") and word[1:2] in _SEPARATORS else []
    return len(parts) > _PARTS and _FLAGS.issuperset(parts[-1])


def _iter_written_by(name: str, arguments: Sequence[str]) -> Iterator[_Target]:
    row = find_program(name) or Program()
    if name == "git":
        yield from _iter_written_by_git(arguments)
    elif not _is_known_to_read(name, arguments):
        if not {"*", *map(_read_option, arguments)}.isdisjoint(row.here):
            yield HERE
            yield from (word.rpartition("/")[2] for word in arguments if "://" in word)
        yield from _iter_arguments(row, arguments)
        if row.writes not in ("arguments", "copies"):
            yield from _iter_outputs(row, arguments)


def _iter_arguments(row: Program, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that are written without an option for them."""
    operands = [word for word in arguments if not word.startswith("-")]
    is_edited = row.writes == "in place" and any(map(_edits, arguments))
    match row.writes:
        case "first":
            yield from operands[:_FIRST]
        case "last":
            yield from operands[1:][-1:]
        case "compressed":
            for word in arguments:
                yield from (word, _COMPRESSED.sub("", word))
        case "in place" if not is_edited:
            yield from chain.from_iterable(map(_iter_named_by_script, arguments))
        case "arguments" | "copies" | "in place":
            given = skip_sources(arguments) if row.writes == "copies" else arguments
            for word in given:
                if not (is_edited and _is_substitution(word)):
                    yield re.sub(r"^--?[\w-]*=?", "", word)
                    if "=" in word:
                        yield word.partition("=")[2]
        case _:
            pass


def _iter_named_by_script(script: str) -> Iterator[str]:
    """Yield the files that a script for `sed` or `awk` may write."""
    yield from _SED_FILE.findall(script)
    for quoted in _QUOTED.findall(script):
        yield from _PATH.findall(quoted)


def _is_known_to_read(name: str, arguments: Sequence[str]) -> bool:
    row, rest = find_row((name, *arguments))
    if row is None or (row.needs and not is_free(row, rest)):
        return False
    return only_reads(row, rest, frozenset(), lambda _: True)


def _read_option(word: str) -> str:
    """Return the name of a long option, or the last letter of short ones."""
    return word[2:].partition("=")[0] if word.startswith("--") else word[:1] and word[-1]


def _iter_outputs(row: Program, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the values of options that may name a written file."""
    is_bundle = row.reads is not None and row.reads.bundle and arguments[:1] != []
    if is_bundle and not arguments[0].startswith("-"):
        arguments = [f"-{arguments[0]}", *arguments[1:]]
    directories = _DIRECTORY_OPTIONS if row.here else ()
    yield from _iter_values(arguments, ("o", "O", *row.output, *_OUTPUT_OPTIONS, *directories))


def _iter_values(arguments: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Yield what may be values of options, in the same or in the next word.

    Long options can be abbreviated, and short ones follow others.
    """
    letters = {each for each in options if len(each) == 1}
    for option, following in zip(arguments, [*arguments[1:], ""], strict=False):
        name, equals, value = option.lstrip("-").partition("=")
        if option.startswith("--"):
            if name and any(each.startswith(name) for each in options if len(each) > 1):
                yield value if equals else following
        elif option.startswith("-"):
            if _OTHER_OUTPUT.match(option):
                yield value if equals else following
            for at, letter in enumerate(option[1:], 2):
                if letter in letters:
                    yield option[at:] or following


def _iter_written_by_git(arguments: Sequence[str]) -> Iterator[_Target]:
    given, folder = read_git(arguments), ""
    for option, value in given.settings:
        is_folder = option in ("-C", "--work-tree")
        for each in (value,) if is_folder else _iter_work_trees(value or option):
            folder = os.path.join(folder, each)  # noqa: PTH118 - a text, and not a path here
    verb, words = given.verb, given.words
    if folder and verb and not _is_known_to_read("git", (verb, *words)):
        yield folder
    if verb == "config" and _READING_GIT_CONFIG.isdisjoint(words):
        places = ("--global", "--local", "--system", "--worktree")
        if len([word for word in words if word not in places]) != 1 or words[-1] in _EDIT:
            is_harmless = changes_harmless_setting(words) and not any(map(_EXPANDED.search, words))
            yield _Settings(folder, "~/.gitconfig" if "--global" in words else "", is_harmless)
    elif given.row.writes == "arguments":
        yield from (os.path.join(folder, word) for word in words if word != "HEAD")  # noqa: PTH118
        if verb in ("init", "clone"):
            yield from _iter_made(folder, (verb, *words))
        if verb == "submodule" and not {"add", "set-branch", "set-url"}.isdisjoint(words):
            yield ".gitmodules"
    else:  # other letters can have a value in the same word, such as the text of `-S`
        if given.row.here:
            yield folder or HERE
        words = [word for word in words if not re.match("-[^-oO]", word)]
        yield from (os.path.join(folder, each) for each in _iter_outputs(given.row, words))  # noqa: PTH118


def _iter_made(folder: str, words: Sequence[str]) -> Iterator[_MadeRepository]:
    """Yield the directory that `git init` or `git clone` may make a repository."""
    last = words[-1] if len(words) > 1 and not words[-1].startswith("-") else "."
    yield _MadeRepository(os.path.join(folder, last))  # noqa: PTH118
    if words[0] == "clone":
        name = last.rstrip("/").rpartition("/")[2].removesuffix(".git")
        yield _MadeRepository(os.path.join(folder, name))  # noqa: PTH118


def _iter_work_trees(word: str) -> Iterator[str]:
    if (found := _WORK_TREE.match(word)) is not None:
        yield word[found.end() :]


def _edits(option: str) -> bool:
    return re.match(r"-[a-zA-Z0-9]*i|--in-place", option) is not None


def _runs_code(words: Sequence[str]) -> bool:
    names = takewhile(lambda name: name != "-c", map(_name, words))
    is_launched = bool(words) and find_launched(words) is not None
    return is_launched or any(can_run(each, "shell") for each in names)


def _read(node: Node) -> str:
    """Return a word, as it is written where the shell expands it."""
    word = word_of(node)
    return text_of(node).replace('"', "").replace("'", "") if word is None else word.text


def _name(word: str) -> str:
    """Return the name in lower case, because file systems of macOS ignore case."""
    return word.rpartition("/")[2].lower()
