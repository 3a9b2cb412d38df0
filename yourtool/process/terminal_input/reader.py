"""Reader of terminal input.

It decides for every byte whether it is a key, text, a paste, a report of the mouse, a reply of the
terminal, or unknown. Replies and what is unknown never become text, and no input raises an error.

A terminal brackets a paste: DECSET 2004,
https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode. Where it does not,
lines that arrive in one piece are a paste too, which are not typed so fast.
"""

from codecs import getincrementaldecoder
from math import inf

from yourtool.process.terminal_input.items import (
    PASTE_END,
    PASTE_START,
    Item,
    Key,
    Mouse,
    Paste,
    Reply,
    Text,
    Unknown,
    to_bytes,
)
from yourtool.process.terminal_input.key_forms import read_control
from yourtool.process.terminal_input.sequences import (
    ESCAPE,
    INTRODUCERS,
    find_sequence_end,
    read_sequence,
)

_LONGEST = 1_024
"""Characters of a sequence; the middle of a longer one is dropped."""
_ESCAPE_SECONDS, _SURE_ESCAPE_SECONDS = 0.1, 0.5
"""Time after which Esc is a key; where the key has another form, so that Esc starts a sequence."""
_SEQUENCE_SECONDS = 1.0
"""Time after which the rest of a sequence does not come."""
_PASTE_SECONDS, _BURST_SECONDS = 1.5, 0.1
"""Quiet time that ends a paste whose end was lost, and one without brackets."""
_CUT_SECONDS = 3.0
"""Time after which what follows is no part of a reply that was cut."""
_FAST_CHARACTERS, _FAST_SECONDS = 16, 0.03
"""More characters than are typed at once; a line end so soon after them was not typed either."""


class Reader:
    """Makes items of the bytes of a terminal; times are in seconds of any clock."""

    def __init__(self) -> None:
        self.has_sure_escape = False
        """Whether the terminal has another form for the key Esc."""
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""
        """The start of a sequence, or of the mark that ends a paste."""
        self._pasted: list[str] | None = None
        self._burst: list[str] | None = None
        self._given_up = ""
        """A start that became a key because nothing followed in time."""
        self._read_at = self._fast_until = -inf

    @property
    def is_waiting(self) -> bool:
        """Whether time can complete something."""
        return self._pasted is not None or self._burst is not None or bool(self.pending)

    @property
    def pending(self) -> bytes:
        """The input that is not complete, for another reader."""
        pasted = "" if self._pasted is None else PASTE_START + "".join(self._pasted)
        rest = f"{pasted}{self._rest}".encode("utf-8", "surrogateescape")
        return to_bytes(_build_paste(self._burst)) + rest + self._decoder.getstate()[0]

    def feed(self, data: bytes, now: float) -> list[Item]:
        """Return what is complete after one read of the terminal."""
        items = self.tick(now)
        text = self._join_cut_reply(self._decoder.decode(data), now)
        self._read_at = now
        if self._pasted is not None and _is_interrupt(text):
            items += self._end_paste()
        if self._burst is not None and not self._rest and _is_plain(text):
            self._burst.append(text)
            return items
        found = self._read(text)
        before = list(found)
        while before and not _is_line_end(before[-1]):
            before.pop()
        is_fast = now < self._fast_until or _has_text(before)
        if sum(len(_get_typed(item)) for item in found) >= _FAST_CHARACTERS:
            self._fast_until = now + _FAST_SECONDS
        if self._burst is not None or (before and is_fast):
            found = self._join_burst(found)
        return items + found

    def feed_ahead(self, data: bytes, now: float, *, is_checked: bool) -> list[Item]:
        """Return what was typed before the terminal was read, in no time that is known.

        One line can have been typed, but not several, unless another reader has checked it.
        """
        self._read_at = now
        items = self._read(self._decoder.decode(data))
        at = next((at for at, item in enumerate(items) if _is_line_end(item)), len(items))
        if is_checked or not _has_text(items[at:]):
            return items
        items = [*self._join_burst(items), *_build_paste(self._burst)]
        self._burst = None
        return items

    def tick(self, now: float) -> list[Item]:
        """Return what the time without input has completed."""
        quiet = now - self._read_at
        items: list[Item] = []
        if self._burst is not None and quiet >= _BURST_SECONDS:
            items, self._burst = _build_paste(self._burst), None
        if quiet >= _SEQUENCE_SECONDS and self._decoder.getstate()[0]:
            items += self._read(self._decoder.decode(b"", final=True))
        if self._pasted is not None:
            if quiet < _PASTE_SECONDS:
                return items
            items += self._end_paste()
        escape = _SURE_ESCAPE_SECONDS if self.has_sure_escape else _ESCAPE_SECONDS
        if self._rest and quiet >= (
            escape if len(self._rest) <= len("\x1b[") else _SEQUENCE_SECONDS
        ):
            self._given_up, self._rest = self._rest, ""
            items.append(read_sequence(self._given_up))
        return items

    def _join_cut_reply(self, text: str, now: float) -> str:
        """Return the text, after its start if it is a reply that came in pieces."""
        start, self._given_up = self._given_up, ""
        is_late = len(start) <= len("\x1b[") and now > self._read_at + _CUT_SECONDS
        if not start or is_late or (len(text) < 2 and text != "\x07"):  # one character is typed
            return text
        end = find_sequence_end(start + text, 0)
        is_reply = isinstance(read_sequence((start + text)[:end]), Mouse | Reply) if end else False
        return start + text if is_reply or (not end and text[0] in "]P_") else text

    def _read(self, text: str) -> list[Item]:
        """Return the complete items, and keep the rest."""
        text, self._rest = self._rest + text, ""
        items: list[Item] = []
        at = 0
        while at < len(text):
            if self._pasted is not None:
                at = self._read_paste(text, at, items)
            elif (first := text[at]) in INTRODUCERS:
                text = f"{text[:at]}{INTRODUCERS[first]}{text[at + 1 :]}"
            elif first == ESCAPE:
                if not (end := find_sequence_end(text, at)):
                    self._rest = self._shorten(text[at:], items)
                    break
                if text[at:end] == PASTE_START:
                    self._pasted = []
                else:
                    items.append(read_sequence(text[at:end]))
                at = end
            elif first < " " or first == "\x7f":
                items.append(read_control(first).with_source(first))
                at += 1
            else:
                end = _find_text_end(text, at)
                items.append(Text(text[at:end]) if end > at else Unknown(first))
                at = max(end, at + 1)
        return items

    @staticmethod
    def _shorten(rest: str, items: list[Item]) -> str:
        """Return the start of a sequence; one that is too long becomes an unknown reply."""
        if len(rest) <= _LONGEST:
            return rest
        items.append(Unknown(rest[2:-1]))
        return f"{rest[:2]}?{rest[-1]}"

    def _read_paste(self, text: str, at: int, items: list[Item]) -> int:
        """Read a paste until its end, or until the text ends; return where that is."""
        assert self._pasted is not None, "called inside a paste"
        if (end := text.find(PASTE_END, at)) >= 0:
            self._pasted.append(text[at:end])
            items += self._end_paste()
            return end + len(PASTE_END)
        start = text.rfind(ESCAPE, at)
        cut = start if start >= 0 and PASTE_END.startswith(text[start:]) else len(text)
        self._pasted.append(text[at:cut])
        self._rest = text[cut:]
        return len(text)

    def _end_paste(self) -> list[Item]:
        source = "".join(self._pasted or ()) + self._rest
        self._pasted, self._rest = None, ""
        return [Paste(_replace_keys(source), source)]

    def _join_burst(self, found: list[Item]) -> list[Item]:
        """Collect what looks typed in one paste; any other item ends it."""
        items: list[Item] = []
        self._burst = self._burst or []
        for item in found:
            if typed := _get_typed(item):
                self._burst.append(typed)
            else:
                items += [*_build_paste(self._burst), item]
                self._burst = []
        return items


def _build_paste(pieces: list[str] | None) -> list[Item]:
    text = "".join(pieces or ())
    return [Paste(text, text)] if text else []


def _is_line_end(item: Item) -> bool:
    return isinstance(item, Key) and item.name in ("enter", "ctrl+j")


def _get_typed(item: Item) -> str:
    """Return the text of an item that can be part of a burst."""
    if _is_line_end(item):
        return item.source if item.source in ("\r", "\n") else "\n"
    if isinstance(item, Text):
        return item.source
    if isinstance(item, Key) and (item.text == "\t" or item.text.isprintable()):
        return item.text
    return ""


def _is_plain(text: str) -> bool:
    return text.replace("\r", "").replace("\n", "").replace("\t", "").isprintable()


def _has_text(items: list[Item]) -> bool:
    return any(isinstance(item, Paste) or _get_typed(item).strip("\r\n") for item in items)


def _is_interrupt(text: str) -> bool:
    """Whether a read is nothing but Ctrl+C."""
    if text.startswith(ESCAPE) and find_sequence_end(text, 0) == len(text):
        key = read_sequence(text)
        return isinstance(key, Key) and key.name == "ctrl+c"
    return text == "\x03"


def _find_text_end(text: str, at: int) -> int:
    """Return where characters that can be typed end; control characters and halves cannot."""
    while at < len(text) and (
        " " <= (c := text[at]) < "\x7f" or "\xa0" <= c < "\ud800" or c > "\udfff"
    ):
        at += 1
    return at


def _replace_keys(text: str) -> str:
    """Return a paste with the text of the keys as which some multiplexers send its characters."""
    first, *others = text.split("\x1b[")
    parts = [first]
    for other in others:
        sequence = f"\x1b[{other}"
        end = find_sequence_end(sequence, 0)
        is_code = end > 0 and sequence[end - 1] in "u~"
        typed = _get_typed(read_sequence(sequence[:end])) if is_code else ""
        parts.append(typed + sequence[end:] if typed else sequence)
    return "".join(parts)
