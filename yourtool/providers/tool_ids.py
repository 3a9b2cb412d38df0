"""The two names of a tool call: ours, and the one a provider gave it or was told."""

from collections.abc import Iterable

from yourtool.ids import new_tool_use_id


class ToolIdMap:
    """Per session, both ways and per provider; rebuilt from the `tool_calls` table on resume."""

    def __init__(self, known: Iterable[tuple[str, str, str]] = ()) -> None:
        """`known`: (canonical id, provider, provider's id)."""
        self._wire: dict[tuple[str, str], str] = {}
        self._canonical: dict[tuple[str, str], str] = {}
        for canonical, provider, wire in known:
            self._remember(canonical, provider, wire)

    def canonical(self, provider: str, wire: str | None) -> str:
        """Return our id for a call the provider just issued, minting one.

        A provider may issue the same id again in a later turn: a new call is a new id of ours,
        and results are answered under the newest. `wire` None or empty: it sent no id at all.
        """
        canonical = new_tool_use_id()
        if wire:
            self._remember(canonical, provider, wire)
        return canonical

    def wire(self, provider: str, canonical: str) -> str:
        """Return the provider's id for our call, minting one that every provider accepts.

        Minted ids are a function of ours: `call_` and the 26 characters of its ULID, so that the
        same history always serialises to the same bytes.
        """
        return self._wire.get((provider, canonical)) or f"call_{canonical.removeprefix('tu_')}"

    def known_wire(self, provider: str, canonical: str) -> str | None:
        """Return the id the provider itself issued for our call, if it was the one who called."""
        return self._wire.get((provider, canonical))

    def _remember(self, canonical: str, provider: str, wire: str) -> None:
        self._wire[provider, canonical] = wire
        self._canonical[provider, wire] = canonical
