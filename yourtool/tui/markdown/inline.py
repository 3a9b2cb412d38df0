"""Emphasis, code, links: the Markdown inside one paragraph, as spans.

Follows CommonMark 0.31 (https://spec.commonmark.org/0.31.2/#inlines) and GFM's strikethrough;
raw HTML, reference links and footnotes are shown as they are written. Link targets are text.
"""

import html
import re
from dataclasses import dataclass, field

from yourtool.text import printable
from yourtool.tui.lines import Span

_SPECIAL = re.compile(r"[\\`*_~\[<&]|https?://")

_TOKEN = re.compile(
    r"""
    (?P<escape>\\[!-/:-@\[-`{-~])
  | (?P<code>(?P<ticks>`+)(?P<inside>.+?)(?<!`)(?P=ticks)(?!`))
  | (?P<ticks_alone>`+)
  | (?P<link>!?\[(?P<words>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,500})\]
      \(\s*<?(?P<target>[^\s()<>]*(?:\([^\s()]{0,200}\)[^\s()<>]*){0,4})>?
      (?:\s+(?:"[^"]{0,200}"|'[^']{0,200}'))?\s*\))
  | <(?P<auto>https?://[^\s<>]+)>
  | (?P<url>https?://[^\s<>"'`|*\]]*[^\s<>"'`|*\].,;:!?)])
  | (?P<line_break><br\s*/?>)
  | (?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)
  | (?P<run>\*+|_+|~~)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^\s()]*$")
_TRAILING_RUN = re.compile(r"(?:\*+|_+|~+)$")


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
        text = _OPEN_LINK.sub(r"\1", _TRAILING_RUN.sub("", text))
    pieces = _pieces(text, growing)
    _match_emphasis(pieces)
    return _spans(pieces, ink, growing)


def _pieces(text: str, growing: bool) -> list[_Piece]:
    pieces: list[_Piece] = []
    last = 0
    for match in _TOKEN.finditer(text):
        if match.start() > last:
            pieces.append(_Piece(text[last : match.start()]))
        last = match.end()
        if match["ticks_alone"] and growing:
            pieces.append(_Piece(text[match.end() :].rstrip("`"), "code"))
            return pieces
        pieces += _piece(match)
    pieces.append(_Piece(text[last:]))
    return pieces


def _piece(match: re.Match[str]) -> list[_Piece]:
    token = match.group()
    if match["escape"]:
        return [_Piece(token[1])]
    if match["code"]:
        inside = match["inside"].replace("\n", " ")
        if inside.strip() and inside[0] == inside[-1] == " ":
            inside = inside[1:-1]
        return [_Piece(inside, "code")]
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
    for piece in pieces:
        if piece.closes:
            _close(piece, openers)
        if piece.opens and piece.text:
            openers.append(piece)


def _close(closer: _Piece, openers: list[_Piece]) -> None:
    while closer.text:
        at = len(openers) - 1
        while at >= 0 and openers[at].text[:1] != closer.text[0]:
            at -= 1
        if at < 0:
            return
        opener = openers[at]
        del openers[at + 1 :]
        if closer.text[0] == "~":
            size, name = 2, "strike"
        else:
            size = 2 if len(opener.text) >= 2 and len(closer.text) >= 2 else 1
            name = "strong" if size == 2 else "em"
        opener.text, closer.text = opener.text[size:], closer.text[size:]
        opener.begin.append(name)
        closer.end.append(name)
        if not opener.text:
            openers.pop()


def _spans(pieces: list[_Piece], ink: str, growing: bool) -> list[Span]:
    spans: list[Span] = []
    active: list[str] = []
    for piece in pieces:
        for name in piece.end:
            active.remove(name)
        if growing and piece.opens and piece.text:
            active += _names(piece.text)
            piece.text = ""
        if piece.text:
            full = " ".join(part for part in (ink, *sorted(set(active)), piece.ink) if part)
            if spans and spans[-1][1] == full:
                spans[-1] = (spans[-1][0] + piece.text, full)
            else:
                spans.append((piece.text, full))
        active += piece.begin
    return spans


def _names(run: str) -> list[str]:
    if run[0] == "~":
        return ["strike"]
    return [["em"], ["strong"], ["em", "strong"]][min(len(run), 3) - 1]
