"""Interface between the loop and a provider.

An adapter combines a dialect, which is pure, with a thin `Transport`. The stream of one request
follows six rules, for any response and any chunking:
`message_start` comes before any delta; each call has one start, then input deltas, then one end;
so do text and reasoning; a final input is a JSON object; block indices never decrease;
`message_complete` comes last, except that an `error` follows it before the same error is raised.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from yourtool.effects import ToolDefinition
from yourtool.errors import AdapterError
from yourtool.events.deltas import StreamEvent
from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, Role
from yourtool.models import Effort, Model
from yourtool.providers.cache_plan import CachePlan
from yourtool.providers.dropped_blocks import DropLog
from yourtool.providers.encoded_history import EncodedHistory, HistoryWriter
from yourtool.providers.tool_ids import ToolIdMap


class ForcedTool(Struct, frozen=True):
    """The model must call this tool."""

    name: str


W = TypeVar("W", bound=HistoryWriter[Any])
ToolChoice: TypeAlias = Literal["auto", "any", "none"] | ForcedTool
"""Whether the model may call tools, must call at least one, or must call none."""


SdkVendor: TypeAlias = Literal["anthropic", "openai"]
"""The vendors whose SDKs can send requests, by the names of their packages."""


class FileRoots(Struct, frozen=True):
    """The directories that a `file_ref` of a message refers to."""

    blobs: Path
    """Stored attachments (`yourtool.messages.blobs`)."""
    workspace: Path
    """The root of relative paths."""


class Request(Struct, frozen=True, kw_only=True):
    """One model request: all input of an adapter."""

    request_id: str
    session_id: str
    message_id: str
    """The id of the reply; stream events carry it."""
    model: Model
    messages: tuple[Message, ...]
    """System messages first, stable before volatile; then the conversation from
    `request_view.build_request_view`."""
    tools: tuple[ToolDefinition, ...] = ()
    max_output_tokens: int
    stop_sequences: tuple[str, ...] = ()
    temperature: float | None = None
    effort: Effort | None = None
    """Reasoning effort; mapped to the nearest effort that the model supports."""
    tool_choice: ToolChoice = "auto"
    """Only with `tools`."""
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the final text, in the subset of `tools.schema`."""
    cache: CachePlan = CachePlan()
    drop_log: DropLog = field(default_factory=DropLog)
    """The blocks that requests of the session dropped."""
    tool_ids: ToolIdMap
    encoded_history: EncodedHistory = field(default_factory=EncodedHistory)
    """What the last request of the session encoded."""
    file_roots: FileRoots | None = None
    """None: the messages refer to no files."""
    interrupt: Interrupt
    """Every wait for the network goes through `interrupt.guard`."""
    confirm_wait: Callable[[AdapterError], Awaitable[bool]] | None = None
    """Ask the user to confirm a wait above the limit; None: there is no user to ask."""

    @property
    def is_streaming(self) -> bool:
        """Whether the reply is streamed; otherwise it is one document."""
        can = self.model.capabilities
        return can.supports_streaming and (can.supports_streaming_tool_calls or not self.tools)

    def write_history(self, writer: W, *settings: Any) -> W:
        """Return a writer that has written the conversation; `writer` is a new one.

        `settings`: what the items depend on in addition to the model and the session.
        """
        marked = {mark.message_id for mark in self.cache.breakpoints}
        session = self.session_id, self.tool_ids, self.file_roots
        key = (self.model, *session, bool(marked), *settings)
        return self.encoded_history.write(self.messages, marked, writer, key)

    @property
    def disables_parallel_calls(self) -> bool:
        """Whether there are tools and a reply may contain only one tool call."""
        return bool(self.tools) and not self.model.capabilities.supports_parallel_tool_calls

    @property
    def system(self) -> tuple[str, ...]:
        """The texts of the system messages, without blank ones."""
        return tuple(
            block.text
            for message in self.messages
            if message.role is Role.SYSTEM
            for block in message.content
            if isinstance(block, TextBlock) and block.text.strip()
        )


class Adapter(Protocol):
    """Client of one provider."""

    def encode_ahead(self, request: Request) -> None:
        """Encode a request that `stream` will get next, so that it starts sooner; blocks."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """Send the request and yield the reply as it arrives.

        When `request.interrupt` fires, open calls are ended, `message_complete` with stop reason
        `cancelled` and the partial content is yielded, and the iterator ends without raising.

        Raises:
            AdapterError: the request failed; if a delta was yielded already, then only after
                `message_complete` (stop reason `error`, partial content) and `error`.
        """
        ...

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition]
    ) -> int:
        """Estimate the size of the prompt offline, within about ten per cent."""
        ...

    async def close(self) -> None:
        """Close the connections; idempotent."""
        ...


class WireResponse(Protocol):
    """The response to one POST: status and headers, then the body as it arrives."""

    status: int
    headers: Mapping[str, str]
    """Lower-case names."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces of any size.

        Raises:
            NetworkError: the connection was lost.
        """
        ...

    async def read(self) -> bytes:
        """Return the complete body, for error responses."""
        ...


class Transport(Protocol):
    """HTTP client of one provider: adds host and key, independent of the dialect."""

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[WireResponse]:
        """Post JSON to `path` under the provider's base URL; never retries.

        Raises:
            NetworkError: no connection, TLS, or no response in time.
        """
        ...

    async def get(self, path: str) -> Any:
        """Fetch JSON, such as the model list of the provider.

        Raises:
            AdapterError: the request failed.
        """
        ...

    async def close(self) -> None:
        """Close the connections; idempotent."""
        ...
