"""Session facts from foreign entries.

Entries are taken in the order of the file, which is that of time; where one follows another entry
than the last, the conversation moves there. So a file that grew gives the same facts, and more.
Every call gets exactly one result, and a reply that is not complete has no calls.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import TypeVar

from msgspec.structs import replace

from yourtool.effects import SideEffects
from yourtool.errors import ErrorClass, ToolFailure
from yourtool.events.branches import (
    BranchLabelled,
    BranchSelected,
    BranchSummarised,
    EntryAdded,
    Reach,
)
from yourtool.events.catalog import AnyFact
from yourtool.events.context import ContextCompacted
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from yourtool.events.sessions import EntryImported, SessionCreated, SessionRenamed
from yourtool.events.tools import ShellRan, ToolCalled, ToolCompleted, ToolFailed
from yourtool.events.turns import PolicyEvaluation, RouteDecided, TurnCompleted, TurnStarted
from yourtool.extensions.importers.messages import MessageBuilder
from yourtool.extensions.importers.transcript import (
    Call,
    Command,
    Compaction,
    Continuation,
    Entry,
    Label,
    Note,
    Nothing,
    Position,
    Prompt,
    Reply,
    Result,
    Summary,
    Title,
    Transcript,
    UnknownEntry,
    What,
)
from yourtool.ids import new_id, new_session_id, new_tool_use_id
from yourtool.messages.blocks import TextBlock, ToolUseBlock, canonical_json
from yourtool.messages.message import Message, PromptMessage
from yourtool.messages.metadata import StopReason
from yourtool.store.texts import hash_text, one_line_title

F = TypeVar("F", bound=AnyFact)

_ELSEWHERE = "\0"
"""The place of a conversation that continued after an import; no entry has this id."""
_NO_RESULT = "The imported session has no result of this call."


def build_facts(transcript: Transcript, after: Continuation | None = None) -> list[AnyFact]:
    """Return the facts of a new session, or those that are added to one.

    What is lost is added to the report of the transcript.
    """
    if after is None:
        return _Builder(transcript, new_session_id()).build()
    return _Builder(transcript, after.session_id).build_rest(after)


class _Builder:
    """The session so far."""

    def __init__(self, transcript: Transcript, session_id: str) -> None:
        self._transcript = transcript
        self._losses = transcript.losses
        self._session_id = session_id
        self._build = MessageBuilder(transcript, session_id)
        self._facts = list[AnyFact]()
        self._at = transcript.created_at
        self._turn: str | None = None
        self._leaf = ""
        """Id of our last entry on the present path."""
        self._safe_leaf = ""
        """The last one after a whole step: every call before it has its result."""
        self._leaves: dict[str, str] = {"": ""}
        """Our last entry after a whole step, on the path to each entry of the file."""
        self._place = ""  # the entry of the file that the last one is
        self._same = {""}
        """This entry, and those after it that add nothing to the conversation."""
        self._messages: dict[str, str] = {}
        """Our message of an entry of the file."""
        self._paths: dict[str, str] = {}
        """The entry before each entry of the file."""
        self._open: dict[str, ToolUseBlock] = {}
        """Calls without a result, by their id in the file."""
        self._orphans = list[str]()  # results without a call
        self._counts = [0, 0]  # replies and calls of the turn

    def build(self) -> list[AnyFact]:
        """Return the facts of all entries."""
        self._add(SessionCreated(workspace_path="", workspace_hash=hash_text("")))
        self._add_entries(self._transcript.entries)
        return self._facts

    def build_rest(self, after: Continuation) -> list[AnyFact]:
        """Return the facts of the entries that a session does not have yet."""
        self._messages = dict(after.messages)
        for entry in self._transcript.entries:
            if entry.id not in after.known:
                continue
            self._paths[entry.id] = entry.parent
            before = self._leaves.get(entry.parent, "")
            self._leaves[entry.id] = after.leaves.get(entry.id, before)
            self._place = entry.id
        self._leaf = self._safe_leaf = after.leaf
        if self._leaves.get(self._place) != after.leaf:
            self._place = _ELSEWHERE
        self._same = {self._place}
        self._add_entries(e for e in self._transcript.entries if e.id not in after.known)
        return self._facts

    def _add_entries(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._at = entry.at
            self._move_to(entry)
            self._add_entry(entry)
            self._paths[entry.id] = entry.parent
            self._leaves[entry.id] = self._safe_leaf
            self._place = entry.id
            if not self._adds_nothing(entry.what):
                self._same.clear()
            self._same.add(entry.id)
        self._end_turn()

    def _adds_nothing(self, what: What) -> bool:
        """Whether an entry adds nothing to the conversation, or a note in the middle of a step."""
        is_note = isinstance(what, Note) and not what.for_model
        return (is_note and bool(self._open)) or isinstance(
            what, Nothing | UnknownEntry | Label | Title
        )

    def _add(self, fact: F) -> F:
        stamped = replace(
            fact, id=new_id(), timestamp=self._at, session_id=self._session_id, turn_id=self._turn
        )
        self._facts.append(stamped)
        return stamped

    def _move_to(self, entry: Entry) -> None:
        """Continue after the parent of an entry."""
        parent = entry.parent
        if parent in self._same:
            return
        if parent not in self._leaves:
            self._losses["a place in the tree, because an entry is missing"] += 1
            parent = ""
        self._select(self._leaves[parent])

    def _select(self, leaf: str) -> None:
        self._end_turn()
        if leaf != self._leaf:
            self._add(BranchSelected(leaf=leaf, left=self._leaf))
        self._leaf = self._safe_leaf = leaf
        self._same.clear()

    def _add_entry(self, entry: Entry) -> None:
        match entry.what:
            case Prompt() as prompt:
                self._start_turn(entry, prompt)
            case Reply() as reply:
                self._add_reply(entry, reply)
            case Result() as result:
                self._add_result(entry, result)
            case Command() as command:
                self._end_turn()
                self._add_command(entry, command)
            case Compaction() as compaction:
                self._compact(entry, compaction)
            case Summary(summary=summary):
                self._end_turn()
                summarised = BranchSummarised(summary=summary, left=self._leaf, message_count=0)
                self._follow(self._add(summarised).id)
            case Note(kind=kind, text=text, for_model=for_model):
                if for_model or not self._open:  # others can come between a call and its result
                    self._end_turn()
                self._add_note(kind, text, "requests" if for_model else "session")
            case Label(target=target, label=label):
                if target in self._messages:
                    text = one_line_title(label)
                    self._add(BranchLabelled(target=self._messages[target], label=text))
                else:
                    self._losses["a label of an entry that is no message"] += 1
            case UnknownEntry(system=system, kind=kind, text=text):
                self._add(EntryImported(system=system, kind=kind, text=text))
            case Title(title=title):
                self._add(SessionRenamed(title=one_line_title(title)))
            case Position(target=target):
                self._select(self._leaves.get(target, self._leaf))
            case _:
                pass

    def _add_message(self, entry: Entry, message: Message) -> None:
        """Remember the message of an entry, which is the last one of the path now."""
        self._messages[entry.id] = message.id
        self._follow(message.id)

    def _follow(self, entry_id: str) -> None:
        """Make an entry of ours the last one; calls that wait for results come before it."""
        self._leaf = max(self._leaf, entry_id)
        if not self._open:
            self._safe_leaf = self._leaf

    # ── turns ───────────────────────────────────────────────────────────────────────────────────

    def _start_turn(self, entry: Entry, prompt: Prompt) -> None:
        self._end_turn()
        message = self._build.build_prompt(entry, prompt)
        self._open_turn(message)
        self._add_message(entry, message)

    def _open_turn(self, message: PromptMessage | None) -> None:
        self._turn, self._counts = new_id(), [0, 0]
        started = TurnStarted(
            user_message_hash=hash_text(message.text if message else ""),
            estimated_input_tokens=0,
            has_images=bool(message and any(not isinstance(b, TextBlock) for b in message.content)),
            has_tool_calls_in_history=False,
            message=message,
        )
        self._add(started)

    def _end_turn(self) -> None:
        """Answer the open calls, and end the turn, if there is one."""
        self._answer_open_calls()
        if self._turn is not None:
            replies, calls = self._counts
            completed = TurnCompleted(
                stop_reason=StopReason.END_TURN,
                llm_call_count=replies,
                tool_call_count=calls,
                total_input_tokens=0,
                total_output_tokens=0,
                total_cost_usd=Decimal(0),
                wall_time_seconds=0.0,
            )
            self._add(completed)
            self._turn = None
        for text in self._orphans:
            self._add_note("tool_result", text, "session")
        self._orphans.clear()

    def _add_reply(self, entry: Entry, reply: Reply) -> None:
        self._answer_open_calls()
        if self._turn is None:
            self._open_turn(None)
        if not self._counts[0]:
            self._add_route(reply.model)
        self._counts[0] += 1
        provider = reply.model.partition(":")[0]
        request = LlmCallStarted(
            model=reply.model, provider=provider, estimated_input_tokens=0, request_id=""
        )
        self._add(request)
        if reply.failure or not reply.content:
            self._fail(entry, reply, provider)
            return
        uses = {
            each.id: ToolUseBlock(new_tool_use_id(), each.name, dict(each.input))
            for each in reply.content
            if isinstance(each, Call)
        }
        message = self._build.build_reply(entry, reply, uses)
        self._open = uses
        self._counts[1] += len(uses)
        wire = {use.id: call_id for call_id, use in uses.items()}
        self._add(LlmCallCompleted(message=message, provider_tool_ids=wire))
        self._add_message(entry, message)

    def _add_route(self, model: str) -> None:
        reason = self._build.reason
        chosen = PolicyEvaluation(
            policy="global_default", verdict="chose", candidate_model=model, reason=reason
        )
        self._add(RouteDecided(chosen_model=model, winner_index=0, elapsed_ms=0.0, chain=(chosen,)))

    def _fail(self, entry: Entry, reply: Reply, provider: str) -> None:
        """Add a reply that is not complete, without its calls."""
        message = self._build.build_broken_reply(entry, reply)
        error = ErrorClass.CANCELLED if reply.is_cancelled else ErrorClass.OTHER
        failed = LlmCallFailed(
            model=reply.model,
            provider=provider,
            error_class=error,
            error_message_redacted=reply.failure or "The reply has no content.",
            retry_count=0,
            latency_ms=0,
            message=message,
            usage=message.metadata.usage if message else None,
        )
        self._add(failed)
        if any(isinstance(each, Call) for each in reply.content):
            self._losses["a call in a reply that is not complete"] += 1
        if message is not None:
            self._add_message(entry, message)

    # ── results ─────────────────────────────────────────────────────────────────────────────────

    def _add_result(self, entry: Entry, result: Result) -> None:
        if (use := self._open.pop(result.call, None)) is None:
            self._losses["a result without a call, or a second one, which no model gets"] += 1
            texts = (block.text for block in result.content if isinstance(block, TextBlock))
            self._orphans.append("\n".join(texts))
            return
        message = self._build.build_result(
            entry.id, entry.at, use, result.content, is_error=result.is_error
        )
        called = ToolCalled(
            tool_use_id=use.id,
            tool_name=use.name,
            input_hash=hash_text(canonical_json(use.input).decode()),
            input_size_bytes=len(canonical_json(use.input)),
            side_effects=SideEffects.NONE,
        )
        self._add(called)
        completed = ToolCompleted(
            tool_use_id=use.id,
            tool_name=use.name,
            success=not result.is_error,
            output_size_bytes=sum(
                len(block.text.encode()) for block in result.content if isinstance(block, TextBlock)
            ),
            latency_ms=0,
            message=message,
        )
        self._add(completed)
        self._add_message(entry, message)

    def _answer_open_calls(self) -> None:
        """Give each open call a result in place of the one that the file does not have."""
        while self._open:
            use = self._open.pop(next(iter(self._open)))
            content = (TextBlock(_NO_RESULT),)
            message = self._build.build_result(None, self._at, use, content, is_error=True)
            failed = ToolFailed(
                tool_use_id=use.id,
                tool_name=use.name,
                error_class=ToolFailure.CANCELLED,
                error_message=_NO_RESULT,
                latency_ms=0,
                message=message,
            )
            self._add(failed)
            self._losses["the result of a call, which the file does not have"] += 1
            self._follow(message.id)
            self._leaves[self._place] = self._safe_leaf

    # ── other entries ───────────────────────────────────────────────────────────────────────────

    def _add_command(self, entry: Entry, command: Command) -> None:
        message = self._build.build_command(entry, command)
        ran = ShellRan(
            command=command.command,
            exit_code=command.exit_code,
            duration_seconds=0.0,
            truncated=False,
            message=message,
        )
        self._add(ran)
        self._add_message(entry, message)

    def _add_note(self, kind: str, text: str, reach: Reach) -> None:
        self._follow(self._add(EntryAdded(kind=kind, text=text, reach=reach)).id)

    def _compact(self, entry: Entry, compaction: Compaction) -> None:
        """Replace the messages before the first one that the file keeps by its summary.

        A turn can continue after it.
        """
        first, through = compaction.first_kept, self._safe_leaf
        if first in self._paths:
            through = self._leaves.get(self._paths[first], "")
        if not through:
            self._losses["a summary that replaces no message"] += 1
            return
        compacted = ContextCompacted(
            summary=compaction.summary,
            through=through,
            reason="user",
            turn_count=0,
            message_count=0,
            tokens_before=compaction.tokens_before,
            tokens_after=len(compaction.summary) // 4,
        )
        self._add(compacted)
