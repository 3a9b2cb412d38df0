"""Messages from foreign entries."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from msgspec.structs import replace

from yourtool.errors import ErrorClass
from yourtool.extensions.importers.transcript import (
    Call,
    Command,
    Entry,
    Part,
    Prompt,
    Reply,
    ReplyPart,
    Transcript,
    Unknown,
)
from yourtool.ids import new_id
from yourtool.messages.blocks import (
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import PromptMessage, ReplyMessage, ResultMessage
from yourtool.messages.metadata import (
    Audience,
    ErrorInfo,
    ImportSource,
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
from yourtool.messages.usage import Usage, UsageExtra

PRICES = "import-unknown"
"""The price table of imported usage: costs are those that the file reports."""
_NO_USAGE = Usage(
    input_tokens=0, output_tokens=0, cost_usd=Decimal(0), pricing_version=PRICES, latency_ms=0
)
_STOPS = {
    "stop": StopReason.END_TURN,
    "end_turn": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "refusal": StopReason.REFUSAL,
    "content_filter": StopReason.CONTENT_FILTER,
    "pause_turn": StopReason.PAUSE_TURN,
}
_MAX_RAW = 1_000
"""Characters of arguments that are no JSON object."""

OurBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock


class MessageBuilder:
    """Builds the messages of one session."""

    def __init__(self, transcript: Transcript, session_id: str) -> None:
        self._system, self._format = transcript.system, transcript.format
        self._session_id = session_id

    @property
    def reason(self) -> str:
        """Why a model was chosen."""
        return f"imported from {self._system}"

    def build_prompt(self, entry: Entry, prompt: Prompt) -> PromptMessage:
        """Return a message of the user."""
        audience = Audience.USER if prompt.for_user_only else Audience.BOTH
        return PromptMessage(
            id=new_id(),
            session_id=self._session_id,
            content=_parts(prompt.content),
            metadata=PromptMetadata(
                import_source=self._source(entry.id, prompt.content), audience=audience
            ),
            created_at=entry.at,
        )

    def build_command(self, entry: Entry, command: Command) -> PromptMessage:
        """Return the message of a command that the user ran."""
        status = "no exit code" if command.exit_code is None else f"exit code {command.exit_code}"
        end = f"[{status}; the user ran this command]\n"
        texts = (f"$ {command.command}\n", _with_newline(command.output), end)
        return PromptMessage(
            id=new_id(),
            session_id=self._session_id,
            content=tuple(TextBlock(text) for text in texts),
            metadata=PromptMetadata(
                origin=Origin.USER_SHELL,
                audience=Audience.BOTH if command.shared else Audience.USER,
                import_source=self._source(entry.id),
            ),
            created_at=entry.at,
        )

    def build_reply(
        self, entry: Entry, reply: Reply, uses: Mapping[str, ToolUseBlock]
    ) -> ReplyMessage:
        """Return a complete reply; `uses` has our call for each id of a call in the file."""
        seen, content = set[str](), list[OurBlock]()
        errors = dict[str, ToolInputError]()
        for each in reply.content:
            if isinstance(each, Unknown):
                content.append(TextBlock(each.text))
            elif not isinstance(each, Call):
                content.append(each)
            elif each.id not in seen:
                seen.add(each.id)
                content.append(uses[each.id])
                if each.problem:
                    error = ToolInputError(raw=each.raw[:_MAX_RAW], error=each.problem)
                    errors[uses[each.id].id] = error
        metadata = replace(
            self._build_metadata(entry, reply, MessageStatus.COMPLETE),
            stop_reason=StopReason.TOOL_USE if uses else _STOPS.get(reply.stop, StopReason.OTHER),
            tool_input_errors=errors or None,
        )
        return self._build_reply(entry, tuple(content), metadata)

    def build_broken_reply(self, entry: Entry, reply: Reply) -> ReplyMessage | None:
        """Return the part of a reply that is not complete, without its calls."""
        kept = tuple(
            TextBlock(each.text) if isinstance(each, Unknown) else each
            for each in reply.content
            if not isinstance(each, Call)
        )
        status = MessageStatus.CANCELLED if reply.is_cancelled else MessageStatus.ERROR
        if not kept:
            return None
        return self._build_reply(entry, kept, self._build_metadata(entry, reply, status))

    def build_result(
        self,
        source_id: str | None,
        at: datetime,
        use: ToolUseBlock,
        content: tuple[Part, ...],
        *,
        is_error: bool,
    ) -> ResultMessage:
        """Return the result of a call; `source_id`: its entry in the file, if it is there."""
        return ResultMessage(
            id=new_id(),
            session_id=self._session_id,
            content=(ToolResultBlock(use.id, _parts(content), is_error),),
            metadata=ResultMetadata(
                parent_tool_use_id=use.id,
                origin=Origin.IMPORT_REPAIR if source_id is None else None,
                import_source=self._source(source_id, content),
            ),
            created_at=at,
        )

    def _source(
        self, source_id: str | None, content: Iterable[Part | ReplyPart] = ()
    ) -> ImportSource:
        """Return where a message is from, with the blocks of unknown kinds in its content."""
        unknown = [dict(each.raw) for each in content if isinstance(each, Unknown)]
        extra = {"unknown_blocks": unknown} if unknown else None
        return ImportSource(
            system=self._system, format=self._format, source_id=source_id, extra=extra
        )

    def _build_reply(
        self, entry: Entry, content: tuple[OurBlock, ...], metadata: ReplyMetadata
    ) -> ReplyMessage:
        return ReplyMessage(
            id=new_id(),
            session_id=self._session_id,
            content=content,
            metadata=metadata,
            created_at=entry.at,
        )

    def _build_metadata(self, entry: Entry, reply: Reply, status: MessageStatus) -> ReplyMetadata:
        usage, failure = reply.usage or _NO_USAGE, None
        if status is MessageStatus.ERROR:
            failure = ErrorInfo(error_class=ErrorClass.OTHER, message=reply.failure)
        return ReplyMetadata(
            model=reply.model,
            provider=reply.model.partition(":")[0],
            routing=RoutingDecisionRecord(
                mode=RoutingMode.DEFAULT, chosen_model=reply.model, reason=self.reason
            ),
            usage=replace(usage, cost_usd=Decimal(0)),
            usage_extra=UsageExtra(
                estimated=reply.usage is None,
                unpriced=True,
                reported_cost_usd=usage.cost_usd or None,
            ),
            status=status,
            stop_detail=reply.stop or None,
            error=failure,
            import_source=self._source(entry.id, reply.content),
        )


def _parts(content: Iterable[Part]) -> tuple[TextBlock | ImageBlock, ...]:
    """Return blocks of ours: in place of an unknown one, the text that names it."""
    return tuple(TextBlock(each.text) if isinstance(each, Unknown) else each for each in content)


def _with_newline(text: str) -> str:
    return f"{text}\n" if text and not text.endswith("\n") else text
