"""Cells of Jupyter notebooks as text.

Format: https://nbformat.readthedocs.io/en/latest/format_description.html. The text of a notebook
has the sources of its cells, each after a line such as `# %% cell 1 (code)`. An edit of this text
changes the sources in the JSON of the file, and no other byte.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.tools.edits.text_edits import EditedText
from yourtool.tools.workspace.encoding import Encoding

SUFFIX = ".ipynb"
_EMPTY = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'
_MARKER = re.compile(r"^# %% cell ?(\d{0,6}) ?\((code|markdown|raw)\)[ \t]*\r?$", re.MULTILINE)
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class _Cell(Struct, frozen=True):
    """A cell in the text of a file."""

    start: int
    end: int
    kind: str
    source: str
    source_start: int
    source_end: int
    has_outputs: bool


class Notebook(Struct, frozen=True):
    """The text of a notebook file, with the places of its cells."""

    raw: str
    start: int
    """The bracket before the first cell."""
    end: int
    """After the bracket that follows the last one."""
    cells: tuple[_Cell, ...]

    @property
    def text(self) -> str:
        """The sources of the cells."""
        return "".join(
            f"# %% cell {number} ({cell.kind})\n{cell.source}{chr(10) if cell.source else ''}"
            for number, cell in enumerate(self.cells, 1)
        )

    @property
    def note(self) -> str:
        """A note for the reader of the text."""
        shown = [str(number) for number, cell in enumerate(self.cells, 1) if cell.has_outputs]
        outputs = f" without the outputs of {', '.join(shown)}" if shown else ""
        return (
            f"a notebook with {len(self.cells)} cells{outputs}; edit this text; a line"
            " `# %% cell (code)` or `(markdown)` adds a cell"
        )

    def replace(self, text: str) -> EditedText:
        """Return the file with the cells of a text, and a remark with those that changed.

        Raises:
            ToolError: the text does not start with the line of a cell.
        """
        marks = list(_MARKER.finditer(text))
        if text[: marks[0].start() if marks else None].strip():
            raise ToolError("the text of a notebook starts with a line such as `# %% cell (code)`")
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        parts, changed, used = list[str](), list[str](), 0
        for at, (mark, end) in enumerate(zip(marks, ends, strict=True), 1):
            source = text[mark.end() + 1 : end].removesuffix("\n").removesuffix("\r")
            number = int(mark[1] or 0)
            cell = self.cells[number - 1] if used < number <= len(self.cells) else None
            used = number if cell is not None else used
            if cell is None or cell.kind != mark[2]:
                parts.append(self._build_cell(mark[2], source, at))
            else:
                parts.append(self._build_source(cell, source))
            if cell is None or parts[-1] != self.raw[cell.start : cell.end]:
                changed.append(str(at))
        removed = len(self.cells) - sum(1 for mark in marks if mark[1])
        remark = f"Changed cells: {', '.join(changed) or 'none'}."
        return EditedText(self._join(parts), (remark + " Cells were removed." * (removed > 0),))

    def _join(self, parts: list[str]) -> str:
        """Return the file with other cells, with the space between those that it has."""
        first = self.cells[0] if self.cells else None
        between, head, tail = ",\n  ", "\n  ", "\n "
        if first is not None:
            head = self.raw[self.start + 1 : first.start]
            tail = self.raw[self.cells[-1].end : self.end - 1]
            between = f",{head}"
        ends = [cell.end for cell in self.cells]
        gaps = [
            self.raw[end : after.start] for end, after in zip(ends, self.cells[1:], strict=False)
        ]
        if len(parts) != len(self.cells):
            gaps = [between] * len(parts)
        joined = "".join(map("".join, zip(("", *gaps), parts, strict=False)))
        inside = f"{head}{joined}{tail}" if parts else ""
        return f"{self.raw[: self.start]}[{inside}]{self.raw[self.end :]}"

    def _build_source(self, cell: _Cell, source: str) -> str:
        """Return the JSON of a cell with another source, in the form that it has."""
        before = self.raw[cell.start : cell.source_start]
        old, after = (
            self.raw[cell.source_start : cell.source_end],
            self.raw[cell.source_end : cell.end],
        )
        if source == cell.source:
            return before + old + after
        if not old.startswith("["):
            return before + self._dump(source) + after
        head = _SPACE.match(old, 1)
        tail = old[len(old[:-1].rstrip()) : -1]
        space = head[0] if head else ""
        lines = map(self._dump, source.splitlines(keepends=True))
        return f"{before}[{space}{(',' + (space or ' ')).join(lines)}{tail}]{after}"

    def _build_cell(self, kind: str, source: str, at: int) -> str:
        cell: dict[str, Any] = {"cell_type": kind}
        cell["id"] = hashlib.sha256(
            f"{at} {len(self.raw)} {kind} {source}".encode(errors="replace")
        ).hexdigest()[:8]
        cell["metadata"] = {}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cell["source"] = source.splitlines(keepends=True)
        found = re.search(r'"nbformat_minor":\s*(\d+)', self.raw)
        if found is not None and int(found[1]) < 5:
            del cell["id"]
        dumped = json.dumps(dict(sorted(cell.items())), indent=1, ensure_ascii=self._is_escaped)
        return dumped.replace("\n", "\n  ")

    def _dump(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self._is_escaped)

    @property
    def _is_escaped(self) -> bool:
        return self.raw.isascii() and re.search(r"\\u[0-9a-fA-F]{4}", self.raw) is not None


def open_notebook(path: str, raw: str) -> Notebook | None:
    """Return the notebook in the text of a file; None if it has no clear text."""
    if not path.endswith(SUFFIX) or _find_problem(raw):
        return None
    try:
        places = {key: at for key, _, at, _ in _iter_members(raw, _skip(raw, 0))}
        cells = tuple(_read_cell(raw, at, end) for _, at, end in _iter_items(raw, places["cells"]))
        _, end = _DECODER.raw_decode(raw, places["cells"])
    except (KeyError, IndexError, TypeError, ValueError, RecursionError):
        return None
    if any(_MARKER.search(cell.source) for cell in cells):
        return None
    return Notebook(raw, places["cells"], end, cells)


def build_notebook(path: str, content: str, before: str) -> str:
    """Return the content of a file: that of a notebook can be given as the text of its cells.

    Raises:
        ToolError: the file is a notebook, and its content would not be valid JSON.
    """
    if not path.endswith(SUFFIX):
        return content
    if _MARKER.match(content.lstrip()):
        notebook = open_notebook(path, before) or open_notebook(path, _EMPTY)
        assert notebook is not None, "an empty notebook is one"
        return notebook.replace(content.lstrip()).text
    return _check(path, before, EditedText(content, ())).text


def edit_text(
    path: str, text: str, encoding: Encoding, apply: Callable[[str, Encoding], EditedText]
) -> EditedText:
    """Return the text of a file after an edit, which can be of the cells of a notebook.

    Raises:
        ToolError: the edit cannot be applied, or the notebook would not be valid JSON.
    """
    notebook = open_notebook(path, text)
    if notebook is None:
        return _check(path, text, apply(text, encoding))
    try:
        edited = apply(notebook.text, Encoding())
        replaced = notebook.replace(edited.text)
        edited = EditedText(replaced.text, (*replaced.remarks, *edited.remarks))
    except ToolError as error:
        try:
            edited = apply(text, encoding)
        except ToolError:
            raise error from None
    return _check(path, text, edited)


def _check(path: str, before: str, edited: EditedText) -> EditedText:
    """Return an edited text with a remark if it is no valid JSON any more.

    Raises:
        ToolError: it is that of a notebook.
    """
    if not path.endswith((".json", SUFFIX)) or not (problem := _find_problem(edited.text)):
        return edited
    if path.endswith(SUFFIX):
        raise ToolError(
            f"`{path}` would not be valid JSON, so nothing was changed: {problem}; read it with"
            " `read_file`, and edit the text of its cells"
        )
    if _find_problem(before):
        return edited
    remark = f"It was valid JSON and is not any more: {problem}."
    return EditedText(edited.text, (*edited.remarks, remark))


def _find_problem(text: str) -> str:
    """Return why a text is not valid JSON; empty if it is."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _read_cell(raw: str, start: int, end: int) -> _Cell:
    members = {key: (value, at, after) for key, value, at, after in _iter_members(raw, start)}
    value, at, after = members["source"]
    kind = cast("str", members["cell_type"][0])
    source = value if isinstance(value, str) else "".join(cast("list[str]", value))
    if kind not in ("code", "markdown", "raw"):
        raise ValueError(kind)
    has_outputs = bool(members.get("outputs", ("", 0, 0))[0])
    return _Cell(start, end, kind, source, at, after, has_outputs)


def _iter_members(raw: str, at: int) -> Iterator[tuple[str, Any, int, int]]:
    """Yield the members of an object: key, value, and the place of the value."""
    at = _skip(raw, at + 1)
    while raw[at] != "}":
        key, at = _DECODER.raw_decode(raw, at)
        at = _skip(raw, _skip(raw, at) + 1)
        value, end = _DECODER.raw_decode(raw, at)
        yield key, value, at, end
        at = _skip(raw, end)
        at = _skip(raw, at + 1) if raw[at] == "," else at


def _iter_items(raw: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Yield the items of an array with their places."""
    at = _skip(raw, at + 1)
    while raw[at] != "]":
        value, end = _DECODER.raw_decode(raw, at)
        yield value, at, end
        at = _skip(raw, end)
        at = _skip(raw, at + 1) if raw[at] == "," else at


def _skip(raw: str, at: int) -> int:
    found = _SPACE.match(raw, at)
    return found.end() if found else at
