"""Finding files and text: `glob` and `grep`.

What is read is confined like everything else, and regular expressions run in processes of their own
(`tools.matching`), which are killed when the call is stopped or takes too long.
"""

import asyncio
import os
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.credential_files import credential_names
from yourtool.tools.base import Args, ToolContext, tool
from yourtool.tools.matching import Matching, Pattern, SearchAnswer
from yourtool.tools.name_filter import NameFilter
from yourtool.tools.ripgrep import Ripgrep, Start, find_ripgrep
from yourtool.tools.tree import Folder, Tree, open_tree
from yourtool.tools.walk import one_line

SECONDS = 30.0
"""How long a search may take."""

_LARGEST = 5 * 2**20
_SMALLEST_BLOCK, _LARGEST_BLOCK = 128, 2_048
"""Files that are searched in one go: few at first, so that a small search uses every processor."""
_MOST_NAMED = 5
_WORKERS = min(4, max(2, os.cpu_count() or 1))
"""Blocks that are searched at once: more than one, so that one stuck in a file stops no other."""


class Glob(Args, frozen=True):
    """A search by name."""

    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            description="Such as `*.py` (in any directory), `src/**/test_*.py` or `*.{ts,tsx}`.",
        ),
    ]
    path: Annotated[str, Meta(description="Directory to search; `.` is the workspace.")] = "."
    limit: Annotated[int, Meta(ge=1, le=2_000, description="Most files to list.")] = 500


class Grep(Args, frozen=True):
    """A search by content."""

    pattern: Annotated[
        str,
        Meta(min_length=1, description="Regular expression (Python's), tried on every line."),
    ]
    path: Annotated[str, Meta(description="File or directory to search.")] = "."
    files: Annotated[
        str, Meta(description="Only files whose names match this glob, such as `*.py`.")
    ] = ""
    ignore_case: bool = False
    limit: Annotated[int, Meta(ge=1, le=500, description="Most lines to show.")] = 100


@tool(SideEffects.READ)
async def glob(args: Glob, context: ToolContext) -> str:
    """Find files by name, in order of path; what `.gitignore` leaves out is not searched."""
    return await context.blocking(_globbed, args, context)


@tool(SideEffects.READ)
async def grep(args: Grep, context: ToolContext) -> str:
    """Search files line by line; the answer has `path:line: text` and says how much there is.

    What `.gitignore` leaves out is not searched, nor are binary files and those above 5 MiB. Files
    that may hold credentials, such as `.env`, are searched only where `path` names one.
    """
    return await search(args, context, seconds=SECONDS)


async def search(args: Grep, context: ToolContext, *, seconds: float) -> str:
    """Run `grep` with a limit of time; what was found by then is the answer.

    Raises:
        ToolError: the pattern or the path cannot be used, or the time is up and nothing was
            searched.
    """
    grepping = _Grepping(args)
    # An event of its own: when the time is up, the call failed and was not cancelled.
    inner = msgspec.structs.replace(context, cancelled=threading.Event())
    work = asyncio.ensure_future(inner.blocking(grepping.run, inner))
    try:
        async with asyncio.timeout(seconds):
            await asyncio.shield(work)
        stopped = ""
    except TimeoutError:
        stopped = f"stopped after {seconds:g} s, in {grepping.current}"
    finally:
        grepping.stop()
        work.cancel()
        await asyncio.wait([work])
    if stopped and not grepping.found.searched:
        raise ToolError(f"the search was {stopped}; {_FASTER}", ToolFailure.TIMEOUT)
    return _summary(args, grepping.found, stopped)


_FASTER = (
    "narrow `path` or `files`, or simplify the pattern: nested repetition such as `(a+)+` can take"
    " forever"
)


class _Found(Struct):
    """What a search came to."""

    lines: list[str] = field(default_factory=list[str])
    matches: int = 0
    files: int = 0
    searched: int = 0
    skipped: int = 0
    unread: int = 0
    withheld: list[str] = field(default_factory=list[str])
    """Files that may hold credentials."""
    cut_ignore_files: list[str] = field(default_factory=list[str])

    def add(self, block: "_Block", answer: SearchAnswer, limit: int) -> None:
        """Count what a block holds, in the order of its files."""
        paths = block.paths
        self.skipped += answer.skipped
        self.unread += answer.unread
        self.searched += len(paths) - answer.skipped - answer.unread
        for index, count, lines in answer.found:
            self.files += 1
            self.matches += count
            path = one_line(paths[index])
            room = limit - len(self.lines)
            self.lines += [f"{path}:{line}: {text}" for line, text in lines[:room]]


class _Block(Struct, frozen=True):
    """Files that are searched in one go."""

    base: str
    folders: list[Folder]

    @property
    def paths(self) -> list[str]:
        return [self.base + each.path + name for each in self.folders for name in each.names]


class _Grepping:
    """One search; `found` grows while it runs."""

    def __init__(self, args: Grep) -> None:
        self._args = args
        self._wanted = NameFilter(args.files) if args.files else None
        self._matching: Matching | None = None
        self._blocks: list[tuple[_Block, Future[SearchAnswer]]] = []
        self._stopped = False
        self._agreed = False
        """Whether the path was asked about, because it may hold credentials."""
        self.found = _Found()

    @property
    def current(self) -> str:
        """The files that are being searched, for a message."""
        for block, answer in self._blocks[:]:
            if not answer.done():
                paths = block.paths
                first, last = one_line(paths[0]), one_line(paths[-1])
                more = f"the {len(paths)} files from `{first}` to `{last}`"
                return f"`{first}`" if len(paths) == 1 else more
        return "the list of files"

    def run(self, context: ToolContext) -> None:
        """Search; blocking.

        Raises:
            ToolError: the pattern or the path cannot be used, or the search was stopped.
        """
        self._agreed = context.workspace.is_credential_file(self._args.path)
        own = context.workspace.own_places()
        with _opened(context, self._args.path) as tree:
            pattern = Pattern(
                self._args.pattern, self._args.ignore_case, self._args.limit, _LARGEST
            )
            start = Start(tree.descriptor, own.directories | own.entries)
            ripgrep = _ripgrep(context, tree, start)
            self._matching = matching = Matching(pattern, start, context.mask, ripgrep)
            if self._stopped:
                matching.processes.kill()
            try:
                matching.open()
                with ThreadPoolExecutor(_WORKERS) as workers:
                    self._search(workers, matching, tree, context.workspace.root)
                for _, answer in self._blocks:
                    answer.result()
            except (BrokenPipeError, ValueError):
                raise ToolError("the search was stopped", ToolFailure.CANCELLED) from None
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise ToolError(f"the search could not go on: {reason}; try it again") from error
            finally:
                matching.processes.close()
                self.found.cut_ignore_files = tree.cut_ignore_files
                self._collect()

    def stop(self) -> None:
        """End the processes; from any thread."""
        self._stopped = True
        if self._matching is not None:
            self._matching.processes.kill()

    def _search(
        self, workers: ThreadPoolExecutor, matching: Matching, tree: Tree, root: Path
    ) -> None:
        running = set[Future[SearchAnswer]]()
        folders = tree.folders if self._wanted is None else self._wanted.applied(tree)
        if not self._agreed:
            folders = self._without_credentials(tree.base, folders, root)
        for block in _blocks(tree.base, folders):
            running.add(answer := workers.submit(matching.search, block.folders))
            self._blocks.append((block, answer))
            if len(running) > 2 * _WORKERS:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for each in done:
                    each.result()

    def _without_credentials(
        self, base: str, folders: Iterable[Folder], root: Path
    ) -> Iterator[Folder]:
        for folder in folders:
            path = base + folder.path
            # The directories above the workspace count as well: it may be `~/.kube`.
            if withheld := credential_names(str(root / path), folder.names):
                self.found.withheld += [path + name for name in folder.names if name in withheld]
                names = [name for name in folder.names if name not in withheld]
                folder = Folder(folder.path, names)
            yield folder

    def _collect(self) -> None:
        """Add up the answers, in the order of the files; those that there are, when stopped."""
        for block, answer in self._blocks:
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                self.found.add(block, answer.result(), self._args.limit)


@contextmanager
def _opened(context: ToolContext, path: str) -> Generator[Tree, None, None]:
    """Open the tree below a directory, or one that holds a single file."""
    if context.workspace.kind(path) != "file":
        with open_tree(context.workspace, path, context.cancelled) as tree:
            yield tree
        return
    folder, _, name = context.workspace.locate(path).rpartition("/")
    with context.workspace.directory(folder or ".") as descriptor:
        yield Tree(descriptor, f"{folder}/" if folder else "", iter([Folder("", [name])]))


def _ripgrep(context: ToolContext, tree: Tree, start: Start) -> Ripgrep | None:
    root = context.workspace.root
    program = find_ripgrep(root)
    return program and Ripgrep(program, root / tree.base, start, _LARGEST)


def _blocks(base: str, folders: Iterable[Folder]) -> Iterator[_Block]:
    """Put files together that are searched in one go."""
    size, room = _SMALLEST_BLOCK, _SMALLEST_BLOCK
    block = list[Folder]()
    for folder in folders:
        names = folder.names
        while names:
            block.append(Folder(folder.path, names[:room]))
            names, room = names[room:], room - len(names[:room])
            if not room:
                yield _Block(base, block)
                size = min(2 * size, _LARGEST_BLOCK)
                block, room = [], size
    if block:
        yield _Block(base, block)


def _globbed(args: Glob, context: ToolContext) -> str:
    wanted = NameFilter(args.pattern)
    found = list[str]()
    with open_tree(context.workspace, args.path, context.cancelled) as tree:
        for folder in wanted.applied(msgspec.structs.replace(tree, base="")):
            found += [tree.base + folder.path + name for name in folder.names]
    notes = [f"[{_cut_words(tree.cut_ignore_files)}]"] if tree.cut_ignore_files else []
    if not found:
        none = (
            f"No file matches `{args.pattern}` in `{args.path}`. Files that `.gitignore` leaves out"
            " are not searched; list their directory with `list_dir`."
        )
        return "\n".join((none, *notes))
    lines = [one_line(path) for path in found[: args.limit]]
    if len(found) > args.limit:
        lines.append(f"[{len(found):,} files match; the first {args.limit:,} are shown]")
    return "\n".join(lines + notes)


def _summary(args: Grep, found: _Found, stopped: str) -> str:
    notes = list[str]()
    if found.skipped:
        notes.append(f"{found.skipped:,} binary or large files were skipped")
    if found.unread:
        notes.append(f"{found.unread:,} files could not be read")
    if found.withheld:
        notes.append(withheld_words(found.withheld))
    if found.cut_ignore_files:
        notes.append(_cut_words(found.cut_ignore_files))
    if stopped:
        notes.append(
            f"the search was {stopped}, after {found.searched:,} files, and the rest was not"
            f" searched: {_FASTER}"
        )
    more = "".join(f"; {note}" for note in notes)
    if not found.matches:
        return (
            f"No line matches `{args.pattern}` in `{args.path}`"
            f" ({found.searched:,} files searched{more}; `.gitignore` is respected)."
        )
    total = f"[{found.matches:,} lines match in {found.files:,} files"
    if found.matches > len(found.lines):
        total += f"; the first {len(found.lines):,} are shown"
    return "\n".join((*found.lines, f"{total}{more}]"))


def _cut_words(paths: Sequence[str]) -> str:
    return f"too many patterns: only the first ones of {_named(paths)} were applied"


def _named(paths: Sequence[str]) -> str:
    named = ", ".join(f"`{one_line(path)}`" for path in paths[:_MOST_NAMED])
    return named + (", …" if len(paths) > _MOST_NAMED else "")


def withheld_words(paths: Sequence[str]) -> str:
    """Return what to add about files that were left out for the credentials in them."""
    count = (
        "1 file that may hold credentials was"
        if len(paths) == 1
        else f"{len(paths):,} files that may hold credentials were"
    )
    return f"{count} left out ({_named(paths)}): use `read_file` to read one; the user is asked"
