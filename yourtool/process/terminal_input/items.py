"""Parts of the input of a terminal.

Every byte belongs to one of them. Plain classes: anything else would delay the early prompt.
"""

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
VISIBLE_ESCAPE = "␛"


class Item:
    """A part of the input; `source` is what the terminal sent, invalid bytes as surrogates."""

    __slots__ = ("source",)

    def __init__(self, source: str) -> None:
        self.source = source

    def __repr__(self) -> str:
        """Return the class and the source, for tests."""
        return f"{type(self).__name__}({self.source!r})"


class Text(Item):
    """Typed characters, without control characters."""

    __slots__ = ()


class Key(Item):
    """A key with a name such as `ctrl+up` or `alt+;`; `text` is what it types."""

    __slots__ = ("name", "text")

    def __init__(self, name: str, text: str = "", source: str = "") -> None:
        super().__init__(source)
        self.name = name
        self.text = text

    def with_source(self, source: str) -> "Key":
        """Return the key with what the terminal sent."""
        self.source = source
        return self


class Paste(Item):
    """A pasted text, in which escapes are visible; without brackets, a burst of lines."""

    __slots__ = ("text",)

    def __init__(self, text: str, source: str) -> None:
        super().__init__(source)
        self.text = text.encode("utf-8", "replace").decode().replace("\x1b", VISIBLE_ESCAPE)


class Mouse(Item):
    """A report of the mouse in the encoding of xterm; columns and rows start at 1."""

    __slots__ = ("buttons", "is_release", "x", "y")

    def __init__(self, buttons: int, x: int, y: int, source: str) -> None:
        super().__init__(source)
        self.buttons = buttons
        self.x = x
        self.y = y
        # The first two forms have no button when one is released.
        is_named = source.startswith("\x1b[<")
        self.is_release = source.endswith("m") if is_named else buttons & 0b100011 == 0b11


class Focus(Item):
    """The terminal got or lost the focus."""

    __slots__ = ()

    @property
    def is_gained(self) -> bool:
        """Whether it got the focus."""
        return self.source.endswith("I")


class Reply(Item):
    """An answer of the terminal, also to another program."""

    __slots__ = ()


class Unknown(Item):
    """Neither text nor anything else that is known."""

    __slots__ = ()


def to_bytes(items: "list[Item]") -> bytes:
    """Return input that has the same keys and pastes, each paste in brackets."""
    return "".join(map(_to_source, items)).encode("utf-8", "surrogateescape")


def _to_source(item: Item) -> str:
    source = item.source
    if isinstance(item, Paste):
        return f"{PASTE_START}{item.text}{PASTE_END}"
    if isinstance(item, Reply | Unknown):
        return ""
    if source == "\x1b":  # a form that does not depend on what follows
        return "\x1b[27u"
    if source[:1] == "\x1b" and len(source) == len("\x1b[") and source[1] > " ":
        return f"\x1b[{ord(source[1].lower())};{4 if source[1].isupper() else 3}u"
    return source
