"""Patch parser for OpenAI's format.

Format: https://cookbook.openai.com/examples/gpt4-1_prompting_guide and
https://github.com/openai/codex/blob/main/codex-rs/apply-patch/apply_patch_tool_instructions.md.
Unified diffs are understood, too:
https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html; their line numbers
are ignored. Costs are linear and limited.
"""

import re
from typing import TypeAlias

from msgspec import Struct

from yourtool.errors import ToolError, ToolFailure
from yourtool.tools.schema import format_input

MAX_CHARACTERS = 4_000_000
MAX_FILES = 100
MAX_HUNKS = 1_000
"""In one patch."""
_DIRECTIVE = re.compile(
    r"\*\*\* ?(?:(Begin Patch|End Patch|End of File)|(Add|Update|Delete) File:(.*)"
    r"|(Move to):(.*))",
    re.IGNORECASE,
)
_NUMBERED_HUNK = re.compile(r"@@ *-\d+(?:,\d+)? +\+\d+(?:,\d+)? *@@ ?(.*)")
_HEREDOC = re.compile(r"[^<>]{0,200}<<-?\s*(['\"]?)(\w{1,40})\1[^<>]{0,200}")
_GIT_HEADER = re.compile(r"(?:index [0-9a-f]|(?:old|new|new file|deleted file) mode \d).*")
_NO_FILE = "/dev/null"
_SECTIONS = "`*** Add File: PATH`, `*** Update File: PATH` or `*** Delete File: PATH`"


class PatchHunk(Struct, frozen=True):
    """Adjacent lines of a file, and the lines that replace them."""

    line: int
    """Where it starts in the patch, from 1."""
    anchors: tuple[str, ...]
    """Lines of the file before it, outermost first."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    is_at_end: bool
    """Whether it is at the end of the file."""


class AddedFile(Struct, frozen=True):
    """A new file."""

    line: int
    path: str
    content: str


class DeletedFile(Struct, frozen=True):
    """A file that does not exist afterwards."""

    line: int
    path: str


class UpdatedFile(Struct, frozen=True):
    """A file whose lines or whose path change."""

    line: int
    path: str
    target: str
    """The new path; empty: the same."""
    hunks: tuple[PatchHunk, ...]


FilePatch: TypeAlias = AddedFile | DeletedFile | UpdatedFile


class Patch(Struct, frozen=True):
    """The changes of several files, in order."""

    files: tuple[FilePatch, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files, as the model wrote them, each once."""
        found = list[str]()
        for each in self.files:
            found.append(each.path)
            if isinstance(each, UpdatedFile) and each.target:
                found.append(each.target)
        return tuple(dict.fromkeys(found))


def parse_patch(text: str) -> Patch:
    """Return the changes that a patch describes.

    Raises:
        ToolError: it is not a patch (`validation_error`), with the line and what was expected.
    """
    if len(text) > MAX_CHARACTERS:
        raise _build_error(f"it has more than {MAX_CHARACTERS:,} characters; send smaller patches")
    files = _Parser(_unwrap([line.removesuffix("\r") for line in text.split("\n")])).parse()
    if not files:
        raise _build_error(f"it changes no file; expected {_SECTIONS}")
    return Patch(tuple(files))


def _build_error(problem: str) -> ToolError:
    return ToolError(
        f"The patch was not applied, and nothing was changed: {problem}.",
        ToolFailure.VALIDATION_ERROR,
    )


def _unwrap(lines: list[str]) -> list[str]:
    """Return the lines with those of a command or of a Markdown fence around the patch blank."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    for first, last in zip(filled, reversed(filled), strict=True):
        opening, closing = lines[first].strip(), lines[last].strip()
        if first >= last:
            break
        if (heredoc := _HEREDOC.fullmatch(opening)) is not None:
            ends = closing == heredoc[2]
        elif opening.startswith("```"):
            ends = closing == "```"
        else:
            break
        lines[first] = ""
        lines[last] = "" if ends else lines[last]
        if not ends:
            break
    return lines


class _Parser:
    """Reads the lines of a patch from the first to the last."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._hunks = 0

    def parse(self) -> list[FilePatch]:
        """Return the changed files."""
        files = list[FilePatch]()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip() or self._directive("Begin Patch", "End Patch"):
                self._at += 1
                continue
            if len(files) == MAX_FILES:
                raise _build_error(f"it changes more than {MAX_FILES} files; send smaller patches")
            if line.startswith("diff --git "):
                self._skip_git_headers()
            if self._is_unified_header():
                files.append(self._parse_unified())
            else:
                files.append(self._parse_section())
        return files

    def _parse_section(self) -> FilePatch:
        found = _DIRECTIVE.fullmatch(self._lines[self._at].rstrip())
        if found is None or not found[2]:
            raise self._fail(_SECTIONS)
        number, path = self._at + 1, found[3].strip()
        if not path:
            raise self._fail("a path after the colon")
        self._at += 1
        match found[2].lower():
            case "add":
                return AddedFile(number, path, self._parse_content(is_unified=False))
            case "delete":
                self._skip_removed(is_unified=False)
                return DeletedFile(number, path)
            case _:
                return self._parse_update(number, path)

    def _parse_update(self, number: int, path: str) -> UpdatedFile:
        self._skip_blank()
        target = ""
        if (move := self._directive("Move to")) is not None:
            target = move[5].strip()
            if not target:
                raise self._fail("a path after `*** Move to:`")
            self._at += 1
        if self._is_unified_header():
            self._at += 2
        hunks = self._parse_hunks(is_unified=False)
        if not hunks and not target:
            raise self._fail("`@@` and changed lines after `*** Update File`")
        return UpdatedFile(number, path, target, hunks)

    def _parse_unified(self) -> FilePatch:
        number = self._at + 1
        old, new = (self._lines[self._at + row][4:].partition("\t")[0].strip() for row in range(2))
        if (old == _NO_FILE or old.startswith("a/")) and (new == _NO_FILE or new.startswith("b/")):
            old, new = (name if name == _NO_FILE else name[2:] for name in (old, new))
        self._at += 2
        if old == _NO_FILE:
            return AddedFile(number, new, self._parse_content(is_unified=True))
        if new == _NO_FILE:
            self._skip_removed(is_unified=True)
            return DeletedFile(number, old)
        hunks = self._parse_hunks(is_unified=True)
        if not hunks:
            raise self._fail("`@@` and changed lines")
        return UpdatedFile(number, old, "" if new == old else new, hunks)

    def _parse_content(self, *, is_unified: bool) -> str:
        """Return the content of a new file."""
        found, end = list[str](), "\n"
        while not self._is_section_end(is_unified=is_unified):
            line = self._lines[self._at]
            if line.startswith("+"):
                found.append(line[1:])
            elif not line.strip():
                found.append("")
            elif line.startswith("\\"):
                end = ""
            elif not (line.startswith("@@") or self._directive("End of File")):
                raise self._fail("`+` before each line of a new file")
            self._at += 1
        last = self._at
        while found and not found[-1] and not self._lines[last - 1].strip():
            found.pop()
            last -= 1
        return "\n".join(found) + end if found else ""

    def _skip_removed(self, *, is_unified: bool) -> None:
        """Skip the lines of a deleted file."""
        while not self._is_section_end(is_unified=is_unified):
            line = self._lines[self._at]
            if line.strip() and not line.startswith(("-", "@@", "\\")):
                raise self._fail(f"nothing after `*** Delete File`, or {_SECTIONS}")
            self._at += 1

    def _parse_hunks(self, *, is_unified: bool) -> tuple[PatchHunk, ...]:
        hunks, anchors, body = list[PatchHunk](), list[str](), list[str]()
        number = 0

        def finish(*, is_at_end: bool = False) -> None:
            nonlocal number
            while body and not body[-1]:
                body.pop()  # blank lines that separate the parts of the patch
            if body:
                hunks.append(self._build_hunk(number, anchors, body, is_at_end=is_at_end))
                anchors.clear()
                body.clear()
                number = 0

        while not self._is_section_end(is_unified=is_unified):
            line = self._lines[self._at]
            if line.startswith("@@"):
                if any(body):
                    finish()
                body.clear()
                number = number or self._at + 1
                anchors += filter(None, [_get_anchor(line)])
            elif self._directive("End of File"):
                finish(is_at_end=True)
            elif not line or line[0] in " +-":
                number = number or self._at + 1
                body.append(line)
            elif not line.startswith("\\"):
                raise self._fail("` `, `+` or `-` before each line of a hunk, or `@@`")
            self._at += 1
        finish()
        if anchors:
            raise self._fail("lines with ` `, `+` or `-` after `@@`")
        return tuple(hunks)

    def _build_hunk(
        self, number: int, anchors: list[str], body: list[str], *, is_at_end: bool
    ) -> PatchHunk:
        self._hunks += 1
        if self._hunks > MAX_HUNKS:
            raise _build_error(f"it has more than {MAX_HUNKS:,} hunks; send smaller patches")
        old = tuple(line[1:] for line in body if line[:1] != "+")
        new = tuple(line[1:] for line in body if line[:1] != "-")
        return PatchHunk(number, tuple(anchors), old, new, is_at_end)

    def _directive(self, *names: str) -> re.Match[str] | None:
        """Return the present line, if it is one of these directives."""
        if self._at >= len(self._lines):
            return None
        found = _DIRECTIVE.fullmatch(self._lines[self._at].rstrip())
        name = (found[1] or found[4] or "").lower() if found else ""
        return found if name in (each.lower() for each in names) else None

    def _is_unified_header(self) -> bool:
        lines = self._lines[self._at : self._at + 3]
        return len(lines) == 3 and all(map(str.startswith, lines, ("--- ", "+++ ", "@@")))

    def _is_section_end(self, *, is_unified: bool) -> bool:
        """Whether the present line belongs to another file, or is behind the last one."""
        if self._at >= len(self._lines):
            return True
        line = self._lines[self._at]
        if line.startswith("***") and (found := _DIRECTIVE.fullmatch(line.rstrip())) is not None:
            return bool(found[2]) or (found[1] or "").lower() in ("begin patch", "end patch")
        return line.startswith("diff --git ") or (is_unified and self._is_unified_header())

    def _skip_blank(self) -> None:
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1

    def _skip_git_headers(self) -> None:
        self._at += 1
        while self._at < len(self._lines) and _GIT_HEADER.fullmatch(self._lines[self._at]):
            self._at += 1
        if not self._is_unified_header():
            raise self._fail("`--- a/PATH`, `+++ b/PATH` and `@@`")

    def _fail(self, expected: str) -> ToolError:
        """Return the error for the present line."""
        if self._at >= len(self._lines):
            return _build_error(f"it ends after line {len(self._lines)}; expected {expected}")
        found = format_input(self._lines[self._at])
        return _build_error(f"line {self._at + 1} is {found}; expected {expected}")


def _get_anchor(line: str) -> str:
    """Return the line of the file that a line with `@@` names; empty if it names none."""
    if (numbered := _NUMBERED_HUNK.fullmatch(line)) is not None:
        return numbered[1].strip()
    text = line[2:].removesuffix("@@")
    return text[1:].rstrip() if text.startswith(" ") else text.rstrip()
