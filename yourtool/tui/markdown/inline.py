"""Inline Markdown as spans.

Follows CommonMark 0.31 (https://spec.commonmark.org/0.31.2/#inlines) and GFM's strikethrough;
raw HTML, reference links and footnotes are shown as source. Link targets are shown as text, and
addresses of the web can be opened. Names
with two underscores, paths, products and formulas keep the characters that would be emphasis, and
emphasis next to CJK punctuation is one (https://github.com/commonmark/commonmark-spec/issues/650).
Every step takes time linear in the length of the text, for any content.
"""

import html
import re
from collections import Counter, deque

from msgspec import Struct, field

from yourtool.foundation.text import printable
from yourtool.foundation.web_links import parse_link
from yourtool.tui.lines.styled_lines import TARGET, Span

_SPECIAL = re.compile(r"[\\`*_~\[<&$]|https?://")

_TOKEN = re.compile(
    r"""
    (?P<source>\\\(.{1,300}?\\\) | \\\[.{1,1000}?\\\] | \$\$.{1,1000}?\$\$
      | (?<![A-Za-z0-9_])__[a-z0-9]{1,50}(?:_[a-z0-9]{1,50}){0,9}__(?![A-Za-z0-9_]))
  | (?P<escape>\\[!-/:-@\[-`{-~])
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


class _Token(Struct):
    """Literal text, or a run of delimiters that may open or close emphasis."""

    text: str
    style: str = ""
    length: int = 0
    """Of the complete run."""
    opens: bool = False
    closes: bool = False
    starts: list[str] = field(default_factory=list[str])
    ends: list[str] = field(default_factory=list[str])


def parse_inline(text: str, style: str = "", *, growing: bool = False) -> list[Span]:
    """Return the spans of a paragraph's text.

    With `growing`, more text may follow: open markup is closed at the end, and a marker at the
    very end is not shown yet, so that text does not change its style when the rest arrives. A tab
    becomes a space, because running text has no tab stops.
    """
    text = text.replace("\t", " ")
    if not _SPECIAL.search(text):
        return [(text, style)] if text else []
    if growing:
        if text[-1] in "*_~":
            text = text.rstrip(text[-1])
        text = _OPEN_LINK.sub(r"\1", text)
    pieces = _tokenize(text, growing)
    _match_emphasis(pieces)
    return _to_spans(pieces, style, growing)


def _tokenize(text: str, growing: bool) -> list[_Token]:
    pieces: list[_Token] = []
    closings = _CodeEnds(text)
    last = 0
    while match := _TOKEN.search(text, last):
        if match.start() > last:
            pieces.append(_Token(text[last : match.start()]))
        last = match.end()
        if not match["ticks"]:
            pieces += _parse_token(match)
        elif (closing := closings.after(match)) is not None:
            pieces.append(_parse_code(text[last : closing.start()]))
            last = closing.end()
        elif growing:
            pieces.append(_Token(text[last:].rstrip("`"), "code"))
            return pieces
        else:
            pieces.append(_Token(match["ticks"]))
    pieces.append(_Token(text[last:]))
    return pieces


class _CodeEnds:
    """Finds the runs of backticks that end code; each run is checked once."""

    def __init__(self, text: str) -> None:
        self._by_length: dict[int, deque[re.Match[str]]] = {}
        for run in _TICKS.finditer(text):
            self._by_length.setdefault(len(run[0]), deque()).append(run)

    def after(self, opening: re.Match[str]) -> re.Match[str] | None:
        """Return the next run as long as `opening`; call in the order of the text."""
        runs = self._by_length.get(len(opening["ticks"]), deque())
        while runs and runs[0].start() < opening.end():
            runs.popleft()
        return runs[0] if runs else None


def _parse_code(inside: str) -> _Token:
    words = inside.replace("\n", " ")
    if words.strip() and words[0] == words[-1] == " ":
        words = words[1:-1]
    return _Token(words, "code")


def _parse_token(match: re.Match[str]) -> list[_Token]:
    token = match.group()
    if match["source"]:
        return [_Token(token)]
    if match["escape"]:
        return [_Token(token[1])]
    if match["link"]:
        return _parse_link(match)
    if address := match["auto"] or match["url"]:
        return [_Token(address, f"link{_build_target(address)}")]
    if match["line_break"]:
        return [_Token("\n")]
    if match["entity"]:
        return [_Token(printable(html.unescape(token)).replace("\n", " "))]
    if match["run"]:
        return [_parse_delimiters(match)]
    return [_Token(token)]


def _parse_link(match: re.Match[str]) -> list[_Token]:
    """Return the words and the target, of which each opens the target.

    The target is shown too, unless it is the same, because the words can be another address.
    """
    words, target = match["words"], match["target"]
    opened = _build_target(target)
    shown = [
        _Token(text, f"{_without_link(style)} link{opened}".strip())
        for text, style in parse_inline(words)
    ]
    if match.group().startswith("!"):
        shown.insert(0, _Token("image: ", "muted"))
    if target and target not in (words, f"mailto:{words}"):
        shown.append(_Token(f" ({target})", f"url{opened}" if opened else "muted"))
    return shown


def _build_target(address: str) -> str:
    """Return the name of the style that opens an address; empty if it is not a safe one."""
    return f" {TARGET}{link}" if (link := parse_link(address)) else ""


def _without_link(style: str) -> str:
    names = style.split(" ")
    return " ".join(name for name in names if name != "link" and not name.startswith(TARGET))


def _parse_delimiters(match: re.Match[str]) -> _Token:
    """Classify a delimiter run as left- or right-flanking by the adjacent characters."""
    text, run = match.string, match.group()
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    space_before, space_after = before.isspace(), after.isspace()
    punctuation_before, punctuation_after = _is_punctuation(before), _is_punctuation(after)
    ends_before = space_before or punctuation_before or _is_cjk(before)
    ends_after = space_after or punctuation_after or _is_cjk(after)
    left = not space_after and (not punctuation_after or ends_before)
    right = not space_before and (not punctuation_before or ends_after)
    if run[0] == "_":
        return _Token(
            run,
            length=len(run),
            opens=left and (not right or punctuation_before),
            closes=right and (not left or punctuation_after),
        )
    if run[0] == "*" and _is_operator(before, run, after):
        return _Token(run)
    return _Token(run, length=len(run), opens=left, closes=right)


def _is_operator(before: str, run: str, after: str) -> bool:
    """True if `*` is a product or a power, as in `2*3`, or part of a path, as in `src/**/a`."""
    if "/" in (before, after):
        return True
    is_inside = (before + after).isascii() and before.isalnum() and after.isalnum()
    return is_inside and (len(run) == 1 or before.isdigit() or after.isdigit())


def _is_cjk(char: str) -> bool:
    return char >= "\u2e80"


def _is_punctuation(char: str) -> bool:
    return not char.isalnum() and not char.isspace()


def _match_emphasis(pieces: list[_Token]) -> None:
    openers: list[_Token] = []
    waiting = Counter[str]()  # number of openers by character
    for piece in pieces:
        if piece.closes:
            _close(piece, openers, waiting)
        if piece.opens and piece.text:
            openers.append(piece)
            waiting[piece.text[0]] += 1


def _close(closer: _Token, openers: list[_Token], waiting: Counter[str]) -> None:
    while closer.text and waiting[closer.text[0]]:
        opener = openers[-1]
        is_apart = _are_apart(opener, closer)
        if is_apart and not opener.closes:
            return  # the opener is left for another run
        if opener.text[0] != closer.text[0] or is_apart:
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
        opener.starts.append(name)
        closer.ends.append(name)


def _are_apart(opener: _Token, closer: _Token) -> bool:
    """True if the rule of three keeps two runs apart, of which one can open and close."""
    is_both = opener.text[0] == closer.text[0] and (opener.closes or closer.opens)
    lengths = opener.length, closer.length
    return is_both and sum(lengths) % 3 == 0 and any(each % 3 for each in lengths)


def _to_spans(pieces: list[_Token], style: str, growing: bool) -> list[Span]:
    spans: list[Span] = []
    active = Counter[str]()
    for piece in pieces:
        active.subtract(piece.ends)
        if growing and piece.opens and piece.text:
            active.update(_emphasis_of(piece.text))
            piece.text = ""
        if piece.text:
            names = [name for name in _EMPHASES if active[name] > 0]
            full = " ".join(part for part in (style, *names, piece.style) if part)
            if spans and spans[-1][1] == full:
                spans[-1] = (spans[-1][0] + piece.text, full)
            else:
                spans.append((piece.text, full))
        active.update(piece.starts)
    return spans


def _emphasis_of(run: str) -> list[str]:
    if run[0] == "~":
        return ["strike"]
    return [["em"], ["strong"], ["em", "strong"]][min(len(run), 3) - 1]
