"""What only one model can read, kept with its message: written by `Reply`, read by its dialect.

Blocks of kinds that are not known here stand by the place of the block that follows them, and notes
by the place of the block they are about. The scope says whose it is: the provider, the model, and
the wire format, for one model can be spoken to in several.
"""

from typing import Any

from yourtool.messages import Message
from yourtool.providers.base import Request
from yourtool.providers.json_access import count, mapping, objects


def scope_of(request: Request, api: str) -> dict[str, str]:
    """Return who can read what comes of a request; `api` names the wire format."""
    return {"provider": request.model.provider, "api": api, "model": request.model.id}


class ProviderExtras:
    """The leftovers of one message; nothing at all where another model wrote it."""

    def __init__(self, message: Message, request: Request, api: str) -> None:
        raw = mapping(message.metadata.provider_raw)
        # A scope that names no wire format was stored before there was more than one.
        is_own = {"api": api, **mapping(raw.get("scope"))} == scope_of(request, api)
        self._notes = mapping(raw.get("notes")) if is_own else {}
        self._blocks: dict[int, list[dict[str, Any]]] = {}
        for entry in objects(raw.get("blocks")) if is_own else ():
            place, block = count(entry.get("at")), mapping(entry.get("block"))
            if place is not None and block:
                self._blocks.setdefault(place, []).append(block)

    def before(self, place: int) -> list[dict[str, Any]]:
        """Return the blocks that stand before the one at `place`; each is returned once."""
        return self._blocks.pop(place, [])

    def rest(self) -> list[dict[str, Any]]:
        """Return the blocks that nothing follows."""
        rest = [block for place in sorted(self._blocks) for block in self._blocks[place]]
        self._blocks.clear()
        return rest

    def notes(self, place: int) -> list[dict[str, Any]]:
        """Return the notes about the block at `place`."""
        return objects(self._notes.get(str(place)))
