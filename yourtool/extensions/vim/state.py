"""Vim's state between two keys."""

from msgspec import Struct


class Register(Struct, frozen=True):
    """What was deleted or yanked last."""

    text: str = ""
    linewise: bool = False


class VimState(Struct, frozen=True, kw_only=True):
    """A text, a caret, and what Vim stores between keys."""

    text: str = ""
    caret: int = 0
    is_insert: bool = True
    pending: str = ""
    """The keys of an incomplete command."""
    register: Register = Register()
    find: str = ""
    """The last `f`, `F`, `t` or `T` with its character."""
    change: str = ""
    """The keys of the last change."""
    inserted: str | None = None
    """The text that the last change inserted."""
    undo: tuple[tuple[str, int], ...] = ()
    redo: tuple[tuple[str, int], ...] = ()
