"""The time of building the next request of a conversation, by its number of messages.

Prints one JSON object; the goal is 20 ms of CPU for 10,000 messages in every dialect.
"""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import MESSAGE_TYPES, METADATA_TYPES, Message, Role
from yourtool.messages.metadata import ResultMetadata
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import FileRoots, Request
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.dialects.base import Dialect
from yourtool.providers.encoded_history import EncodedHistory
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.provider_specs import BUILT_IN
from yourtool.providers.registry import load_dialect
from yourtool.providers.requests.attachment_limits import fit_attachments
from yourtool.providers.requests.request_view import RequestView, ViewRules
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.settings.config import Api

SIZES = (10, 100, 1_000, 10_000)
APIS: tuple[Api, ...] = ("messages", "chat", "responses", "generate-content", "ollama")
OUTPUT = "a line of the output of a tool that a model has called\n" * 30


def measure(sizes: Sequence[int] = SIZES) -> dict[str, dict[str, float]]:
    """Return milliseconds of CPU by dialect and number of messages, and for a request in full."""
    return {api: _measured(api, sizes) for api in APIS}


def _measured(api: Api, sizes: Sequence[int]) -> dict[str, float]:
    spec = next(each for each in BUILT_IN if each.api == api)
    session = _Session(load_dialect(spec), f"{spec.name}:any")
    messages = _conversation(max(sizes))
    found: dict[str, float] = {}
    for size in sizes:
        session.send(messages[: size - 3])
        found[str(size)] = session.send(messages[: size - 1])  # an odd number: no open call
    session.forget()
    return {**found, f"{max(sizes)}_in_full": session.send(messages)}


class _Session:
    """What a session does between two requests."""

    def __init__(self, dialect: Dialect, model_id: str) -> None:
        can = AdapterCapabilities(supports_prompt_caching=True, max_context_tokens=10**9)
        self._dialect = dialect
        self._model = Model(id=model_id, wire_name="any", capabilities=can)
        self._ids = ToolIdMap()
        self._view, self._encoded = RequestView(), EncodedHistory()

    def forget(self) -> None:
        """Build the next request in full."""
        self._view, self._encoded = RequestView(), EncodedHistory()

    def send(self, history: Sequence[Message]) -> float:
        """Return the milliseconds of CPU until the request is encoded."""
        started, model = time.process_time(), self._model
        view = self._view.build(history, ViewRules(model))
        roots = FileRoots(Path(), Path())
        messages, _ = fit_attachments(view, model, roots)
        estimate_tokens(messages, (), model.id)
        request = Request(
            request_id="01R",
            session_id="sess_01",
            message_id="01M",
            model=model,
            messages=messages,
            max_output_tokens=4_096,
            cache=plan_cache(messages, (), model, "short"),
            tool_ids=self._ids,
            encoded_history=self._encoded,
            file_roots=roots,
            interrupt=Interrupt(),
        )
        self._dialect.to_wire(request)
        return round(1_000 * (time.process_time() - started), 2)


def _conversation(size: int) -> list[Message]:
    """Return a prompt and as many calls of a tool as fit."""
    messages = [_message(0, Role.USER, TextBlock("Read all files."))]
    while len(messages) < size:
        number = len(messages)
        call = ToolUseBlock(f"tu_{number:026}", "read_file", {"path": f"{number}.txt"})
        messages.append(_message(number, Role.ASSISTANT, TextBlock("The next one."), call))
        result = ToolResultBlock(call.id, (TextBlock(f"{number}\n{OUTPUT}"),))
        messages.append(_message(number + 1, Role.TOOL, result, call=call.id))
    return messages


def _message(
    number: int,
    role: Role,
    *content: TextBlock | ToolUseBlock | ToolResultBlock,
    call: str | None = None,
) -> Message:
    return MESSAGE_TYPES[role](
        id=f"{number:026}",
        session_id="sess_01",
        role=role,
        content=content,
        metadata=ResultMetadata(parent_tool_use_id=call) if call else METADATA_TYPES[role](),
        created_at=datetime.now(UTC),
    )


if __name__ == "__main__":
    print(json.dumps({"request_growth": measure()}))
