"""The system prompts of a session, as its facts have them: each text once, by its digest."""

from collections.abc import Iterable
from hashlib import sha256

from msgspec import UNSET

from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallStarted, SystemPart
from yourtool.events.sessions import SessionForked, SessionImported
from yourtool.events.turns import TurnStarted


class StoredPrompt:
    """What requests of a session had as their system prompt."""

    def __init__(self) -> None:
        self.surroundings = ""
        """What the prompt has about the workspace; empty before the first turn in it."""
        self._texts: dict[str, str] = {}

    def apply(self, fact: AnyFact) -> None:
        """Add what a fact has."""
        match fact:
            case TurnStarted(surroundings=str(surroundings)):
                self.surroundings = surroundings
            case SessionForked() | SessionImported():
                self.surroundings = ""  # they can be in another directory
            case LlmCallStarted(system=tuple(parts)):
                self._texts |= {each.digest: each.text for each in parts if each.text is not UNSET}
            case _:
                pass

    def find_parts(self, texts: Iterable[str]) -> tuple[SystemPart, ...]:
        """Return what the fact of a request stores about its system prompt."""
        digests = ((sha256(text.encode()).hexdigest(), text) for text in texts)
        return tuple(
            SystemPart(digest) if digest in self._texts else SystemPart(digest, text)
            for digest, text in digests
        )

    def get_texts(self, request: LlmCallStarted) -> tuple[str, ...]:
        """Return the system prompt of a stored request; empty before it was stored."""
        return tuple(self._texts[each.digest] for each in request.system or ())
