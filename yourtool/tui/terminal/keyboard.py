"""Keyboard input, and escape sequences in pastes.

A terminal brackets pasted text, so that it is not mistaken for keys: DECSET 2004,
https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode. Textual still
parses key sequences inside a paste, line ends included. Escapes inside pastes are therefore made
visible, so that a pasted log with colours can neither send a prompt nor answer an approval prompt.
"""

import os
import re
import selectors
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

ESCAPE, VISIBLE_ESCAPE = "\x1b", "␛"
PASTE_START, PASTE_END = f"{ESCAPE}[200~", f"{ESCAPE}[201~"
_ALT_ENTER = f"{ESCAPE}[13;3u"
_OTHER_KEYS = re.compile(r"\x1b(?:\r|\[27;(\d{1,3});(\d{1,7})~)")
"""Alt+Enter of a VT100, or a key of xterm with its modifiers and its code point (`modifyOtherKeys`,
https://invisible-island.net/xterm/ctlseqs/ctlseqs.html)."""

_TICK_SECONDS, _SETTLED_SECONDS = 0.1, 2.0
"""Between two ticks; after the last input, when no sequence can be incomplete any more."""


class PasteFilter:
    """Replaces escapes inside pastes, which can arrive in pieces."""

    def __init__(self) -> None:
        self._inside = False
        self._last = ""
        """Outside a paste: the last characters; inside: a possible start of the end marker."""

    def __call__(self, data: str) -> str:
        """Return the filtered input; an incomplete end marker is buffered."""
        done = ""
        while data:
            step = self._filter_paste if self._inside else self._filter_outside
            some, data = step(data)
            done += some
        return done

    def _filter_outside(self, data: str) -> tuple[str, str]:
        """Pass everything up to the start of a paste, without delaying keys."""
        recent = self._last + data
        at = recent.find(PASTE_START)
        if at < 0:
            self._last = recent[-len(PASTE_START) + 1 :]
            return data, ""
        rest = recent[at + len(PASTE_START) :]
        self._inside, self._last = True, ""
        return data[: len(data) - len(rest)], rest

    def _filter_paste(self, data: str) -> tuple[str, str]:
        text, self._last = self._last + data, ""
        pasted, end, rest = text.partition(PASTE_END)
        if end:
            self._inside = False
            return pasted.replace(ESCAPE, VISIBLE_ESCAPE) + end, rest
        at = pasted.rfind(ESCAPE)
        if at >= 0 and PASTE_END.startswith(pasted[at:]):
            pasted, self._last = pasted[:at], pasted[at:]
        return pasted.replace(ESCAPE, VISIBLE_ESCAPE), ""


def unify_keys(keys: str) -> str:
    """Return the input with the sequences that Textual parses for Alt+Enter and keys of xterm."""
    return _OTHER_KEYS.sub(
        lambda found: f"{ESCAPE}[{found[2]};{found[1]}u" if found[2] else _ALT_ENTER, keys
    )


class SelectableEvent(threading.Event):
    """An event that a selector can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._set_reader, self._set_writer = os.pipe()

    def fileno(self) -> int:
        """Return the descriptor that is readable while the event is set."""
        return self._set_reader

    def set(self) -> None:
        """Set the event."""
        if not self.is_set():
            super().set()
            os.write(self._set_writer, b"x")

    def clear(self) -> None:
        """Clear the event; only the thread that set it may do so."""
        if self.is_set():
            os.read(self._set_reader, 1)
            super().clear()


def read_keys(
    terminal: int,
    feed: Callable[[str], Iterable[T]],
    tick: Callable[[], Iterable[T]],
    done: SelectableEvent,
    typed_ahead: bytes = b"",
) -> Iterable[T | None]:
    """Yield the events of `feed` for input, and of `tick` for elapsed time, until `done`.

    `typed_ahead` is input that was read before; it can end inside a character or a sequence. Its
    events are followed by None. Invalid UTF-8 is replaced. Reading also ends when the terminal is
    closed. Some time after the last input, nothing wakes the thread any more.
    """
    decode, pastes = getincrementaldecoder("utf-8")("replace").decode, PasteFilter()
    if text := unify_keys(pastes(decode(typed_ahead))):
        yield from feed(text)
    yield None
    last_input = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(terminal, selectors.EVENT_READ)
        selector.register(done, selectors.EVENT_READ)
        while not done.is_set():
            is_settled = time.monotonic() > last_input + _SETTLED_SECONDS
            if selector.select(None if is_settled else _TICK_SECONDS) and not done.is_set():
                try:
                    typed = os.read(terminal, 4_096)
                except BlockingIOError:  # a program that shares the terminal has read it
                    continue
                except OSError:
                    return
                if not typed:
                    return
                last_input = time.monotonic()
                if text := unify_keys(pastes(decode(typed))):
                    yield from feed(text)
            yield from tick()
