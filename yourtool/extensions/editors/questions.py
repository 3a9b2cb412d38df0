"""Approval requests as permission requests of the protocol.

A request that the client cancels, or cannot answer, allows nothing and is no answer of the user.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    PermissionOption,
    PermissionOptionKind,
    TextContentBlock,
    ToolCallUpdate,
)
from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import (
    Confirmation,
    Decision,
    NetworkAnswer,
    NetworkOffer,
    PlanAnswer,
    SandboxOffer,
    Scope,
    Verdict,
)
from yourtool.extensions.editors.calls import find_locations, get_kind
from yourtool.extensions.editors.client import Client
from yourtool.extensions.editors.diffs import to_diffs
from yourtool.foundation.text import escape_line, printable
from yourtool.messages.blocks import canonical_json

_BACKTICKS = re.compile("`+")
UNANSWERED = Decision(verdict=Verdict.CANCELLED)


class Option(Struct, frozen=True):
    """One answer."""

    id: str
    name: str
    kind: PermissionOptionKind
    decision: Decision


_ALLOW, _DENY = Decision(verdict=Verdict.ALLOW), Decision(verdict=Verdict.DENY)
_ONCE = Option("once", "Allow once", "allow_once", _ALLOW)
_REJECT = Option("deny", "Deny", "reject_once", _DENY)
_EDITS = Option(
    "edits",
    "Allow all edits in the workspace, in this session",
    "allow_always",
    replace(_ALLOW, accepts_edits=True),
)
_FIXED: Mapping[str, tuple[Option, ...]] = {
    "limit": (
        Option("once", "Continue", "allow_once", _ALLOW),
        Option("deny", "Stop here", "reject_once", _DENY),
    ),
    "fallback": (
        Option("once", "Use the other model", "allow_once", _ALLOW),
        Option("deny", "Try the same model", "reject_once", _DENY),
    ),
    "plan": (
        Option(
            "ask",
            "Carry it out, ask before changes",
            "allow_once",
            Decision(verdict=Verdict.ALLOW, plan=PlanAnswer.ASK),
        ),
        Option(
            "accept_edits",
            "Carry it out, accept edits",
            "allow_always",
            Decision(verdict=Verdict.ALLOW, plan=PlanAnswer.ACCEPT_EDITS),
        ),
        Option("deny", "Keep planning", "reject_once", _DENY),
    ),
    "input": (
        Option("once", "Leave it waiting in the background", "allow_once", _ALLOW),
        Option("deny", "Stop the command", "reject_once", _DENY),
    ),
}
"""The answers of the kinds that are not about a call; a client cannot give a text."""
_NO_ANSWER = Option("deny", "Do not answer", "reject_once", _DENY)


class Questions:
    """Asks the user of one session through the client, one question after the other."""

    def __init__(self, client: Client) -> None:
        self.session_id = ""
        """Set when the session is open; nothing is asked before."""
        self.workspace = Path("/")
        self._client = client
        self._turns = asyncio.Lock()

    async def confirm(self, question: Confirmation) -> Decision:
        """Return the answer of the user, or `UNANSWERED`."""
        options = build_options(question)
        async with self._turns:
            chosen = await self._client.ask(
                self.session_id, to_call(question, self.workspace), [*map(_to_acp, options)]
            )
        return next((each.decision for each in options if each.id == chosen), UNANSWERED)


def _to_option(choice: str) -> Option:
    decision = Decision(verdict=Verdict.ALLOW, typed=choice)
    return Option(f"choose {choice}", escape_line(choice), "allow_once", decision)


def build_options(question: Confirmation) -> tuple[Option, ...]:
    """Return the answers to a question."""
    kind = "input" if question.kind == "password" else question.kind
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "question":
        return (*map(_to_option, question.choices), _NO_ANSWER)
    network = () if question.network is None else tuple(_iter_network(question.network))
    sandbox = () if question.sandbox is None else (_build_sandbox_option(question.sandbox),)
    edits = (_EDITS,) if question.offers_edits else ()
    if not question.rules:
        return (_ONCE, *edits, *network, *sandbox, _REJECT)
    rules = ", ".join(f"`{escape_line(rule)}`" for rule in question.rules)
    lasting = (
        Option(scope.value, name, "allow_always", Decision(verdict=Verdict.ALLOW, scope=scope))
        for scope, name in (
            (Scope.SESSION, f"Allow {rules} for this session"),
            (Scope.ALWAYS, f"Always allow {rules}"),
        )
    )
    return (_ONCE, *edits, *lasting, *network, *sandbox, _REJECT)


def _build_sandbox_option(offer: SandboxOffer) -> Option:
    name = f"Always allow what stays in the sandbox, in `{escape_line(offer.folder)}`"
    return Option("sandbox", name, "allow_always", replace(_ALLOW, allows_contained=True))


def _iter_network(offer: NetworkOffer) -> Iterator[Option]:
    allow = Decision(verdict=Verdict.ALLOW, scope=Scope.ALWAYS)
    if offer.outside and offer.is_enough:
        name = f"Always give {_name(offer.outside)} a network in the sandbox"
        decision = replace(allow, network=NetworkAnswer.NETWORK)
        yield Option("network", name, "allow_always", decision)
    if offer.outside:
        name = f"Always run {_name(offer.outside)} outside the sandbox"
        decision = replace(allow, network=NetworkAnswer.PROGRAM)
        yield Option("outside", name, "allow_always", decision)
    if offer.hosts:
        hosts = _name(offer.hosts)
        name = f"Run it in the sandbox, and always allow {hosts} there to all commands"
        yield Option("hosts", name, "allow_always", replace(allow, network=NetworkAnswer.HOSTS))


def _name(texts: Iterable[str]) -> str:
    return ", ".join(f"`{escape_line(each)}`" for each in texts)


def _to_acp(option: Option) -> PermissionOption:
    return PermissionOption(option_id=option.id, name=option.name, kind=option.kind)


def to_call(question: Confirmation, workspace: Path) -> ToolCallUpdate:
    """Return the call of a question with all that the decision depends on."""
    name = question.title if question.kind in ("tool", "plan") else ""
    arguments = question.input or {}
    paths = question.preview.paths if question.preview is not None else ()
    places = [find_locations({"path": path}, workspace) for path in paths]
    return ToolCallUpdate(
        tool_call_id=question.tool_use_id or question.id,
        title=build_question(question),
        kind=get_kind(name, question.side_effects),
        status="pending",
        content=[*_build_content(question, workspace)],
        locations=[place for each in places for place in each]
        or find_locations(arguments, workspace)
        or None,
        raw_input=arguments or None,
    )


def build_question(question: Confirmation) -> str:
    """Return the question in one line, with the name of the worker whose call it is."""
    worker = f"{escape_line(question.asked_by)}: " if question.asked_by else ""
    return f"{worker}{_build_question(question)}"


def _build_question(question: Confirmation) -> str:
    title, preview, subject = escape_line(question.title), question.preview, question.subject
    if question.kind == "limit":
        return f"Continue? {title}"
    if question.kind == "plan":
        return "Carry out this plan?"
    if question.kind != "tool":
        return title
    if preview is not None and preview.kind == "command":
        return f"{title}: {escape_line(preview.body)}"
    if preview is not None and preview.paths:
        return f"{title}: {', '.join(map(escape_line, preview.paths))}"
    if subject is not None and subject.text:
        return f"{title}: {escape_line(subject.text)}"
    return f"{title} ({question.side_effects.value})"


def _build_content(
    question: Confirmation, workspace: Path
) -> Iterator[ContentToolCallContent | FileEditToolCallContent]:
    """Yield the effects of a call: warnings first, then the change, the command or the text."""
    if lines := _describe(question):
        yield _to_text("\n\n".join(lines))
    if (preview := question.preview) is None:
        return
    if preview.kind == "diff":
        yield from to_diffs(preview.body, workspace)
    elif preview.kind == "command":
        yield _to_text(_fence(preview.body))
    else:
        yield _to_text(printable(preview.body))


def _describe(question: Confirmation) -> list[str]:
    """Return what the decision depends on, one fact in each line."""
    lines = [f"Warning: {each}" for each in question.consequences.cautions]
    lines += question.consequences.lines
    if (preview := question.preview) is not None:
        if preview.surroundings:
            lines.append(f"Runs in: {preview.surroundings}")
        if preview.protected:
            of = f" ({preview.protection})" if preview.protection else ""
            lines.append(f"This always needs an approval{of}.")
    if preview is not None and preview.leaving:
        lines.append(preview.leaving)
    if question.reason:
        lines.append(question.reason)
    if question.no_rule_reason:
        lines.append(f"Asked each time: {question.no_rule_reason}")
    if preview is None and question.input:
        lines += [f"{name}: {_to_json(value)}" for name, value in question.input.items()]
    return [*map(escape_line, lines)]


def _fence(command: str) -> str:
    """Return a command as a block of code; escapes show what a terminal would not."""
    shown = "\n".join(map(escape_line, command.split("\n")))
    longest = max(map(len, _BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{shown}\n{fence}"


def _to_text(text: str) -> ContentToolCallContent:
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


def _to_json(value: object) -> str:
    return canonical_json(value).decode()
