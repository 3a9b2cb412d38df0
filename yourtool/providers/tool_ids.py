"""Tool call ids of ours and of providers."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count

from yourtool.ids import new_tool_use_id

_INVALID_NAME_CHARS = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME_LENGTH = 64

ANY_ID = re.compile(r".+", re.DOTALL)
_SHORT_ID_LENGTH = 9


class ToolIdMap:
    """Map between our ids and those of each provider, per session.

    Resume rebuilds it from the `tool_calls` table.
    """

    def __init__(self, known: Iterable[tuple[str, str, str]] = ()) -> None:
        """`known`: (canonical id, provider, provider's id), in the order of the calls."""
        self._wire: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """By provider: its ids by ours."""
        self._owner: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """By provider: our ids by its ids, and by those that were made for it."""
        for canonical, provider, wire in known:
            self._remember(canonical, provider, wire)

    def canonical(self, provider: str, wire: str | None) -> str:
        """Return a new id of ours for a call from the provider.

        Some servers issue the same id in every turn. The first call keeps that id; later calls get
        an id of ours on the wire too, so that repeated requests have the same bytes. `wire` None
        or empty: the provider sent no id.
        """
        canonical = new_tool_use_id()
        if wire:
            self._remember(canonical, provider, wire)
        return canonical

    def wire(self, provider: str, canonical: str, accepted: re.Pattern[str] = ANY_ID) -> str:
        """Return the provider's id for our call, or a new one that matches `accepted`.

        New ids are derived from ours, so that the same history always serialises to the same
        bytes: `call_` and the 26 characters of the ULID, or nine characters for servers that
        accept only those. They are unique.
        """
        known = self._wire[provider].get(canonical)
        if known is not None and accepted.fullmatch(known):
            return known
        return next(
            minted
            for minted in _candidate_ids(canonical)
            if accepted.fullmatch(minted)
            and self._owner[provider].setdefault(minted, canonical) == canonical
        )

    def issued_id(self, provider: str, canonical: str) -> str | None:
        """Return the id that the provider issued for our call; None: another provider did."""
        return self._wire[provider].get(canonical)

    def _remember(self, canonical: str, provider: str, wire: str) -> None:
        if self._owner[provider].setdefault(wire, canonical) == canonical:
            self._wire[provider][canonical] = wire


def _candidate_ids(canonical: str) -> Iterator[str]:
    """Yield ids derived from ours, in order of preference."""
    unique = canonical.removeprefix("tu_")
    yield f"call_{unique}"
    yield unique[-_SHORT_ID_LENGTH:]
    for number in count():
        yield hashlib.sha256(f"{number} {canonical}".encode()).hexdigest()[:_SHORT_ID_LENGTH]


def sanitize_tool_name(name: str) -> str:
    """Return `name` in a form that every provider accepts; models also invent tool names."""
    return _INVALID_NAME_CHARS.sub("_", name)[:_MAX_NAME_LENGTH] or "unknown"
