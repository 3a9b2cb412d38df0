"""Findings of a review."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.errors import ToolError
from yourtool.foundation.text import storable
from yourtool.messages.blocks import canonical_json
from yourtool.tools.workspace.workspace import Workspace

SEVERITIES = ("high", "medium", "low")
_MAX_FINDINGS = 100
_MAX_TEXT = 600
"""Characters of a finding."""
_MAX_REPORT = 4_000
"""Characters of a report in another form, which is one finding."""
_MAX_DIGITS = 10
_MAX_FILE_BYTES = 10 * 2**20


class Finding(Struct, frozen=True):
    """A mistake in the changes."""

    text: str
    severity: str = "medium"
    file: str = ""
    """Relative to the workspace; empty: it has no place."""
    line: int = 0
    """From 1; 0: the whole file."""

    @property
    def place(self) -> str:
        """The file with the line, as `src/a.py:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file or "general"


class _Report(Struct):
    findings: list[Any]
    summary: str = ""


class _Item(Struct):
    text: str
    severity: str = ""
    file: str | None = None
    line: int | str | None = None


def parse_report(report: str) -> tuple[tuple[Finding, ...], str]:
    """Return the findings of a report, and its summary.

    The report is JSON, which can have text around it. In another form, it is one finding.
    """
    start, end = report.find("{"), report.rfind("}")
    try:
        found = msgspec.json.decode(report[max(0, start) : end + 1], type=_Report)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        text = storable(report.strip())[:_MAX_REPORT]
        return ((Finding(text),) if text else ()), ""
    findings = sorted(map(_build_finding, found.findings[:_MAX_FINDINGS]), key=_get_rank)
    return tuple(findings), _to_line(found.summary)


def check_place(finding: Finding, workspace: Workspace, changed: Iterable[str]) -> Finding:
    """Return a finding with a place that exists; blocks.

    A deleted file is a place if it is one of the `changed` ones.
    """
    if not finding.file:
        return replace(finding, line=0)
    stripped = finding.file.removeprefix("a/"), finding.file.removeprefix("b/")
    for name in (finding.file.removeprefix("./"), *stripped):
        lines = _count_lines(workspace, name)
        if lines is not None:
            return replace(finding, file=name, line=finding.line if finding.line <= lines else 0)
        if name in changed:
            return replace(finding, file=name, line=0)
    text = f"{finding.text} (It names `{finding.place}`, which does not exist.)"
    return replace(finding, text=text, file="", line=0)


def _build_finding(value: Any) -> Finding:
    """Return a finding in another form as a text without a place."""
    try:
        item = msgspec.convert(value, _Item)
    except msgspec.ValidationError:
        return Finding(
            _to_line(value if isinstance(value, str) else canonical_json(value).decode())
        )
    severity = item.severity.strip().lower()
    return Finding(
        _to_line(item.text),
        severity if severity in SEVERITIES else "medium",
        _to_line(item.file or ""),
        _parse_line(item.line),
    )


def _get_rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _to_line(text: str) -> str:
    return " ".join(storable(text).split())[:_MAX_TEXT]


def _parse_line(value: int | str | None) -> int:
    """Return a line number, the first one of a range as text."""
    if isinstance(value, str):
        first = value.partition("-")[0].strip()
        value = int(first) if first.isdecimal() and len(first) < _MAX_DIGITS else 0
    return max(value or 0, 0)


def _count_lines(workspace: Workspace, name: str) -> int | None:
    """Return the number of lines of a file; None: there is no such file."""
    try:
        if workspace.kind(name) != "file":
            return None
        if workspace.is_credential_file(name):
            return 0
        return len(workspace.read(name, limit=_MAX_FILE_BYTES).splitlines())
    except ToolError:
        return None
