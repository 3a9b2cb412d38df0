"""Current targets of a destructive command.

It counts the files, lists the first ones and names the loss. Everything here blocks, follows no
link, and ends at a number of files and at a deadline.
"""

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from yourtool.effects import Consequences
from yourtool.foundation.amounts import format_size
from yourtool.foundation.files import is_directory, is_file, is_in, is_link
from yourtool.git.repositories import find_repository
from yourtool.permissions.shell.destruction import Destruction, find_destructions
from yourtool.permissions.shell.expanded_commands import Operand
from yourtool.permissions.shell.lines.expansion import unquote
from yourtool.tools.git.git_changes import GitChange, read_changes
from yourtool.tools.git.git_program import GitError, GitRunner
from yourtool.tools.workspace.named_files import (
    NamedFile,
    ScanLimit,
    iter_matches,
    join_names,
    list_names,
    matches_name,
    quote_name,
)

MAX_COUNTED_FILES = 20_000
_MAX_TARGETS = 2_000
_MAX_COMMANDS = 8
_MAX_PATHSPECS = 200
_SECONDS = 2.5
_MAX_SECONDS = 8.0
_UNKNOWN = "not known before it runs"


class _Count(Struct):
    files: int = 0
    folders: int = 0
    size: int = 0
    is_complete: bool = True
    repositories: list[str] = []


async def find_consequences(
    line: str, workspace: Path, environment: Mapping[str, str]
) -> Consequences:
    """Return what a command line in a workspace would do to files, as far as a few seconds show.

    `environment`: the variables of the command.
    """
    cancelled = threading.Event()
    survey = TargetSurvey(workspace, environment, cancelled)
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            return await asyncio.to_thread(survey.describe, line)
    except TimeoutError:
        return Consequences(lines=("what it does to files could not be looked up in time",))
    finally:
        cancelled.set()


class TargetSurvey:
    """Finds the targets of the destructive commands of one line."""

    def __init__(
        self,
        workspace: Path,
        environment: Mapping[str, str],
        cancelled: threading.Event,
        seconds: float = _SECONDS,
    ) -> None:
        """`workspace`: a real path; `environment`: the variables of the command.

        `seconds`: the time for counting files, and again for git.
        """
        self._root = workspace
        self._environment = environment
        self._seconds = seconds
        self._limit = ScanLimit(2 * MAX_COUNTED_FILES, seconds, cancelled)

    def describe(self, line: str) -> Consequences:
        """Return what a line would delete, move, overwrite or change in bulk."""
        found, cautions, lines = (
            find_destructions(line, self._environment),
            list[str](),
            list[str](),
        )
        for each in found[:_MAX_COMMANDS]:
            more_cautions, more_lines = self._describe(each)
            cautions += more_cautions
            lines += more_lines
        if len(found) > _MAX_COMMANDS:
            lines.append(f"and {len(found) - _MAX_COMMANDS:,} more such commands, not looked up")
        return Consequences(tuple(dict.fromkeys(cautions)), tuple(dict.fromkeys(lines)))

    # ── one command ─────────────────────────────────────────────────────────────────────────────

    def _describe(self, command: Destruction) -> tuple[list[str], list[str]]:
        verb, lines = f"`{command.program}` {command.action}", list[str]()
        unknown = [each.text for each in command.operands if each.patterns is None]
        if command.directory is None:
            return [], [f"{verb} files in a directory that is {_UNKNOWN}"]
        if unknown:
            lines.append(f"{verb} files whose names are {_UNKNOWN}: {list_names(unknown)}")
        base = os.path.join(self._root, command.directory)  # noqa: PTH118 - links stay as they are
        if not os.path.isdir(base):  # noqa: PTH112
            base = str(self._root)  # `cd` fails, and what follows may run here
        targets, missing = self._expand(command, base)
        cautions = [f"{verb} {place}" for place in self._find_places(targets, command)]
        if targets:
            count, found = self._count(targets, command)
            lines.append(f"{verb} {_describe_count(command, count)}: {list_names(found)}")
            inner = [each for each in count.repositories if not _contains(each, str(self._root))]
            if inner:
                names = list_names([self._shorten(each) for each in inner])
                cautions.append(f"{verb} files of repositories: {names}")
            if command.action in ("deletes", "overwrites"):
                lines += self._describe_unsaved(targets, command)
        if missing:
            lines.append(f"nothing matches now: {list_names(missing)}")
        if command.destination is not None:
            lines += self._describe_replaced(targets, command.destination, base)
        return cautions, lines

    def _describe_replaced(
        self, targets: Sequence[NamedFile], destination: Operand, base: str
    ) -> Iterator[str]:
        """Yield what is replaced where files are moved to."""
        if (name := destination.plain) is None:
            yield f"it moves them to a place that is {_UNKNOWN}: {list_names([destination.text])}"
            return
        place = Path(base, name)
        paths = (
            [place / Path(each.path).name for each in targets] if is_directory(place) else [place]
        )
        replaced = [str(each) for each in paths if is_file(each) or is_link(each)]
        if replaced:
            yield f"it replaces {list_names([self._shorten(each) for each in replaced])}"

    def _find_places(self, targets: Sequence[NamedFile], command: Destruction) -> Iterator[str]:
        """Yield the places that hardly anybody means to destroy."""
        home = os.path.realpath(self._environment.get("HOME") or "/nonexistent")
        outside = list[str]()
        for target in targets:
            path, is_whole = target.path, command.is_recursive or command.search is not None
            if is_whole and path == "/":
                yield "the whole file system: /"
            elif is_whole and _contains(path, home):
                yield f"your home directory: {quote_name(target.name)}"
            elif is_whole and path == str(self._root) and command.search is None:
                yield f"the workspace itself: {quote_name(target.name)}"
            elif is_whole and _contains(path, str(self._root)) and path != str(self._root):
                yield f"a directory that contains the workspace: {quote_name(target.name)}"
            elif ".git" in Path(path).parts:
                yield f"files of a git repository: {quote_name(target.name)}"
            elif not _contains(str(self._root), path):
                outside.append(target.name)
        if outside:
            yield f"files outside the workspace: {list_names(outside)}"

    # ── files ───────────────────────────────────────────────────────────────────────────────────

    def _expand(self, command: Destruction, base: str) -> tuple[Sequence[NamedFile], Sequence[str]]:
        """Return the targets of operands, directories first, and the words that match nothing."""
        targets, missing = dict[str, NamedFile](), list[str]()
        for operand in command.operands:
            for pattern in operand.patterns or ():
                found = sorted(iter_matches(pattern, base, self._limit), key=lambda each: each.name)
                if command.program in ("rm", "grm", "unlink") and not command.is_recursive:
                    found = [each for each in found if not each.is_directory]
                targets |= {each.path: each for each in found}
                if not found and pattern:
                    missing.append(unquote(pattern))
        return sorted(targets.values(), key=lambda each: not each.is_directory), missing

    def _count(
        self, targets: Sequence[NamedFile], command: Destruction
    ) -> tuple[_Count, Sequence[str]]:
        """Count files; return the names to show, too."""
        count = _Count(is_complete=not self._limit.is_reached, repositories=[])
        found = list[str]()
        for target in targets:
            if command.search is not None:
                self._search(target, command, count, found)
                continue
            found.append(target.name)
            if not target.is_directory:
                count.files += 1
                with suppress(OSError):
                    count.size += os.lstat(target.path).st_size
            elif command.is_recursive:
                self._walk(target.path, count)
        return count, found

    def _walk(self, top: str, count: _Count) -> None:
        """Count the contents of a directory."""
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            count.folders += 1
            for entry in self._scan(folder, count):
                if entry.name == ".git" and len(count.repositories) < _MAX_TARGETS:
                    count.repositories.append(folder)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    _add_file(entry, count)
            if not count.is_complete:
                return

    def _search(
        self, top: NamedFile, command: Destruction, count: _Count, found: list[str]
    ) -> None:
        """Count what `find` finds."""
        search, waiting = command.search, [(top.path, top.name.rstrip("/"), 0)]
        assert search is not None, "only `find` searches"
        while waiting and count.is_complete:
            folder, name, depth = waiting.pop()
            for entry in self._scan(folder, count):
                is_directory, level = entry.is_dir(follow_symlinks=False), depth + 1
                if is_directory and level < (search.max_depth or level + 1):
                    waiting.append((entry.path, f"{name}/{entry.name}", level))
                kind = "d" if is_directory else "l" if entry.is_symlink() else "f"
                if (
                    search.min_depth <= level <= (search.max_depth or level)
                    and search.kind in ("", kind)
                    and all(matches_name(each, entry.name) for each in search.names)
                ):
                    found.append(f"{name}/{entry.name}{'/' * is_directory}")
                    if not is_directory:
                        _add_file(entry, count)
                    elif command.is_recursive:
                        self._walk(entry.path, count)
                    else:
                        count.folders += 1

    def _scan(self, folder: str, count: _Count) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not self._limit.take() or count.files >= MAX_COUNTED_FILES:
                        count.is_complete = False
                        return
                    yield entry
        except OSError:
            return

    # ── git ─────────────────────────────────────────────────────────────────────────────────────

    def _describe_unsaved(
        self, targets: Sequence[NamedFile], command: Destruction
    ) -> Iterator[str]:
        """Yield a line with the files of which git has no copy."""
        if (repository := find_repository(self._root)) is None:
            yield "no git repository has a copy of them"
            return
        root = str(repository.top)
        inside = [each.path for each in targets if each.path != root and _contains(root, each.path)]
        is_whole = len(inside) > _MAX_PATHSPECS or any(each.path == root for each in targets)
        specs = [os.path.relpath(each, root) for each in inside] if not is_whole else []
        if not specs and not is_whole:
            return
        try:
            changes = read_changes(
                GitRunner(repository, self._seconds), specs, is_literal=True, includes_ignored=True
            )
        except GitError as error:
            yield f"what git has a copy of is not known: {error}"
            return
        wanted = [Path(each.path) for each in targets]
        lost = [
            each
            for each in changes
            if (each.is_untracked or each.is_ignored or each.is_unstaged)
            and (not is_whole or is_in(Path(root, each.path), wanted))
        ]
        if command.search is not None:
            names = command.search.names
            lost = [each for each in lost if _is_selected(each, names)]
        if lost:
            order = sorted(lost, key=lambda each: (not each.is_untracked, each.is_ignored))
            named = [(self._shorten(f"{root}/{each.path}"), each.label) for each in order]
            texts = [f"{quote_name(name)} ({label})" for name, label in named]
            yield f"git has no copy of {join_names(texts)}"

    def _shorten(self, path: str) -> str:
        """Return a path relative to the workspace, if it is in it."""
        return path.removeprefix(f"{self._root}/")


def _is_selected(change: GitChange, names: Sequence[str]) -> bool:
    if change.path.endswith("/"):
        return True
    return all(matches_name(each, change.path.rpartition("/")[2]) for each in names)


def _contains(directory: str, path: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _add_file(entry: os.DirEntry[str], count: _Count) -> None:
    count.files += 1
    with suppress(OSError):
        count.size += entry.stat(follow_symlinks=False).st_size


def _describe_count(command: Destruction, count: _Count) -> str:
    is_bound = command.search is not None and not command.search.is_exact
    least = "up to " if is_bound else "" if count.is_complete else "at least "
    folders = f"{count.folders:,} folder{'s' * (count.folders != 1)}"
    text = f"{least}{count.files:,} file{'s' * (count.files != 1)}"
    if count.folders:
        has_files = count.files or not count.is_complete
        text = f"{text} in {folders}" if has_files else f"{least}{folders} without files"
    return f"{text}, {least * (not is_bound)}{format_size(count.size)}"
