"""Results of `grep`."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from yourtool.tools.search.file_matcher import FoundLine, SearchAnswer
from yourtool.tools.workspace.path_resolution import printable_name

MAX_BYTES = 50_000
"""Maximum size of the lines in one result."""
NARROWING_HINT = "narrow `path` or `files`"
_MAX_NAMES = 5
_GAP = "--"
"""Between lines of a file that do not follow each other, and between files; as grep does."""


class GrepResult(Struct):
    """The accumulated result of a search."""

    limit: int
    """Maximum number of matches that are shown, or of files."""
    files_only: bool = False
    around: int = 0
    """Number of lines shown before and after each match; if there are any, gaps are marked."""
    lines: list[str] = field(default_factory=list[str])
    shown: int = 0
    """Number of matches in `lines`, or of files."""
    size: int = 0
    """Bytes of `lines`."""
    matches: int = 0
    files: int = 0
    searched: int = 0
    skipped: int = 0
    unread: int = 0
    withheld_files: list[str] = field(default_factory=list[str])
    """Files skipped because they may contain credentials."""
    truncated_ignore_files: list[str] = field(default_factory=list[str])

    def add(self, paths: Sequence[str], answer: SearchAnswer) -> None:
        """Add the result of a block of files, in their order."""
        self.skipped += answer.skipped
        self.unread += answer.unread
        self.searched += len(paths) - answer.skipped - answer.unread
        for index, count, quoted in answer.found:
            self.files += 1
            self.matches += count
            path = printable_name(paths[index])
            if self.files_only:
                self._show(f"{path}: {count:,}")
            else:
                self._add_quotes(path, quoted)

    def _add_quotes(self, path: str, quoted: Iterable[FoundLine]) -> None:
        above = match = -1
        for line in quoted:
            if line.is_match:
                match = line.number
            elif self.shown >= self.limit and not 0 <= match >= line.number - self.around:
                return  # it belongs to a match that is not shown
            has_gap = self.around and self.lines and line.number != above + 1
            mark = ":" if line.is_match else "-"
            text = f"{_GAP}\n" * bool(has_gap) + f"{path}{mark}{line.number}{mark} {line.text}"
            if not self._show(text, is_match=line.is_match):
                return
            above = line.number

    def _show(self, line: str, *, is_match: bool = True) -> bool:
        """Show a line if there is room for it."""
        size = len(line.encode("utf-8", "replace")) + 1
        if self.shown + is_match > self.limit or self.size + size > MAX_BYTES:
            return False
        self.lines.append(line)
        self.shown += is_match
        self.size += size
        return True

    def format(self, pattern: str, path: str, stopped: str) -> str:
        """Return the lines and the totals; `stopped` is why the search ended early."""
        more = "".join(f"; {note}" for note in self._iter_notes(stopped))
        if not self.matches:
            return (
                f"No line matches `{pattern}` in `{path}`"
                f" ({self.searched:,} files searched{more}; `.gitignore` is respected)."
            )
        total = f"[{self.matches:,} lines match in {self.files:,} files"
        if self.shown < (self.files if self.files_only else self.matches):
            total += f"; the first {self.shown:,} are shown"
        return "\n".join((*self.lines, f"{total}{more}]"))

    def _iter_notes(self, stopped: str) -> Iterator[str]:
        if self.skipped:
            yield f"{self.skipped:,} binary or large files were skipped"
        if self.unread:
            yield f"{self.unread:,} files could not be read"
        if self.withheld_files:
            yield withheld_note(self.withheld_files)
        if self.truncated_ignore_files:
            yield ignore_limit_note(self.truncated_ignore_files)
        if stopped:
            yield (
                f"the search was {stopped}, after {self.searched:,} files, and the rest were not"
                f" searched: {NARROWING_HINT}"
            )


def ignore_limit_note(paths: Sequence[str]) -> str:
    """Return a note about ignore files that were not read to their end."""
    return f"too many ignore patterns: only the first ones of {_format_names(paths)} were applied"


def withheld_note(paths: Sequence[str]) -> str:
    """Return a note about files that were skipped because they may contain credentials."""
    count = (
        "1 file that may contain credentials was"
        if len(paths) == 1
        else f"{len(paths):,} files that may contain credentials were"
    )
    names = _format_names(paths)
    return f"{count} skipped ({names}): read one with `read_file`, which needs the user's approval"


def _format_names(paths: Sequence[str]) -> str:
    named = ", ".join(f"`{printable_name(path)}`" for path in paths[:_MAX_NAMES])
    return named + (", …" if len(paths) > _MAX_NAMES else "")
