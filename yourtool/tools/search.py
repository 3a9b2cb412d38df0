"""Finding files and text: `glob` and `grep`.

The search is our own: no program of the machine is run on the workspace, no option can be smuggled
into one, and what is opened is confined like everything else. Regular expressions run in a process
of their own (`tools.matcher`), which is killed when the call is stopped or takes too long.
"""

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field
from pathspec import GitIgnoreSpec

from yourtool.effects import SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.credential_files import is_credential_file
from yourtool.tools import matcher
from yourtool.tools.base import Args, ToolContext, tool
from yourtool.tools.tree import files
from yourtool.tools.walk import one_line

SECONDS = 30.0
"""How long a search may take."""

_LARGEST = 5 * 2**20
_SNIFFED = 8_192
_MOST_ALTERNATIVES = 100
_MOST_WITHHELD = 5
_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter may need of our environment, which holds keys."""
_BRACES = re.compile(r"\{([^{}]*)\}")
_Matches = list[tuple[int, str]]


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
    """Run `grep` with a limit of time.

    Raises:
        ToolError: the pattern or the path cannot be used, or the time is up.
    """
    try:
        re.compile(args.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError(
            f"`{args.pattern}` is not a regular expression: {error};"
            " put a backslash before a character that is meant literally"
        ) from error
    wanted = _spec(args.files) if args.files else None
    matching = Matching(args.pattern, ignore_case=args.ignore_case)
    # An event of its own: when the time is up, the call failed and was not cancelled.
    inner = msgspec.structs.replace(context, cancelled=threading.Event())
    work = asyncio.ensure_future(inner.blocking(_grepped, args, wanted, matching, inner))
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.shield(work)
    except TimeoutError:
        raise ToolError(
            f"the search was stopped after {seconds:g} s, in `{matching.current}`; narrow `path`"
            " or `files`, or simplify the pattern: nested repetition such as `(a+)+` can take"
            " forever",
            ToolFailure.TIMEOUT,
        ) from None
    finally:
        matching.kill()
        work.cancel()
        await asyncio.wait([work])


class Matching:
    """The process that matches; killed by `kill`, from any thread."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        self._head = ("i" if ignore_case else "-") + pattern
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self.current = ""
        """The file being searched."""

    def start(self) -> None:
        """Start it; blocking."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(matcher.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={name: os.environ[name] for name in _LIBRARIES if name in os.environ},
        )
        if self._killed:
            self.kill()
        self._send(self._head.encode("utf-8", "surrogatepass"))

    def matches(self, data: bytes) -> _Matches:
        """Return the number and text of every line that matches; blocking.

        Raises:
            OSError: the process was killed.
        """
        self._send(data)
        assert self._process is not None and self._process.stdout is not None
        if not (answer := self._process.stdout.readline()):
            raise BrokenPipeError
        return msgspec.json.decode(answer, type=_Matches)

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self._killed = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process and collect it; blocking."""
        self.kill()
        if self._process is not None:
            self._process.communicate()

    def _send(self, data: bytes) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(b"%d\n%b" % (len(data), data))
        self._process.stdin.flush()


class _Found(Struct):
    """What a search came to."""

    lines: list[str]
    matches: int = 0
    files: int = 0
    searched: int = 0
    skipped: int = 0
    withheld: list[str] = field(default_factory=list[str])
    """Files that may hold credentials."""


def _globbed(args: Glob, context: ToolContext) -> str:
    spec = _spec(args.pattern)
    base = context.workspace.locate(args.path)
    prefix = "" if base == "." else f"{base}/"
    found = [
        path
        for path in files(context.workspace, args.path, context.cancelled)
        if spec.match_file(path.removeprefix(prefix))
    ]
    if not found:
        return (
            f"No file matches `{args.pattern}` in `{args.path}`. Files that `.gitignore` leaves out"
            " are not searched; list their directory with `list_dir`."
        )
    lines = [one_line(path) for path in found[: args.limit]]
    if len(found) > args.limit:
        lines.append(f"[{len(found):,} files match; the first {args.limit:,} are shown]")
    return "\n".join(lines)


def _grepped(
    args: Grep, wanted: GitIgnoreSpec | None, matching: Matching, context: ToolContext
) -> str:
    found = _Found([])
    if context.workspace.kind(args.path) == "file":
        paths: Iterable[str] = (args.path,)
    else:
        paths = files(context.workspace, args.path, context.cancelled)
    agreed = context.workspace.is_credential_file(args.path)
    try:
        matching.start()
        for path in paths:
            if wanted is not None and not wanted.match_file(path):
                continue
            if not agreed and is_credential_file(path):
                found.withheld.append(path)
            else:
                _search_file(path, args.limit, matching, context, found)
    except (BrokenPipeError, ValueError):
        raise ToolError("the search was stopped", ToolFailure.CANCELLED) from None
    finally:
        matching.close()
    return _summary(args, found)


def _search_file(
    path: str, limit: int, matching: Matching, context: ToolContext, found: _Found
) -> None:
    matching.current = path
    try:
        data = context.workspace.read(path, limit=_LARGEST)
    except ToolError:
        found.skipped += 1
        return
    if b"\0" in data[:_SNIFFED]:
        found.skipped += 1
        return
    found.searched += 1
    if matches := matching.matches(data):
        found.files += 1
        found.matches += len(matches)
        room = limit - len(found.lines)
        found.lines += [f"{one_line(path)}:{line}: {text}" for line, text in matches[:room]]


def _summary(args: Grep, found: _Found) -> str:
    skipped = f"; {found.skipped:,} binary or large files were skipped" if found.skipped else ""
    skipped += withheld_words(found.withheld)
    if not found.matches:
        return (
            f"No line matches `{args.pattern}` in `{args.path}`"
            f" ({found.searched:,} files searched{skipped}; `.gitignore` is respected)."
        )
    total = f"[{found.matches:,} lines match in {found.files:,} files"
    if found.matches > len(found.lines):
        total += f"; the first {len(found.lines):,} are shown"
    return "\n".join((*found.lines, f"{total}{skipped}]"))


def withheld_words(paths: Sequence[str]) -> str:
    """Return what to add about files that were left out for the credentials in them."""
    if not paths:
        return ""
    named = ", ".join(f"`{one_line(path)}`" for path in paths[:_MOST_WITHHELD])
    more = ", …" if len(paths) > _MOST_WITHHELD else ""
    count = (
        "1 file that may hold credentials was"
        if len(paths) == 1
        else (f"{len(paths):,} files that may hold credentials were")
    )
    return f"; {count} left out ({named}{more}): to see one, `read_file` it, which asks the user"


def _spec(pattern: str) -> GitIgnoreSpec:
    """Read a glob as `.gitignore` would: without a slash it matches in any directory.

    Raises:
        ToolError: it leaves the directory, or is no pattern.
    """
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise ToolError(
            f"the pattern `{pattern}` leads out of the directory that is searched; give the"
            " directory as `path`, and a pattern relative to it",
            ToolFailure.PERMISSION_DENIED,
        )
    alternatives = list(_alternatives(pattern.removeprefix("./")))
    try:
        return GitIgnoreSpec.from_lines(re.sub(r"^([!#])", r"\\\1", line) for line in alternatives)
    except ValueError as error:
        raise ToolError(f"`{pattern}` is not a glob: {error}") from error


def _alternatives(pattern: str) -> Iterator[str]:
    """Write out `{a,b}`, of which pathspec knows nothing."""
    pending = [pattern]
    for _ in range(_MOST_ALTERNATIVES):
        if not pending:
            return
        if (braces := _BRACES.search(line := pending.pop())) is None:
            yield line
        else:
            pending += [
                line[: braces.start()] + part + line[braces.end() :]
                for part in braces[1].split(",")
            ]
    raise ToolError(f"`{pattern}` has more than {_MOST_ALTERNATIVES} alternatives; use fewer")
