"""The search tools `glob` and `grep`.

They read only files of the workspace, in threads.
"""

import asyncio
import os
import threading
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.amounts import format_count
from yourtool.permissions import credential_search
from yourtool.tools.base import Args, ToolContext, ToolOutput, build_reading, tool
from yourtool.tools.search import file_matcher, grep_result
from yourtool.tools.search.name_filter import NameFilter
from yourtool.tools.workspace.directory_walk import Folder, Tree, open_tree, sort_newest_first
from yourtool.tools.workspace.path_resolution import printable_name

TIMEOUT_SECONDS = 30.0
"""Timeout of a search."""

_MIN_BLOCK_FILES, _MAX_BLOCK_FILES = 128, 2_048
"""Number of files per block: few at first, so that a small search uses all processors."""
_WORKERS = min(4, max(2, os.cpu_count() or 1))
"""Blocks searched in parallel: more than one, so that a slow file does not stop the others."""


class Glob(Args, frozen=True):
    """Arguments of `glob`."""

    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            description=("Such as `*.py` (in any directory), `src/**/test_*.py` or `*.{ts,tsx}`."),
        ),
    ]
    path: str = "."
    newest_first: bool = False
    limit: Annotated[int, Meta(ge=1, le=2_000)] = 500


class Grep(Args, frozen=True):
    """Arguments of `grep`."""

    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            description="RE2 regular expression.",
        ),
    ]
    path: Annotated[str, Meta(description="File or directory.")] = "."
    files: Annotated[str, Meta(description="Only those that match, such as `*.py`.")] = ""
    ignore_case: bool = False
    literal: Annotated[bool, Meta(description="The pattern is plain text.")] = False
    context: Annotated[int, Meta(ge=0, le=20, description="Lines around each match.")] = 0
    files_only: Annotated[bool, Meta(description="Only paths and counts.")] = False
    newest_first: bool = False
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


@tool(SideEffects.READ)
async def glob(args: Glob, context: ToolContext) -> ToolOutput:
    """Find files by name; files ignored by `.gitignore` are skipped."""
    return await context.run_in_thread(_glob, args, context)


@tool(SideEffects.READ)
async def grep(args: Grep, context: ToolContext) -> ToolOutput:
    """Search files line by line; returns `path:line: text` and the number of matches.

    Skips files that are binary, large or ignored by `.gitignore`, and those that may contain
    credentials, such as `.env`, unless `path` names one.
    """
    return await search(args, context, seconds=TIMEOUT_SECONDS)


async def search(args: Grep, context: ToolContext, *, seconds: float) -> ToolOutput:
    """Run `grep` with a timeout; matches found by then are returned.

    Raises:
        ToolError: the pattern or the path is invalid, or no file was searched before the timeout.
    """
    grep_run = _GrepRun(args)
    # A separate event: a timeout is a failure of the call, not a cancellation.
    inner = msgspec.structs.replace(context, cancelled=threading.Event())
    work = asyncio.ensure_future(inner.run_in_thread(grep_run.run, inner))
    try:
        async with asyncio.timeout(seconds):
            await asyncio.shield(work)
        stopped = ""
    except TimeoutError:
        stopped = f"stopped after {seconds:g} s, in {grep_run.current}"
    finally:
        grep_run.stop()
        work.cancel()
        await asyncio.wait([work])
    if stopped and not grep_run.result.searched:
        raise ToolError(
            f"the search was {stopped}; {grep_result.NARROWING_HINT}", ToolFailure.TIMEOUT
        )
    result = grep_run.result
    amount = format_count(result.matches, "match", "matches")
    text = result.format(args.pattern, args.path, stopped)
    return build_reading(text, amount, note_lines=result.matches > 0)


class _FileBlock(Struct, frozen=True):
    """Files that are searched in one request."""

    base: str
    folders: list[Folder]

    @property
    def paths(self) -> list[str]:
        return [self.base + each.path + name for each in self.folders for name in each.names]


class _GrepRun:
    """One search; `result` is complete when `run` returns."""

    def __init__(self, args: Grep) -> None:
        self._args = args
        self._name_filter = NameFilter(args.files) if args.files else None
        self._matcher: file_matcher.FileMatcher | None = None
        self._blocks: list[tuple[_FileBlock, Future[file_matcher.SearchAnswer]]] = []
        self._stopped = False
        self._is_path_approved = False
        """Whether `path` names a credential file, so that the approval covers it."""
        self.result = grep_result.GrepResult(args.limit, args.files_only, args.context)

    @property
    def current(self) -> str:
        """The files that are being searched, formatted for a message."""
        for block, answer in self._blocks[:]:
            if not answer.done():
                paths = block.paths
                first, last = printable_name(paths[0]), printable_name(paths[-1])
                more = f"the {len(paths)} files from `{first}` to `{last}`"
                return f"`{first}`" if len(paths) == 1 else more
        return "the list of files"

    def run(self, context: ToolContext) -> None:
        """Run the search; blocking.

        Raises:
            ToolError: the pattern or the path is invalid, or the search was stopped.
        """
        self._is_path_approved = context.workspace.is_credential_file(self._args.path)
        own = context.workspace.own_files()
        with _open_target(context, self._args.path) as tree:
            excluded = own.directories | own.entries
            if not self._is_path_approved:
                excluded |= context.workspace.linked_credential_files()
            start = file_matcher.SearchRoot(tree.descriptor, excluded)
            pattern = _build_pattern(self._args)
            self._matcher = matcher = file_matcher.FileMatcher(pattern, start, context.mask)
            if self._stopped:
                matcher.stopped.set()
            try:
                with ThreadPoolExecutor(_WORKERS) as workers:
                    self._search(workers, matcher, tree, context.workspace.root)
                for _, answer in self._blocks:
                    answer.result()
            except file_matcher.SearchStoppedError:
                raise ToolError("the search was stopped", ToolFailure.CANCELLED) from None
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise ToolError(f"the search failed: {reason}; try again") from error
            finally:
                self.result.truncated_ignore_files = tree.truncated_ignore_files
                self._collect()

    def stop(self) -> None:
        """Stop the search soon; thread-safe."""
        self._stopped = True
        if self._matcher is not None:
            self._matcher.stopped.set()

    def _search(
        self,
        workers: ThreadPoolExecutor,
        matcher: "file_matcher.FileMatcher",
        tree: Tree,
        root: Path,
    ) -> None:
        running = set[Future[file_matcher.SearchAnswer]]()
        folders = tree.folders if self._name_filter is None else self._name_filter.filter_tree(tree)
        if not self._is_path_approved:
            folders = self._without_credentials(tree.base, folders, root)
        if self._args.newest_first:
            folders = sort_newest_first(tree.descriptor, folders)
        for block in _blocks(tree.base, folders):
            running.add(answer := workers.submit(matcher.search, block.folders))
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
            # The full path is checked, because the workspace itself can be `~/.kube`.
            if withheld := credential_search.find_withheld(root / path, folder.names, root):
                self.result.withheld_files += [
                    path + name for name in folder.names if name in withheld
                ]
                names = [name for name in folder.names if name not in withheld]
                folder = Folder(folder.path, names)
            yield folder

    def _collect(self) -> None:
        """Add the results of all finished blocks, in the order of the files."""
        for block, answer in self._blocks:
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                self.result.add(block.paths, answer.result())


def _build_pattern(args: Grep) -> "file_matcher.SearchPattern":
    return file_matcher.SearchPattern(
        args.pattern,
        args.ignore_case,
        args.literal,
        0 if args.files_only else args.limit,
        0 if args.files_only else args.context,
    )


@contextmanager
def _open_target(context: ToolContext, path: str) -> Generator[Tree, None, None]:
    """Open the tree below a directory, or a tree with a single file."""
    if context.workspace.kind(path) != "file":
        with open_tree(context.workspace, path, context.cancelled) as tree:
            yield tree
        return
    folder, _, name = context.workspace.locate(path).rpartition("/")
    with context.workspace.directory(folder or ".") as descriptor:
        yield Tree(descriptor, f"{folder}/" if folder else "", iter([Folder("", [name])]))


def _blocks(base: str, folders: Iterable[Folder]) -> Iterator[_FileBlock]:
    """Group files into blocks of increasing size."""
    size, room = _MIN_BLOCK_FILES, _MIN_BLOCK_FILES
    block = list[Folder]()
    for folder in folders:
        names = folder.names
        while names:
            block.append(Folder(folder.path, names[:room]))
            names, room = names[room:], room - len(names[:room])
            if not room:
                yield _FileBlock(base, block)
                size = min(2 * size, _MAX_BLOCK_FILES)
                block, room = [], size
    if block:
        yield _FileBlock(base, block)


def _glob(args: Glob, context: ToolContext) -> ToolOutput:
    name_filter = NameFilter(args.pattern)
    found = list[str]()
    with open_tree(context.workspace, args.path, context.cancelled) as tree:
        folders = name_filter.filter_tree(msgspec.structs.replace(tree, base=""))
        if args.newest_first:
            folders = sort_newest_first(tree.descriptor, folders)
        for folder in folders:
            found += [tree.base + folder.path + name for name in folder.names]
    notes = (
        [f"[{grep_result.ignore_limit_note(tree.truncated_ignore_files)}]"]
        if tree.truncated_ignore_files
        else []
    )
    if not found:
        none = (
            f"No file matches `{args.pattern}` in `{args.path}`. Files ignored by `.gitignore` are"
            " skipped; list their directory with `list_dir`."
        )
        return build_reading("\n".join((none, *notes)), "0 files", len(notes))
    lines = [printable_name(path) for path in found[: args.limit]]
    if len(found) > args.limit:
        notes.insert(0, f"[{len(found):,} files match; the first {args.limit:,} are shown]")
    return build_reading("\n".join(lines + notes), format_count(len(found), "file"), len(notes))
