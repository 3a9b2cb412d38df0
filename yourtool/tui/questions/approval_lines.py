"""Arguments and changes in an approval prompt."""

from collections.abc import Iterator

from rich.cells import cell_len

from yourtool.effects import Confirmation
from yourtool.foundation.text import escape_line_pieces, escape_pieces
from yourtool.messages.blocks import canonical_json
from yourtool.tui.lines.styled_lines import TAB


def argument_lines(confirmation: Confirmation) -> list[str]:
    """Return the arguments of a call without a preview, unescaped, one per line.

    Values are JSON, so that line feeds stay inside a value and numbers differ from strings.
    """
    return [
        f"{name if name.isidentifier() else _json(name)}: {_json(value)}"
        for name, value in (confirmation.input or {}).items()
    ]


def approval_line(text: str) -> str:
    """Return a line of a change; a tab is an arrow and spaces to its stop."""
    return "".join(approval_pieces(text))


def approval_pieces(text: str) -> Iterator[str]:
    """Yield the pieces of `approval_line`."""
    begin = column = 0
    while (end := text.find("\t", begin)) >= 0:
        for piece in escape_pieces(text[begin:end]):
            column += cell_len(piece)
            yield piece
        column += 1
        yield "⇥" + " " * (-column % TAB)
        begin, column = end + 1, 0
    yield from escape_line_pieces(text[begin:])


def _json(value: object) -> str:
    return canonical_json(value).decode()
