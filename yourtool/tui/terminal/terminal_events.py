"""Textual events of terminal input."""

from collections.abc import Callable, Iterable, Iterator

from textual import events
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

from yourtool.process.terminal_input.items import Focus, Item, Key, Mouse, Paste, Reply, Text
from yourtool.tui.keys.key_names import get_textual_name

_SYNCHRONIZED = "\x1b[?2026;"
_SCROLLS = (
    events.MouseScrollUp,
    events.MouseScrollDown,
    events.MouseScrollLeft,
    events.MouseScrollRight,
)
_SHIFT, _META, _CTRL, _MOTION, _SCROLL = 4, 8, 16, 32, 64
"""Bits of the buttons: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h3-Extended-coordinates"""


class TerminalEvents:
    """Makes events of items; `report` gets the replies of the terminal."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._x = self._y = 0

    def build(self, items: Iterable[Item]) -> Iterator[Message]:
        """Yield the events of items; what is unknown has none."""
        for item in items:
            match item:
                case Text(source=text):
                    yield from map(_type, text)
                case Key(name=name, text=text) if len(text) < 2:
                    yield events.Key(get_textual_name(name), text or None)
                case Key(text=text):
                    yield from map(_type, text)
                case Paste(text=text):
                    yield events.Paste(text)
                case Mouse():
                    yield self._point(item)
                case Focus(is_gained=is_gained):
                    yield events.AppFocus() if is_gained else events.AppBlur()
                case Reply(source=source):
                    yield from self._answer(source)
                case _:
                    pass

    def _answer(self, reply: str) -> Iterator[Message]:
        if reply.startswith(_SYNCHRONIZED) and not reply.startswith(f"{_SYNCHRONIZED}0"):
            yield TerminalSupportsSynchronizedOutput()
        self._report(reply)

    def _point(self, mouse: Mouse) -> Message:
        x, y, buttons = mouse.x - 1, mouse.y - 1, mouse.buttons
        moved = x - self._x, y - self._y
        self._x, self._y = x, y
        button = (buttons + 1) & 3
        kind: type[events.MouseEvent]
        if buttons & _SCROLL:
            kind, button = _SCROLLS[buttons & 3], 0
        elif mouse.is_release:
            kind = events.MouseUp
        elif buttons & _MOTION or button == 0:
            kind = events.MouseMove
        else:
            kind = events.MouseDown
        has_shift, has_meta, has_ctrl = (bool(buttons & bit) for bit in (_SHIFT, _META, _CTRL))
        return kind(
            None, x, y, *moved, button, has_shift, has_meta, has_ctrl, screen_x=x, screen_y=y
        )


def _type(character: str) -> events.Key:
    return events.Key(get_textual_name(character), character)
