"""Hypothesis strategies for legal values: blocks, messages, whole conversations."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import (
    MESSAGE_TYPES,
    METADATA_TYPES,
    Message,
    PromptMessage,
    ReplyMessage,
    ResultMessage,
    Role,
)
from yourtool.messages.metadata import (
    Audience,
    ErrorInfo,
    ImportSource,
    MessageMetadata,
    MessageStatus,
    Origin,
    PromptMetadata,
    ReplyMetadata,
    ResultMetadata,
    RoutingDecisionRecord,
    RoutingMode,
    StopReason,
    ToolInputError,
)
from yourtool.messages.usage import RateLimits, Receipt, Usage, UsageExtra

few = settings(max_examples=25, deadline=None)
"""Settings for slowly drawn values; no deadline, because machines differ."""


def examples(number: int) -> int:
    """Return how many examples a property test tries: `number`, and many times that in a soak."""
    return number * settings.default.max_examples // _USUAL_EXAMPLES


_USUAL_EXAMPLES = 100
"""The default number of examples."""
SESSION = "sess_00000000000000000000000001"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
names = st.from_regex(r"[a-z][a-z_]{0,12}", fullmatch=True)
ulids = st.integers(0, 2**60).map(lambda n: f"{n:026d}")
tool_use_ids = ulids.map(lambda ulid: f"tu_{ulid}")
model_ids = st.sampled_from(
    [
        "anthropic:claude-sonnet-4-6",
        "google:gemini-3.5-flash",
        "ollama:qwen3:8b",
        "openai:gpt-5",
        "openrouter:a/b",
    ]
)
tokens = st.integers(0, 10_000_000)
costs = st.decimals(0, 1000, allow_nan=False, allow_infinity=False, places=9)
times = st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
json_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


json_objects = st.dictionaries(texts, json_values, max_size=3)

text_blocks = st.builds(TextBlock, texts)
image_blocks = st.builds(
    ImageBlock,
    st.builds(ImageSource, st.sampled_from(["base64", "url", "file_ref"]), texts),
    st.sampled_from(["image/png", "image/jpeg"]),
)
_sources = st.builds(ImageSource, st.sampled_from(["base64", "url", "file_ref"]), texts)
audio_blocks = st.builds(AudioBlock, _sources, st.sampled_from(["audio/wav", "audio/mpeg"]))
document_blocks = st.builds(DocumentBlock, _sources, st.just("application/pdf"), texts)
thinking_blocks = st.builds(ThinkingBlock, texts, st.none() | words)
redacted_blocks = st.builds(RedactedThinkingBlock, words)
tool_use_blocks = st.builds(ToolUseBlock, tool_use_ids, names, json_objects)
result_contents = st.lists(text_blocks | image_blocks, max_size=3).map(tuple)
tool_result_blocks = st.builds(ToolResultBlock, tool_use_ids, result_contents, st.booleans())
_heard = st.builds(TextBlock, words) | image_blocks | audio_blocks | document_blocks
blocks: st.SearchStrategy[ContentBlock] = st.one_of(
    text_blocks,
    image_blocks,
    audio_blocks,
    document_blocks,
    thinking_blocks,
    redacted_blocks,
    tool_use_blocks,
    tool_result_blocks,
)

usages = st.builds(
    Usage,
    input_tokens=tokens,
    output_tokens=tokens,
    cached_input_tokens=tokens,
    cache_creation_input_tokens=tokens,
    cost_usd=costs,
    pricing_version=st.sampled_from(["", "2026-05-08"]),
    latency_ms=st.integers(0, 10**6),
)
routings = st.builds(
    RoutingDecisionRecord,
    mode=st.sampled_from(RoutingMode),
    chosen_model=model_ids,
    reason=texts,
    rule_name=st.none() | names,
    confidence=st.none() | st.floats(0, 1),
    alternatives_considered=st.lists(model_ids, max_size=2).map(tuple),
)
receipts = st.builds(
    Receipt,
    request_id=st.none() | words,
    response_id=st.none() | words,
    rate_limits=st.none()
    | st.builds(
        RateLimits,
        remaining_requests=st.none() | tokens,
        reset_seconds=st.none() | st.floats(0, 10**6),
    ),
)
sources = st.builds(
    ImportSource,
    system=names,
    format=names,
    source_id=st.none() | words,
    imported_at=st.none() | times,
    warnings=st.lists(texts, max_size=2).map(tuple),
)
_common = {
    "status": st.sampled_from(MessageStatus),
    "user_id": st.none() | words,
    "team_id": st.none() | words,
    "origin": st.none() | st.sampled_from(Origin) | names.map("custom:{}".format),
    "audience": st.sampled_from(Audience),
    "import_source": st.none() | sources,
}
_prompt_metadata = st.builds(PromptMetadata, **_common)
_reply_metadata = st.builds(
    ReplyMetadata,
    model=st.none() | model_ids,
    provider=st.none() | names,
    routing=st.none() | routings,
    usage=st.none() | usages,
    provider_raw=st.none() | json_objects,
    stop_reason=st.none() | st.sampled_from(StopReason),
    stop_detail=st.none() | words,
    error=st.none()
    | st.builds(
        ErrorInfo,
        error_class=names,
        message=texts,
        retryable=st.booleans(),
        http_status=st.none() | st.integers(100, 599),
    ),
    tool_input_errors=st.none()
    | st.dictionaries(
        tool_use_ids,
        st.builds(ToolInputError, raw=texts, error=texts, truncated=st.booleans()),
        max_size=2,
    ),
    usage_extra=st.none()
    | st.builds(
        UsageExtra,
        estimated=st.booleans(),
        unpriced=st.booleans(),
        reasoning_tokens=st.none() | tokens,
        image_tokens=st.none() | tokens,
        audio_tokens=st.none() | tokens,
        reported_cost_usd=st.none() | costs,
        receipt=st.none() | receipts,
    ),
    **_common,
)
_result_metadata = st.builds(
    ResultMetadata,
    parent_tool_use_id=st.none() | tool_use_ids,
    details=st.none() | json_objects,
    terminate=st.booleans(),
    **_common,
)
_contents = st.lists(blocks, max_size=4).map(tuple)
_common_fields = {
    "id": ulids,
    "session_id": st.just(SESSION),
    "content": _contents,
    "created_at": times,
}
any_messages = st.one_of(
    st.builds(
        PromptMessage,
        role=st.sampled_from([Role.USER, Role.SYSTEM]),
        metadata=_prompt_metadata,
        **_common_fields,
    ),
    st.builds(ReplyMessage, metadata=_reply_metadata, **_common_fields),
    st.builds(ResultMessage, metadata=_result_metadata, **_common_fields),
)
"""Messages of every shape, valid or not."""


class Writer:
    """Builds a conversation whose ids and times grow by one."""

    def __init__(self, session_id: str = SESSION) -> None:
        self._session_id = session_id
        self._count = itertools.count(1)

    def tool_use_id(self) -> str:
        """Return the next id of a call."""
        return f"tu_{next(self._count):026d}"

    def message(
        self, role: Role, content: Sequence[ContentBlock], metadata: MessageMetadata | None = None
    ) -> Message:
        """Return the next message."""
        number = next(self._count)
        return MESSAGE_TYPES[role](
            id=f"{number:026d}",
            session_id=self._session_id,
            role=role,
            content=tuple(content),
            metadata=metadata or METADATA_TYPES[role](),
            created_at=datetime(2026, 5, 8, tzinfo=UTC) + timedelta(microseconds=number),
        )


@st.composite
def histories(
    draw: st.DrawFn, session_id: str = SESSION, max_turns: int = 3
) -> tuple[Message, ...]:
    """Legal conversations: every call has one result, directly after its message, in order."""
    writer, messages = Writer(session_id), list[Message]()
    for _ in range(draw(st.integers(1, max_turns))):
        asked = draw(st.lists(_heard, min_size=1, max_size=2))
        messages.append(writer.message(Role.USER, asked))
        for step in range(draw(st.integers(1, 3)), 0, -1):
            calls = _calls(draw, writer) if step > 1 else []
            said = draw(st.lists(text_blocks | thinking_blocks | redacted_blocks, max_size=2))
            content = [*said, *calls] or [TextBlock(draw(words))]
            messages.append(writer.message(Role.ASSISTANT, content, draw(replies(bool(calls)))))
            messages += [_answer(draw, writer, call) for call in calls]
    return tuple(messages)


def replies(has_calls: bool) -> st.SearchStrategy[ReplyMetadata]:
    """Metadata of a complete assistant message."""
    return st.builds(
        lambda model, routing, usage, raw: ReplyMetadata(
            model=model,
            provider=model.partition(":")[0],
            routing=replace(routing, chosen_model=model),
            usage=usage,
            provider_raw=raw,
            stop_reason=StopReason.TOOL_USE if has_calls else StopReason.END_TURN,
        ),
        model_ids,
        routings,
        usages,
        st.none() | json_objects,
    )


def _calls(draw: st.DrawFn, writer: Writer) -> list[ToolUseBlock]:
    return [
        ToolUseBlock(writer.tool_use_id(), draw(names), draw(json_objects))
        for _ in range(draw(st.integers(1, 3)))
    ]


def _answer(draw: st.DrawFn, writer: Writer, call: ToolUseBlock) -> Message:
    result = ToolResultBlock(call.id, draw(result_contents), draw(st.booleans()))
    return writer.message(Role.TOOL, [result], ResultMetadata(parent_tool_use_id=call.id))
