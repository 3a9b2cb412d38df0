"""What comes from the keyboard, before it is taken for keys.

A terminal puts marks around what is pasted, so that none of it counts as pressed: DECSET 2004,
https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode. Textual looks for
sequences of keys within such a paste all the same and sends them on, line ends among them, so what
begins one is made visible here: a coloured log that is pasted sends nothing and answers nothing.
"""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

ESCAPE, SHOWN = "\x1b", "␛"
BEGIN, END = f"{ESCAPE}[200~", f"{ESCAPE}[201~"


class Pastes:
    """Replaces the escapes within pastes, which may come in pieces."""

    def __init__(self) -> None:
        self._inside = False
        self._last = ""
        """Outside: the newest characters; inside: what may be the beginning of the end."""

    def __call__(self, data: str) -> str:
        """Return what came, harmless; the end of a paste waits until it is whole."""
        done = ""
        while data:
            step = self._within if self._inside else self._before
            some, data = step(data)
            done += some
        return done

    def _before(self, data: str) -> tuple[str, str]:
        """Let everything through up to the beginning of a paste; never hold a key back."""
        known = self._last + data
        at = known.find(BEGIN)
        if at < 0:
            self._last = known[-len(BEGIN) + 1 :]
            return data, ""
        rest = known[at + len(BEGIN) :]
        self._inside, self._last = True, ""
        return data[: len(data) - len(rest)], rest

    def _within(self, data: str) -> tuple[str, str]:
        known, self._last = self._last + data, ""
        pasted, end, rest = known.partition(END)
        if end:
            self._inside = False
            return pasted.replace(ESCAPE, SHOWN) + end, rest
        at = pasted.rfind(ESCAPE)
        if at >= 0 and END.startswith(pasted[at:]):
            pasted, self._last = pasted[:at], pasted[at:]
        return pasted.replace(ESCAPE, SHOWN), ""


def read_keys(
    terminal: int,
    feed: Callable[[str], Iterable[T]],
    tick: Callable[[], Iterable[T]],
    is_over: Callable[[], bool],
    typed_ahead: bytes = b"",
) -> Iterable[T]:
    """Yield what `feed` makes of what is typed, and `tick` of time that passes, until it is over.

    `typed_ahead` was read before, and may end inside of a character or a sequence. Bytes that are
    not UTF-8 are replaced. It is over, too, when the terminal is gone.
    """
    decode, pastes = getincrementaldecoder("utf-8")("replace").decode, Pastes()
    if text := pastes(decode(typed_ahead)):
        yield from feed(text)
    with selectors.DefaultSelector() as selector:
        selector.register(terminal, selectors.EVENT_READ)
        while not is_over():
            if selector.select(0.1):
                try:
                    typed = os.read(terminal, 4_096)
                except OSError:
                    return
                if not typed:
                    return
                if text := pastes(decode(typed)):
                    yield from feed(text)
            yield from tick()
