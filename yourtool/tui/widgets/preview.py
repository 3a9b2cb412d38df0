"""What a call would do, whole: the command, the change, or the arguments."""

from textual.content import Content
from textual.style import Style

from yourtool.effects import Confirmation
from yourtool.text import escaped, printable
from yourtool.tui.lines import Line, wrap
from yourtool.tui.questions import arguments
from yourtool.tui.widgets.block import Block
from yourtool.tui.widgets.diff import diff_lines

_INKS = (
    ("diff.added", "preview--added"),
    ("diff.removed", "preview--removed"),
    ("diff.", "preview--quiet"),
)


class PreviewText(Block):
    """Nothing is cut; the container scrolls."""

    DEFAULT_CSS = """
    PreviewText {
        .preview--added { color: $text-success; background: $success-muted; }
        .preview--removed { color: $text-error; background: $error-muted; }
        .preview--quiet { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES = {"preview--added", "preview--removed", "preview--quiet"}  # noqa: RUF012 - Textual's form

    def __init__(self) -> None:
        super().__init__()
        self._question: Confirmation | None = None
        self._drawn: tuple[int, list[Content]] = (0, [])

    def show(self, question: Confirmation) -> None:
        """Show what this question is about."""
        self._question, self._drawn = question, (0, [])
        self.changed()

    def rows(self, width: int) -> list[Content]:
        """Break the text for a width; kept until the width is another."""
        if self._drawn[0] != width:
            self._drawn = (width, self._made(width))
        return self._drawn[1]

    def _made(self, width: int) -> list[Content]:
        if self._question is None:
            return []
        preview = self._question.preview
        if preview is None:
            return _broken(arguments(self._question), width)
        match preview.kind:
            case "diff":
                return [self._diff_row(line, width) for line in diff_lines(preview.body, width)]
            case "command":
                return _broken(escaped(preview.body), width)
            case "text":
                return _broken(printable(preview.body), width)

    def _diff_row(self, line: Line, width: int) -> Content:
        pieces = [Content(text).stylize(self._style_of(ink)) for text, ink in line.spans]
        row = Content.assemble(*pieces)
        if not line.fill:
            return row
        return row.pad_right(max(0, width - row.cell_length)).stylize_before(
            self._style_of(line.fill)
        )

    def _style_of(self, ink: str) -> Style | str:
        for prefix, name in _INKS:
            if ink.startswith(prefix):
                return self.get_visual_style(name)
        return ""


def _broken(text: str, width: int) -> list[Content]:
    rows = wrap([(text, "")], width, words=False)
    return [Content("".join(part for part, _ in row)) for row in rows]
