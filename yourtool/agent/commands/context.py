"""Commands `/context` and `/compact`.

They show the next request, message by message, and its cost.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    Report,
    Section,
    ShowMessage,
    SlashCommand,
    StartTurn,
)
from yourtool.agent.requests.inspector import list_breakpoints, list_parts, name_message
from yourtool.agent.requests.next_request import Entry, NextRequest, list_originals
from yourtool.errors import UsageError
from yourtool.events.context import Override
from yourtool.foundation.amounts import format_size
from yourtool.messages.message import Message, Role

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.project.project_trust import ProjectTrust
    from yourtool.agent.session.session import Session

_USAGE = (
    "`/context` takes `list`, `original`, or the number of a message and one of `show`, `pin`,"
    " `shorten`, `omit` and `reset`."
)
_VERBS: dict[str, Override] = {
    "pin": "pinned",
    "shorten": "truncated",
    "omit": "omitted",
    "reset": "none",
}
_MARKS = {"pinned": "+", "truncated": "~", "without_media": "~", "omitted": "-", "none": ""}
_FIXED = ("system prompt", "instructions", "skills", "memory", "tools")
"""The parts that do not belong to the conversation."""
_MAX_TITLE, _MAX_REASON = 38, 32
"""Characters in a row of the list, so that all columns fit in a terminal of 100 columns."""
_PART, _MAX_SHOWN = "part:", 20_000


def show_context(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/context`: show what the next request has, or change it for one message."""
    first, _, verb = argument.partition(" ")
    context = ContextList(session, runtime)
    if not first:
        return context.show()
    if argument == "list":
        return context.report()
    if argument == "original":
        return context.list_originals()
    return context.act(first, verb.strip() or "show")


async def compact(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/compact`: summarise the conversation before the last turn."""
    yield StartTurn(session.compact(argument))


class ContextList:
    """Shows the parts and the messages of the next request, and again after a change."""

    def __init__(self, session: "Session", runtime: "Runtime") -> None:
        self._session = session
        self._runtime = runtime

    async def show(self, current: str = "") -> CommandResults:
        """Let the user choose a part or a message, to read or to change it."""
        request = await self._session.context.compose()
        total = f"about {request.size:,} tokens"
        if (window := request.model.window) is not None:
            share = _format_share(request.size, window)
            total = f"about {request.size:,} of {window:,} tokens{share}"
        actions = (
            ChoiceAction("ctrl+p", "Ctrl+P pin", partial(self._override, "pinned")),
            ChoiceAction("ctrl+s", "Ctrl+S shorten", partial(self._override, "truncated")),
            ChoiceAction("ctrl+x", "Ctrl+X omit", partial(self._override, "omitted")),
            ChoiceAction("ctrl+r", "Ctrl+R reset", partial(self._override, "none")),
            ChoiceAction("ctrl+o", "Ctrl+O original", self._show_original),
        )
        yield Choose(
            f"Next request to {request.model.id}: {total}",
            (*_build_part_rows(request), *map(self._build_row, request.entries)),
            then=self._read,
            current=current,
            columns=("tokens", "why it is sent"),
            actions=actions,
        )

    async def report(self) -> CommandResults:
        """Show the same as text."""
        session = self._session
        request = await session.context.compose()
        sizes = await asyncio.to_thread(session.guidance.list_sizes)
        messages = tuple(
            (f"{number} {each.kind}", " · ".join(filter(None, (*_describe(each), self._cut(each)))))
            for number, each in enumerate(request.entries, 1)
        )
        parts = [(each.name, each.tokens) for each in list_parts(request)]
        sections = (
            *context_report(request, parts, session.state.branch.context_tokens),
            Section("Cache breakpoints", tuple(_list_cached(request))),
            Section("Messages", messages),
            Section("Instructions", tuple((name, format_size(size)) for name, size in sizes)),
            Section("Not used", await asyncio.to_thread(_list_unused, session.trust)),
        )
        yield Report("Context", tuple(each for each in sections if each.rows))

    async def list_originals(self) -> CommandResults:
        """Show the messages that the last summary replaces."""
        if not (originals := list_originals(self._session.state)):
            raise UsageError("No message is summarised.")
        sent = {each.id for each in self._session.state.conversation}
        yield Choose(
            f"Originals of the summary: {len(originals):,} messages; Enter goes to one",
            tuple(self._build_original(each, is_sent=each.id in sent) for each in originals),
            then=_go_to,
            columns=("",),
            actions=(ChoiceAction("ctrl+p", "Ctrl+P pin", partial(self._override, "pinned")),),
        )

    async def act(self, number: str, verb: str) -> CommandResults:
        """Show or change a message by its number in the list."""
        entries = (await self._session.context.compose()).entries
        if not number.isdecimal() or not 1 <= int(number) <= len(entries):
            raise UsageError(f"There is no message `{number}` in the next request. {_USAGE}")
        entry = entries[int(number) - 1]
        if verb == "show":
            yield self._build_report(entry)
        elif verb in _VERBS:
            async for event in self._session.context.override(entry.source.id, _VERBS[verb]):
                yield event
        else:
            raise UsageError(_USAGE)

    async def _override(self, override: Override, value: str) -> CommandResults:
        if value and not value.startswith(_PART):
            async for event in self._session.context.override(value, override):
                yield event
        async for result in self.show(value):
            yield result

    def _show_original(self, value: str) -> CommandResults:
        compacted = self._session.state.branch.compacted
        if compacted is not None and value == compacted.fact.id:
            return self.list_originals()
        return self.show(value) if value.startswith(_PART) else _go_to(value)

    async def _read(self, value: str) -> CommandResults:
        request = await self._session.context.compose()
        if value.startswith(_PART):
            name = value.removeprefix(_PART)
            yield Report(f"Context: {name}", self._read_part(request, name))
            return
        entry = next((each for each in request.entries if each.source.id == value), None)
        if entry is not None:
            yield self._build_report(entry)

    def _read_part(self, request: NextRequest, name: str) -> tuple[Section, ...]:
        if name == "tools":
            rows = tuple((each.name, each.description) for each in request.tools)
            return (Section("Tools", rows),)
        system = (each for each in request.messages if each.role is Role.SYSTEM)
        rows = tuple((name_message(each), self._mask(each.text)) for each in system)
        return (Section("System prompt, with instructions, skills and memory", rows),)

    def _build_report(self, entry: Entry) -> Report:
        sent, source = entry.sent, entry.source
        rows = [("sent", self._render(sent) if sent is not None else "nothing")]
        if sent is None or sent.content != source.content:
            rows.append(("stored", self._render(source)))
        about = (("why", entry.reason or "it belongs to the conversation"),)
        return Report(
            f"Context: {entry.kind}, about {entry.tokens:,} tokens",
            (Section("Message", about), Section("Text", tuple(rows))),
        )

    def _build_row(self, entry: Entry) -> Choice:
        choice = self._session.state.branch.overrides.find(entry.source.id)
        tokens, reason = _describe(entry)
        return Choice(
            entry.source.id,
            _cut(f"{entry.kind}: {self._cut(entry)}", _MAX_TITLE),
            " · ".join(filter(None, (f"{entry.kind}, {tokens} tokens", reason))),
            cells=(tokens, _cut(reason, _MAX_REASON)),
            mark=_MARKS[choice],
            group="Conversation",
            is_muted=entry.sent is None,
        )

    def _build_original(self, message: Message, *, is_sent: bool) -> Choice:
        kind, text = name_message(message), self._mask(_get_start(message))
        detail = "requests have it nevertheless" if is_sent else "requests have the summary of it"
        return Choice(message.id, f"{kind}: {text}", detail, mark="+" if is_sent else "")

    def _cut(self, entry: Entry) -> str:
        return self._mask(_get_start(entry.sent or entry.source))

    def _render(self, message: Message) -> str:
        calls = [f"calls {each.name} {each.input}" for each in message.tool_uses]
        result = message.result
        texts = [message.text] if result is None else [_get_result_text(message)]
        text = self._mask("\n".join(filter(None, (*texts, *calls))))
        more = f"\n… {len(text) - _MAX_SHOWN:,} more characters" * (len(text) > _MAX_SHOWN)
        return text[:_MAX_SHOWN] + more

    def _mask(self, text: str) -> str:
        return self._runtime.mask_keys(text)


def context_report(
    request: NextRequest, parts: Sequence[tuple[str, int]], last: int
) -> tuple[Section, ...]:
    """Return the parts of the next request; `last` is the size of the last one in tokens."""
    rows, window = (*parts, ("total", request.size)), request.model.window
    size = "a window of unknown size"
    if window is not None:
        rows = (*rows, ("free", max(0, window - request.size)))
        size = f"{window:,} tokens"
    return (
        Section("Model", ((request.model.id, size),)),
        Section(
            "Next request, estimated",
            tuple((name, f"{n:,} tokens{_format_share(n, window)}") for name, n in rows),
        ),
        Section("Last request, counted", (("prompt and reply", f"{last:,} tokens"),)),
    )


def _list_unused(trust: "ProjectTrust") -> tuple[tuple[str, str], ...]:
    """Return the files that configure and are not used without trust, and why; blocks."""
    found = trust.examine()
    why = "it changed since you were asked" if found.is_changed else "the folder is not trusted"
    unused = (each for each in found.files if each not in found.used_files)
    return tuple((each.name, f"{why}; `/trust` trusts it") for each in unused)


def _build_part_rows(request: NextRequest) -> list[Choice]:
    places = [each.message for each in list_breakpoints(request)]
    is_cached = any(each is None or each.role is Role.SYSTEM for each in places)
    why = "in every request" + ", cached" * is_cached
    return [
        Choice(
            f"{_PART}{each.name}",
            each.name,
            f"{each.name} · {each.tokens:,} tokens · {why}",
            cells=(f"{each.tokens:,}", why),
            group="In every request",
        )
        for each in list_parts(request)
        if each.name in _FIXED
    ]


def _describe(entry: Entry) -> tuple[str, str]:
    cache = "cached up to here" if entry.ends_cached_part else ""
    return f"{entry.tokens:,}", ", ".join(filter(None, (entry.reason, cache)))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _list_cached(request: NextRequest) -> list[tuple[str, str]]:
    rows = list[tuple[str, str]]()
    for each in list_breakpoints(request):
        place = "the last tool" if each.message is None else f"the {name_message(each.message)}"
        rows.append((f"after {place}", f"the first {each.tokens:,} tokens"))
    return rows


async def _go_to(message_id: str) -> CommandResults:
    yield ShowMessage(message_id)


def _get_start(message: Message) -> str:
    text = message.text if message.result is None else _get_result_text(message)
    calls = ", ".join(each.name for each in message.tool_uses)
    return " ".join(f"{text[:200]} {calls}".split())


def _get_result_text(message: Message) -> str:
    result = message.result
    parts = () if result is None else result.content
    return "\n".join(getattr(each, "text", "(an attachment)") for each in parts)


def _format_share(part: int, whole: int | None) -> str:
    return f", {100 * part / whole:.1f}%" if whole else ""


COMMANDS = (
    SlashCommand(
        name="context",
        run=show_context,
        argument="[list | original | N VERB]",
        keywords=(
            ("list", "show the parts, the cache and the messages as text"),
            ("original", "show the messages that are summarised"),
        ),
        summary=(
            "show what the next request has, and pin, shorten or omit messages; VERB is show, pin,"
            " shorten, omit or reset"
        ),
    ),
    SlashCommand(
        name="compact",
        aliases=("compress", "summarize"),
        run=compact,
        argument="[HINT]",
        summary="summarise the conversation before the last turn; HINT: what matters most",
    ),
)
