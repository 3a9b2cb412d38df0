"""Status line.

It shows the model, the approval mode, the context use and the cost.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from yourtool.foundation.text import printable
from yourtool.settings.config import Mode
from yourtool.settings.ui_config import StatusItem, UiConfig

MODE_WORDS: Mapping[Mode, tuple[str, str]] = {
    Mode.ASK: ("ask first", ""),
    Mode.ACCEPT_EDITS: ("⏵⏵ accept edits", "$text-success"),
    Mode.PLAN: ("⏸ plan only", "$text-warning"),
    Mode.AUTO: ("⏵⏵ auto: never ask", "$text-error"),
}
"""Words and colour of each mode in the status line."""
IMPORTANT_CONTEXT = 50
"""Percentage of the context window from which on it is shown."""
NARROW_COLUMNS = 60
_GAP = "  "


class StatusFields(Struct, frozen=True, kw_only=True):
    """The values of the status line; empty ones are omitted."""

    model: str = ""
    pending_model: str = ""
    key_mode: str = ""
    mode: str = ""
    context: int | None = None
    """Percentage of the context window in use."""
    cost: str = ""
    activity: str = ""
    """What the turn does, if the line under the last message is not visible."""
    queued: int = 0
    processes: int = 0
    """Processes that run in the background."""
    headroom: str = ""
    """What is left of a rate limit that is nearly used up."""
    branch: str = ""
    is_other_branch: bool = False
    """True if another branch was checked out when the session was opened."""
    sandbox: str = ""
    """The level that was measured at the first command, or `off`."""
    alert: str = ""
    """A short hint that is never dropped."""
    directory: str = ""
    """The workspace, for the greeting; not part of the line."""
    is_new_session: bool = True
    """Whether the session has no messages yet."""
    offers_tour: bool = False
    """Whether Enter starts the tour of the demo; for the greeting."""
    project_files: str = ""
    """Which files of the project configure the session; for the greeting."""


class StatusPart(Struct, frozen=True):
    """A part of the line; parts with a high rank are dropped first."""

    rank: int
    text: str
    style: str


class StatusLine(Widget):
    """One row that drops its least important parts if they do not fit."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; color: $text-muted; }
    """

    status: reactive[StatusFields] = reactive(StatusFields())
    items: Sequence[StatusItem] = UiConfig().status
    """The parts that the user chose; set before the first paint."""

    def render(self) -> Content:
        """Draw the parts that fit."""
        width = self.content_size.width
        narrow = self.app.size.width < NARROW_COLUMNS
        fitting = fit_parts(status_parts(self.status, narrow=narrow, items=self.items), width)
        pieces = [Content.styled(part.text, part.style) for part in fitting]
        return Content(_GAP).join(pieces).truncate(width, ellipsis=True)


def status_parts(
    status: StatusFields, *, narrow: bool, items: Sequence[StatusItem] = UiConfig().status
) -> list[StatusPart]:
    """Return the parts of the line from left to right; `items` are those that the user chose."""
    found: list[StatusPart] = []
    if status.alert:
        found.append(StatusPart(0, status.alert, "$text-accent"))
    if status.activity:
        found.append(StatusPart(0, status.activity, "$warning"))
    if status.key_mode:
        found.append(StatusPart(0, status.key_mode, "$text-accent"))
    if count := status.processes:
        words = "1 process" if count == 1 else f"{count} processes"
        found.append(StatusPart(1, words, "$text-accent"))
    if status.headroom:
        found.append(StatusPart(3, status.headroom, "$text-warning"))
    parts = _build_parts(status, narrow=narrow)
    shown = dict.fromkeys((*items, *_find_important(status)))
    return found + [parts[item] for item in shown if item in parts]


def _find_important(status: StatusFields) -> Iterator[StatusItem]:
    """Yield the parts that matter now, so that they are shown if the user chose others."""
    if status.mode == Mode.AUTO:
        yield "mode"
    if status.context is not None and status.context >= IMPORTANT_CONTEXT:
        yield "context"
    if status.is_other_branch:
        yield "branch"
    if status.sandbox != "full":
        yield "sandbox"


def _build_parts(status: StatusFields, *, narrow: bool) -> dict[StatusItem, StatusPart]:
    """Return the parts that have a value, by item."""
    found: dict[StatusItem, StatusPart] = {}
    if name := _short_name(status.model) if narrow else status.model:
        swap = f" → {_short_name(status.pending_model)}" if status.pending_model else ""
        found["model"] = StatusPart(1, f"{name}{swap}", "$text-primary")
    if status.mode:
        words, style = MODE_WORDS[Mode(status.mode)]
        found["mode"] = StatusPart(0 if status.mode == Mode.AUTO else 2, words, style)
    if status.context is not None:
        style = "$text-error" if status.context >= 90 else "$text-warning"
        style = style if status.context >= 75 else ""
        found["context"] = StatusPart(3, f"{status.context}% ctx", style)
    if status.cost:
        found["cost"] = StatusPart(4, status.cost, "")
    if status.queued:
        found["queued"] = StatusPart(5, f"{status.queued} queued", "")
    if status.branch:
        found["branch"] = StatusPart(6, f"git:{printable(status.branch)}", "")
    if status.sandbox not in ("", "off"):
        is_missing = status.sandbox == "none"
        text = "no sandbox" if is_missing else f"sandbox:{status.sandbox}"
        found["sandbox"] = StatusPart(7, text, "$text-warning" if is_missing else "")
    return found


def fit_parts(found: list[StatusPart], width: int) -> list[StatusPart]:
    """Return the parts that fit; the highest ranks are dropped first, one always stays."""
    fitting = list(found)
    while (
        len(fitting) > 1 and sum(cell_len(p.text) + len(_GAP) for p in fitting) - len(_GAP) > width
    ):
        fitting.remove(max(fitting, key=lambda part: part.rank))
    return fitting


def _short_name(model: str) -> str:
    return model.partition(":")[2] or model
