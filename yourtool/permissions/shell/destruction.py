"""Files that a command line deletes or changes.

Used to describe a command in its approval prompt, never to allow one. Which files exist is not
looked up here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourtool.permissions.shell.expanded_commands import Operand, get_name, iter_expanded
from yourtool.permissions.shell.programs.arguments import split_arguments
from yourtool.permissions.shell.programs.table import Action, find_launched, is_fed, load_programs

_MODE_OPTION = re.compile(r"--reference|-[rwxXstugo]")
"""Options in place of the mode or the owner, such as `-w`."""
_FIND_GLOBAL = frozenset({"-H", "-L", "-P", "-depth", "-mount", "-xdev"})
_FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


class Search(Struct, frozen=True):
    """Which files below its operands `find` selects."""

    names: tuple[str, ...] = ()
    """Globs that the name has to match."""
    kind: str = ""
    """`f`, `d` or `l`; empty: any."""
    min_depth: int = 0
    max_depth: int | None = None
    is_exact: bool = True
    """Whether there are no other conditions."""


class Destruction(Struct, frozen=True, kw_only=True):
    """What one command of a line does to files."""

    program: str
    action: Action
    operands: tuple[Operand, ...]
    directory: str | None = ""
    """Where it runs, relative to the directory of the line; None: not known before it runs."""
    is_recursive: bool = False
    """Whether the contents of directories are included."""
    destination: Operand | None = None
    """Where files are moved to."""
    search: Search | None = None


def find_destructions(line: str, environment: Mapping[str, str]) -> tuple[Destruction, ...]:
    """Return what the commands of a line do to files.

    `environment`: that of the shell which runs the line.
    """
    return tuple(
        replace(found, directory=command.directory)
        for command in iter_expanded(line, environment)
        for found in _iter_command(command.words)
    )


def _iter_command(words: Sequence[Operand]) -> Iterator[Destruction]:
    """Yield what a command does, behind wrappers such as `sudo`."""
    has_input = False
    for at, word in enumerate(words):
        name = get_name(word)
        rest = words[at + 1 :]
        if name == "find":
            yield from _iter_found(rest)
            return
        if (action := _get_action(name)) is not None:
            found = _build(name, action, rest)
            if has_input:
                unknown = Operand("the names that it reads from its input", None)
                found = replace(found, operands=(*found.operands, unknown))
            if found.operands:
                yield found
            return
        has_input = has_input or is_fed(name)
        if at == 0 and find_launched([each.plain for each in words]) is None:
            return


def _get_action(name: str) -> Action | None:
    row = load_programs().get(name)
    return None if row is None else row.action


def _build(name: str, action: Action, arguments: Sequence[Operand]) -> Destruction:
    options, operands, target = _split(name, arguments)
    is_recursive = any(
        re.match(r"--r|-[a-zA-Z]*R", each) or (name in ("rm", "grm") and re.match(r"-\w*r", each))
        for each in options
    )
    if name == "dd":
        written = [each for each in operands if each.text.startswith("of=")]
        operands = [_without_prefix(each) for each in written]
    elif name in ("chmod", "chown", "chgrp"):
        if not any(map(_MODE_OPTION.match, options)):
            operands = operands[1:]  # the first one is the mode or the owner
        if not is_recursive and all(each.plain is not None for each in operands):
            operands = []
    elif name in ("mv", "gmv") and target is None and len(operands) > 1:
        *operands, target = operands
    return Destruction(
        program=name,
        action=action,
        operands=tuple(operands),
        is_recursive=is_recursive or name in ("mv", "gmv"),
        destination=target,
    )


def _without_prefix(operand: Operand) -> Operand:
    """Return the file of `of=FILE`."""
    patterns = operand.patterns
    if patterns is not None:
        patterns = tuple(each.removeprefix("of=") for each in patterns)
    return Operand(operand.text.removeprefix("of="), patterns)


def _split(
    name: str, arguments: Sequence[Operand]
) -> tuple[list[str], list[Operand], Operand | None]:
    """Return the options, the operands, and the value of `--target-directory`."""
    texts, valued = [each.plain or "" for each in arguments], load_programs()[name].values
    options, operands = split_arguments(texts, valued)
    target = None
    for at in options:
        if texts[at] in ("-t", "--target-directory") and texts[at] in valued:
            target = arguments[at + 1] if at + 1 < len(arguments) else target
        elif texts[at].startswith("--target-directory="):
            value = texts[at].partition("=")[2]
            target = Operand(value, (value,))
    return [texts[at] for at in options], [arguments[at] for at in operands], target


def _iter_found(arguments: Sequence[Operand]) -> Iterator[Destruction]:
    """Yield what `find` does to the files that it finds."""
    at, starts = 0, list[Operand]()
    while at < len(arguments) and (arguments[at].plain or "") in _FIND_GLOBAL:
        at += 1
    while at < len(arguments) and re.match(r"[-(!\\]", arguments[at].text) is None:
        starts.append(arguments[at])
        at += 1
    tests = arguments[at:]
    action, is_recursive = _find_action(tests)
    if action is not None:
        yield Destruction(
            program="find",
            action=action,
            operands=tuple(starts) or (Operand(".", (".",)),),
            is_recursive=is_recursive,
            search=_read_search(tests),
        )


def _find_action(tests: Sequence[Operand]) -> tuple[Action | None, bool]:
    """Return what happens to the found files, and whether the contents of directories count."""
    for at, test in enumerate(tests):
        if test.plain == "-delete":
            return "deletes", False
        if test.plain in _FIND_ACTIONS:
            for number, word in enumerate(tests[at + 1 :], at + 1):
                if (action := _get_action(name := get_name(word))) is not None:
                    return action, _build(name, action, tests[number + 1 :]).is_recursive
    return None, False


def _read_search(tests: Sequence[Operand]) -> Search:
    found, at = Search(), 0
    while at < len(tests):
        test = tests[at].plain or ""
        value = (tests[at + 1].plain if at + 1 < len(tests) else None) or ""
        if test == "-name" and value == "" and at + 1 < len(tests):
            patterns = tests[at + 1].patterns or ()
            value = patterns[0] if len(patterns) == 1 else ""
        at += 2
        if test == "-name" and value:
            found = replace(found, names=(*found.names, value))
        elif test == "-type" and value in ("f", "d", "l"):
            found = replace(found, kind=value)
        elif test in ("-mindepth", "-maxdepth") and value.isdecimal() and value.isascii():
            number = min(int(value.lstrip("0")[:4] or "0"), 1_000)
            name = "min_depth" if test == "-mindepth" else "max_depth"
            found = replace(found, **{name: number})
        elif test in _FIND_ACTIONS:
            while at < len(tests) and tests[at].plain not in (";", "+"):
                at += 1
            at += 1
        elif test in ("-delete", "-print", "-print0", "-a", "-and", *_FIND_GLOBAL):
            at -= 1
        else:
            return replace(found, is_exact=False)
    return found
