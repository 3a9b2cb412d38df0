"""Stored prompt of requests: system prompts and tools.

Its facts have each text once, by its digest.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from msgspec import UNSET, UnsetType

from yourtool.effects import ToolDefinition
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallStarted, RequestPart
from yourtool.events.sessions import SessionForked, SessionImported, SessionResumed
from yourtool.events.turns import TurnStarted
from yourtool.messages.blocks import canonical_json

OF_PROMPT = frozenset({TurnStarted, SessionForked, SessionImported, SessionResumed, LlmCallStarted})
"""The facts that have something of it; no others need to be applied."""


class StoredPrompt:
    """What requests of a session had as their system prompt and as their tools."""

    def __init__(self) -> None:
        self.surroundings = ""
        """What the prompt has about the workspace; empty before the first turn in it."""
        self._texts: dict[str, str] = {}
        self._last_tools: Sequence[ToolDefinition] = ()
        self._last_tools_part = RequestPart("")
        """What a request has that has the same tools as the last one."""

    def apply(self, fact: AnyFact) -> None:
        """Add what a fact has."""
        match fact:
            case TurnStarted(surroundings=str(surroundings)):
                self.surroundings = surroundings
            case SessionForked() | SessionImported() | SessionResumed(workspace_path=str()):
                self.surroundings = ""  # they can be in another directory
            case LlmCallStarted():
                for part in (*(fact.system or ()), fact.tools):
                    if part is not UNSET and part.text is not UNSET:
                        self._texts[part.digest] = part.text
            case _:
                pass

    def find_parts(self, texts: Iterable[str]) -> tuple[RequestPart, ...]:
        """Return what the fact of a request stores about its system prompt."""
        return tuple(map(self._find_part, texts))

    def find_tools(self, tools: Sequence[ToolDefinition]) -> RequestPart:
        """Return what the fact of a request stores about its tools."""
        if self._last_tools_part.digest in self._texts and self._last_tools == tools:
            return self._last_tools_part
        read = [
            {"name": each.name, "description": each.description, "schema": each.input_schema}
            for each in tools
        ]
        found = self._find_part(canonical_json(read).decode())
        self._last_tools, self._last_tools_part = tools, RequestPart(found.digest)
        return found

    def _find_part(self, text: str) -> RequestPart:
        digest = sha256(text.encode()).hexdigest()
        return RequestPart(digest) if digest in self._texts else RequestPart(digest, text)

    def get_texts(self, request: LlmCallStarted) -> tuple[str, ...]:
        """Return the system prompt of a stored request; empty before it was stored.

        A text is empty if the fact that had it is damaged.
        """
        return tuple(self._texts.get(each.digest, "") for each in request.system or ())

    def get_tools(self, request: LlmCallStarted) -> str:
        """Return the tools of a stored request as JSON; empty before they were stored."""
        part = request.tools
        return "" if isinstance(part, UnsetType) else self._texts.get(part.digest, "")
