"""Opaque blocks of the issuing model.

Only this model can replay them: `Reply` writes them, and its dialect reads them. Blocks of unknown
kinds are indexed by the block that follows them, notes by the block that they describe. The scope
identifies the issuer: the provider, the model and the wire format, because one model can be
available in several.
"""

from typing import Any

from yourtool.messages.message import Message, ReplyMessage
from yourtool.providers.base import Request
from yourtool.providers.json_access import count, mapping, objects


def scope_of(request: Request, api: str) -> dict[str, str]:
    """Return the scope of the extras of a reply; `api` is the wire format."""
    return {"provider": request.model.provider, "api": api, "model": request.model.id}


class ProviderExtras:
    """The extras of one message; empty if another model wrote it."""

    def __init__(self, message: Message, request: Request, api: str) -> None:
        is_reply = isinstance(message, ReplyMessage)
        raw = mapping(message.metadata.provider_raw if is_reply else None)
        # A scope without a wire format was stored when there was only one.
        is_own = {"api": api, **mapping(raw.get("scope"))} == scope_of(request, api)
        self._notes = mapping(raw.get("notes")) if is_own else {}
        self._blocks: dict[int, list[dict[str, Any]]] = {}
        for entry in objects(raw.get("blocks")) if is_own else ():
            place, block = count(entry.get("at")), mapping(entry.get("block"))
            if place is not None and block:
                self._blocks.setdefault(place, []).append(block)

    def before(self, place: int) -> list[dict[str, Any]]:
        """Return the blocks before the one at `place`; each is returned once."""
        return self._blocks.pop(place, [])

    def rest(self) -> list[dict[str, Any]]:
        """Return the remaining blocks, which no block follows."""
        rest = [block for place in sorted(self._blocks) for block in self._blocks[place]]
        self._blocks.clear()
        return rest

    def notes(self, place: int) -> list[dict[str, Any]]:
        """Return the notes about the block at `place`."""
        return objects(self._notes.get(str(place)))
