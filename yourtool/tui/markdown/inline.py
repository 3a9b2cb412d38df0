"""Emphasis, code, links: the Markdown inside one paragraph, as spans.

Follows CommonMark 0.31 (https://spec.commonmark.org/0.31.2/#inlines) and GFM's strikethrough;
raw HTML, reference links and footnotes are shown as they are written. Link targets are text.
Every step takes time linear in the length of the text, whatever is in it.
"""

import html
import re
from collections import Counter, deque
from dataclasses import dataclass, field

from yourtool.text import printable
from yourtool.tui.styled_lines import Span

_SPECIAL = re.compile(r"[\\`*_~\[<&]|https?://")

_TOKEN = re.compile(
    r"""
    (?P<escape>\\[!-/:-@\[-`{-~])
  | (?P<ticks>`+)
  | (?P<link>!?\[(?P<words>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,500})\]
      \(\s*+<?(?P<target>[^\s()<>]*(?:\([^\s()]{0,200}\)[^\s()<>]*){0,4})>?
      (?:\s++(?:"[^"]{0,200}"|'[^']{0,200}'))?\s*+\))
  | <(?P<auto>https?://[^\s<>]+)>
  | (?P<url>https?://[^\s<>"'`|*\]]*[^\s<>"'`|*\].,;:!?)])
  | (?P<line_break><br\s*/?>)
  | (?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)
  | (?P<run>\*+|_+|~~)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^\s()]*$")
_TICKS = re.compile(r"`+")
_EMPHASES = ("em", "strike", "strong")


@dataclass(slots=True)
class _Piece:
    """Literal text, or a run of delimiters that may open or close emphasis."""

    text: str
    ink: str = ""
    opens: bool = False
    closes: bool = False
    begin: list[str] = field(default_factory=list[str])
    end: list[str] = field(default_factory=list[str])


def inline(text: str, ink: str = "", *, growing: bool = False) -> list[Span]:
    """Return the spans of a paragraph's text.

    With `growing` more text may follow: what is open counts as closed at the end, and a marker at
    the very end is held back, so that nothing changes its look when the rest arrives. A tab is a
    space here: in running text there is no column that it could stop at.
    """
    text = text.replace("\t", " ")
    if not _SPECIAL.search(text):
        return [(text, ink)] if text else []
    if growing:
        if text[-1] in "*_~":
            text = text.rstrip(text[-1])
        text = _OPEN_LINK.sub(r"\1", text)
    pieces = _pieces(text, growing)
    _match_emphasis(pieces)
    return _spans(pieces, ink, growing)


def _pieces(text: str, growing: bool) -> list[_Piece]:
    pieces: list[_Piece] = []
    closings = _CodeEnds(text)
    last = 0
    while match := _TOKEN.search(text, last):
        if match.start() > last:
            pieces.append(_Piece(text[last : match.start()]))
        last = match.end()
        if not match["ticks"]:
            pieces += _piece(match)
        elif (closing := closings.after(match)) is not None:
            pieces.append(_code(text[last : closing.start()]))
            last = closing.end()
        elif growing:
            pieces.append(_Piece(text[last:].rstrip("`"), "code"))
            return pieces
        else:
            pieces.append(_Piece(match["ticks"]))
    pieces.append(_Piece(text[last:]))
    return pieces


class _CodeEnds:
    """Finds the runs of backticks that end code; each run is looked at once."""

    def __init__(self, text: str) -> None:
        self._by_length: dict[int, deque[re.Match[str]]] = {}
        for run in _TICKS.finditer(text):
            self._by_length.setdefault(len(run[0]), deque()).append(run)

    def after(self, opening: re.Match[str]) -> re.Match[str] | None:
        """Return the next run as long as `opening`; ask in the order of the text."""
        runs = self._by_length.get(len(opening["ticks"]), deque())
        while runs and runs[0].start() < opening.end():
            runs.popleft()
        return runs[0] if runs else None


def _code(inside: str) -> _Piece:
    words = inside.replace("\n", " ")
    if words.strip() and words[0] == words[-1] == " ":
        words = words[1:-1]
    return _Piece(words, "code")


def _piece(match: re.Match[str]) -> list[_Piece]:
    token = match.group()
    if match["escape"]:
        return [_Piece(token[1])]
    if match["link"]:
        return _link(match)
    if match["auto"] or match["url"]:
        return [_Piece(match["auto"] or token, "link")]
    if match["line_break"]:
        return [_Piece("\n")]
    if match["entity"]:
        return [_Piece(printable(html.unescape(token)).replace("\n", " "))]
    if match["run"]:
        return [_run(match)]
    return [_Piece(token)]


def _link(match: re.Match[str]) -> list[_Piece]:
    words, target = match["words"], match["target"]
    shown = [_Piece(text, f"{ink} link".strip()) for text, ink in inline(words)]
    if match.group().startswith("!"):
        shown.insert(0, _Piece("image: ", "muted"))
    if target and target not in (words, f"mailto:{words}"):
        web = target.startswith(("http://", "https://"))
        shown.append(_Piece(f" ({target})", "url" if web else "muted"))
    return shown


def _run(match: re.Match[str]) -> _Piece:
    """Classify a delimiter run by what stands beside it (left- and right-flanking)."""
    text, run = match.string, match.group()
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    space_before, space_after = before.isspace(), after.isspace()
    sign_before, sign_after = _is_sign(before), _is_sign(after)
    left = not space_after and (not sign_after or space_before or sign_before)
    right = not space_before and (not sign_before or space_after or sign_after)
    if run[0] == "_":
        return _Piece(
            run,
            opens=left and (not right or sign_before),
            closes=right and (not left or sign_after),
        )
    return _Piece(run, opens=left, closes=right)


def _is_sign(char: str) -> bool:
    return not char.isalnum() and not char.isspace()


def _match_emphasis(pieces: list[_Piece]) -> None:
    openers: list[_Piece] = []
    waiting = Counter[str]()  # how many of the openers there are of each character
    for piece in pieces:
        if piece.closes:
            _close(piece, openers, waiting)
        if piece.opens and piece.text:
            openers.append(piece)
            waiting[piece.text[0]] += 1


def _close(closer: _Piece, openers: list[_Piece], waiting: Counter[str]) -> None:
    while closer.text and waiting[closer.text[0]]:
        opener = openers[-1]
        if opener.text[0] != closer.text[0]:
            waiting[openers.pop().text[0]] -= 1
            continue
        if closer.text[0] == "~":
            size, name = 2, "strike"
        else:
            size = 2 if len(opener.text) >= 2 and len(closer.text) >= 2 else 1
            name = "strong" if size == 2 else "em"
        if len(opener.text) == size:
            waiting[openers.pop().text[0]] -= 1
        opener.text, closer.text = opener.text[size:], closer.text[size:]
        opener.begin.append(name)
        closer.end.append(name)


def _spans(pieces: list[_Piece], ink: str, growing: bool) -> list[Span]:
    spans: list[Span] = []
    active = Counter[str]()
    for piece in pieces:
        active.subtract(piece.end)
        if growing and piece.opens and piece.text:
            active.update(_names(piece.text))
            piece.text = ""
        if piece.text:
            names = [name for name in _EMPHASES if active[name] > 0]
            full = " ".join(part for part in (ink, *names, piece.ink) if part)
            if spans and spans[-1][1] == full:
                spans[-1] = (spans[-1][0] + piece.text, full)
            else:
                spans.append((piece.text, full))
        active.update(piece.begin)
    return spans


def _names(run: str) -> list[str]:
    if run[0] == "~":
        return ["strike"]
    return [["em"], ["strong"], ["em", "strong"]][min(len(run), 3) - 1]
