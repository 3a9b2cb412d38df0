"""The two names of a tool call: ours, and the one a provider gave it or was told."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import count

from yourtool.ids import new_tool_use_id

_INVALID_NAME_CHARS = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME_LENGTH = 64

ANY_ID = re.compile(r".+", re.DOTALL)
_SHORT_ID_LENGTH = 9


class ToolIdMap:
    """Per session, both ways and per provider; rebuilt from the `tool_calls` table on resume."""

    def __init__(self, known: Iterable[tuple[str, str, str]] = ()) -> None:
        """`known`: (canonical id, provider, provider's id), in the order of the calls."""
        self._wire: dict[tuple[str, str], str] = {}
        self._owner: dict[tuple[str, str], str] = {}
        for canonical, provider, wire in known:
            self._remember(canonical, provider, wire)

    def canonical(self, provider: str, wire: str | None) -> str:
        """Return our id for a call the provider just issued, minting one.

        Some servers issue the same id in every turn. The first call keeps it, and later ones get
        one of ours on the wire too, so that what was sent once is sent again byte by byte. `wire`
        None or empty: the provider sent no id at all.
        """
        canonical = new_tool_use_id()
        if wire:
            self._remember(canonical, provider, wire)
        return canonical

    def wire(self, provider: str, canonical: str, accepted: re.Pattern[str] = ANY_ID) -> str:
        """Return the provider's id for our call, or mint one if there is none it would accept.

        Minted ids are a function of ours, so that the same history always serialises to the same
        bytes: `call_` and the 26 characters of its ULID, or nine characters for servers that take
        no others. Two calls never share one.
        """
        known = self._wire.get((provider, canonical))
        if known is not None and accepted.fullmatch(known):
            return known
        return next(
            minted
            for minted in _candidate_ids(canonical)
            if accepted.fullmatch(minted)
            and self._owner.setdefault((provider, minted), canonical) == canonical
        )

    def issued_id(self, provider: str, canonical: str) -> str | None:
        """Return the id the provider itself issued for our call, if it was the one who called."""
        return self._wire.get((provider, canonical))

    def _remember(self, canonical: str, provider: str, wire: str) -> None:
        if self._owner.setdefault((provider, wire), canonical) == canonical:
            self._wire[provider, canonical] = wire


def _candidate_ids(canonical: str) -> Iterator[str]:
    """Yield ids made of ours: the first that a server accepts and no other call has is taken."""
    unique = canonical.removeprefix("tu_")
    yield f"call_{unique}"
    yield unique[-_SHORT_ID_LENGTH:]
    for number in count():
        yield hashlib.sha256(f"{number} {canonical}".encode()).hexdigest()[:_SHORT_ID_LENGTH]


def sanitize_tool_name(name: str) -> str:
    """Return `name` as every provider takes it back, also where a model invented it."""
    return _INVALID_NAME_CHARS.sub("_", name)[:_MAX_NAME_LENGTH] or "unknown"
