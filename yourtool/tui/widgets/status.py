"""The bottom line: which model, how much of its context, what it has cost, what goes on."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from yourtool.amounts import format_duration
from yourtool.events import (
    AnyFact,
    LlmCallCompleted,
    LlmCallFailed,
    LlmCallStarted,
    ToolCalled,
    ToolCompleted,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolFailed,
    TurnStarted,
)
from yourtool.text import printable
from yourtool.tui.widgets.card import CommandCard
from yourtool.tui.widgets.items import ErrorItem, Item
from yourtool.tui.widgets.texts import ThinkingItem

NARROW = 60
_GAP = "  "


class StatusFields(Struct, frozen=True, kw_only=True):
    """What the line says; empty parts are left out."""

    model: str = ""
    pending: str = ""
    mode: str = ""
    context: int | None = None
    """Per cent of the model's window."""
    cost: str = ""
    activity: str = ""
    seconds: int | None = None
    """How long the turn has run."""
    silent: int | None = None
    """For how many seconds a reply that has begun does not go on, where that is long."""
    queued: int = 0
    branch: str = ""
    urgent: str = ""
    """Words that must not be missed, for want of a better place."""
    directory: str = ""
    """The workspace, for the greeting; the line is too short for it."""
    fresh: bool = True
    """Nothing was said in this session yet."""


class Part(Struct, frozen=True):
    """A piece of the line; the lowest rank is the last to go."""

    rank: int
    text: str
    style: str


class StatusLine(Widget):
    """One row that drops its least important parts when there is no room."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; color: $text-muted; }
    """

    status: reactive[StatusFields] = reactive(StatusFields())

    def render(self) -> Content:
        """Draw what fits."""
        width = self.content_size.width
        kept = fitting(parts(self.status, narrow=self.app.size.width < NARROW), width)
        pieces = [Content.styled(part.text, part.style) for part in kept]
        return Content(_GAP).join(pieces).truncate(width, ellipsis=True)


def parts(status: StatusFields, *, narrow: bool) -> list[Part]:
    """Return the pieces of the line from left to right."""
    name = _short(status.model) if narrow else status.model
    found: list[Part] = []
    if status.urgent:
        found.append(Part(0, status.urgent, "$text-accent"))
    if status.activity:
        clock = "" if status.seconds is None else f" {format_duration(status.seconds)}"
        if status.silent is not None:
            clock += f", silent for {format_duration(status.silent)}"
        found.append(Part(0, f"{status.activity}{clock}", "$warning"))
    if name:
        swap = f" → {_short(status.pending)}" if status.pending else ""
        found.append(Part(1, f"{name}{swap}", "$text-primary"))
    if status.mode:
        is_auto = status.mode == "auto"
        found.append(Part(0 if is_auto else 2, status.mode, "$text-error" if is_auto else ""))
    if status.context is not None:
        style = "$text-error" if status.context >= 90 else "$text-warning"
        found.append(Part(3, f"{status.context}% ctx", style if status.context >= 75 else ""))
    if status.cost:
        found.append(Part(4, status.cost, ""))
    if status.queued:
        found.append(Part(5, f"{status.queued} queued", ""))
    if status.branch:
        found.append(Part(6, f"git:{printable(status.branch)}", ""))
    return found


def fitting(found: list[Part], width: int) -> list[Part]:
    """Drop parts, the highest rank first, until the rest fits; one always stays."""
    kept = list(found)
    while len(kept) > 1 and sum(cell_len(p.text) + len(_GAP) for p in kept) - len(_GAP) > width:
        kept.remove(max(kept, key=lambda part: part.rank))
    return kept


def doing(facts: Sequence[AnyFact], arriving: Item | None) -> str:
    """Return what a running turn does or waits for; `arriving` is the part of a reply that
    grows, the user's command, or a failure that is followed by another attempt.

    Only the facts since the last request are looked at.
    """
    if isinstance(arriving, CommandCard):
        return "running your command"
    settled: set[str] = set()
    running: list[str] = []
    asked = False
    for fact in reversed(facts):
        match fact:
            case ToolCompleted() | ToolFailed():
                settled.add(fact.tool_use_id)
            case ToolConfirmationResolved():
                settled.add(fact.confirmation_request_id)
            case ToolCalled() if fact.tool_use_id not in settled:
                running.append(printable(fact.tool_name))
            case ToolConfirmationRequested() if fact.confirmation_request_id not in settled:
                asked = True
            case LlmCallStarted() if arriving is None:
                return f"waiting for {printable(fact.provider)}"
            case LlmCallFailed() if isinstance(arriving, ErrorItem) and arriving.under_way:
                return f"waiting for {printable(fact.provider)}"
            case LlmCallFailed():
                return "waiting to try again"
            case LlmCallStarted() | LlmCallCompleted() | TurnStarted():
                break
            case _:
                pass
    if asked:
        return "waiting for you"
    if running:
        return f"running {running[0]}" if len(running) == 1 else f"running {len(running)} tools"
    if arriving is not None:
        return "thinking" if isinstance(arriving, ThinkingItem) else "writing"
    return "working"


def branch(workspace: Path) -> str:
    """Return the checked-out branch, or the start of the commit; empty outside a repository.

    Reads `HEAD` alone, as in https://git-scm.com/docs/gitrepository-layout; no process is started.
    """
    for directory in (workspace, *workspace.parents):
        marker = directory / ".git"
        try:
            if marker.is_file():  # a worktree or a submodule
                marker = directory / marker.read_text("utf-8").removeprefix("gitdir:").strip()
            head = (marker / "HEAD").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:8]
    return ""


def _short(model: str) -> str:
    return model.partition(":")[2] or model
