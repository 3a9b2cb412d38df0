"""Estimates of the tokens of the next request."""

from collections.abc import Sequence

from yourtool.agent.history.state import State
from yourtool.effects import ToolDefinition
from yourtool.messages.memo import has_media
from yourtool.messages.message import Message
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.estimate import calibrate_estimate, estimate_tokens
from yourtool.providers.requests.placeholders import replace_unsupported_media
from yourtool.tools.tool_search import SEARCH_AT
from yourtool.tools.toolset import ToolSnapshot

_SHOWN_PARTS = 4
_SHOWN_TEXT = 60
"""Characters of a message that identify it."""


class RequestEstimates:
    """Estimates for requests with the system prompt and the tools of a session."""

    def __init__(
        self,
        catalogue: Catalogue,
        snapshot: ToolSnapshot,
        system: Sequence[Message],
        search_at: int = SEARCH_AT,
    ) -> None:
        """`search_at`: as in `Toolbox.offered_to`."""
        self.catalogue = catalogue
        self._snapshot = snapshot
        self._system = system
        self._search_at = search_at

    @property
    def has_tools(self) -> bool:
        """Whether the running turn, or the last one, has tools."""
        return bool(self._snapshot.toolbox.definitions)

    def _get_tools(self, state: State, model_id: str) -> Sequence[ToolDefinition]:
        """Return the tools that a model gets."""
        model, found = self.catalogue.get(model_id), state.branch.found_tools
        return self._snapshot.toolbox.offered_to(model, found, self._search_at)

    def total(self, state: State, model_id: str, new_messages: Sequence[Message] = ()) -> int:
        """Return the estimated tokens of the next request to a model.

        The estimate is calibrated with the tokens that the model counted in this session.
        """
        conversation = state.conversation_for(model_id)
        tools = self._get_tools(state, model_id)
        estimate = self._estimate((*conversation, *new_messages), tools, model_id)
        if (counted := state.branch.counted_replies.get(model_id)) is None:
            return estimate
        sent = [message for message in conversation if message.id < counted.message.id]
        known = counted.usage.prompt_tokens
        return calibrate_estimate(estimate, self._estimate(sent, tools, model_id), known)

    def parts(self, state: State, model_id: str) -> list[tuple[str, int]]:
        """Return the parts of the next request with their share of its estimated tokens."""
        by_role: dict[str, list[Message]] = {}
        for message in state.conversation_for(model_id):
            by_role.setdefault(message.role, []).append(message)
        estimates = [
            ("system prompt", estimate_tokens(self._system, (), model_id)),
            ("tools", estimate_tokens((), self._get_tools(state, model_id), model_id)),
            *(
                (f"{role} messages", estimate_tokens(messages, (), model_id))
                for role, messages in by_role.items()
            ),
        ]
        total = sum(tokens for _, tokens in estimates)
        share = self.total(state, model_id) / total if total else 1
        return [(name, round(tokens * share)) for name, tokens in estimates]

    def size(self, message: Message, model_id: str) -> int:
        """Return the estimated tokens of one message."""
        return estimate_tokens((message,), (), model_id)

    def name_largest_parts(self, state: State, model_id: str) -> str:
        """Return the largest parts of the next request and their estimated tokens."""
        sized = [
            (self.size(each, model_id), f'the {each.role} message "{_get_start(each.text)}"')
            for each in state.conversation_for(model_id)
        ]
        sized += [
            (tokens, f"the {name}")
            for name, tokens in self.parts(state, model_id)
            if not name.endswith("messages")
        ]
        largest = sorted(sized, reverse=True)[:_SHOWN_PARTS]
        return "; ".join(f"{text} (about {tokens:,} tokens)" for tokens, text in largest)

    def _estimate(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], model_id: str
    ) -> int:
        can = self.catalogue.get(model_id).capabilities
        sent = [
            replace_unsupported_media(message, can) if media else message
            for message, media in zip(messages, has_media.values(messages), strict=True)
        ]
        return estimate_tokens((*self._system, *sent), tools, model_id)


def _get_start(text: str) -> str:
    line = " ".join(text[: 2 * _SHOWN_TEXT].split())
    return f"{line[:_SHOWN_TEXT]}…" if len(line) > _SHOWN_TEXT else line
