"""Calls that a model writes as text.

Small models, and the servers around them, send a call as the end of a reply. Nothing in a text
runs: the model gets a note once in a turn, unless it has shown that it can call tools.
"""

import re

from yourtool.agent.turn.turn import Turn
from yourtool.events.branches import EntryAdded
from yourtool.events.deltas import Notice
from yourtool.messages.message import ReplyMessage, Role

ENTRY_KIND = "call_in_text"
_MOST = 4_000
"""Characters at the end of a reply in which a call is looked for."""
_TOLD = (
    "[Your reply ends with a call of `{0}` as text, so it did not run. Call `{0}` with the"
    " function calls of this API, or answer without a call.]"
)
_NAME = r"(?:functions\.)?([A-Za-z_]\w{0,63})"
_FORMS = (
    re.compile(
        rf'"(?:name|tool|function)"\s{{0,9}}:\s{{0,9}}"{_NAME}"'
    ),  # JSON, in tags or a fence
    re.compile(rf"<function={_NAME}>"),
    re.compile(rf'<(?:invoke|function|tool) name="{_NAME}">'),
    re.compile(rf"to={_NAME}"),  # the channels of gpt-oss
    re.compile(rf"(?:^|\n|<\|python_tag\|>){_NAME}\([^\n]*\)\W{{0,9}}$"),
)
_ENDS = ("}", "]", ">", ")", "```")


async def tell_of_call(turn: Turn, reply: ReplyMessage) -> bool:
    """Add a note that a reply ends with a call as text; return whether the turn continues."""
    name = find_call(reply.text, {each.name for each in turn.get_tools()})
    if name is None or not turn.model.capabilities.supports_tools or _can_call(turn):
        return False
    again = turn.recovery.told_of_call
    what = f"`{turn.model.id}` wrote a call of `{name}` as text, which does not run"
    end = "." if again else "; it was told."
    await turn.emit(Notice(level="warning", text=f"{what}{end}"))
    if not again:
        turn.recovery.told_of_call = True
        text = _TOLD.format(name)
        await turn.emit(EntryAdded(kind=ENTRY_KIND, text=text, reach="requests"))
    return not again


def find_call(text: str, names: set[str]) -> str | None:
    """Return the tool that the end of a reply calls as text; None: it calls none of `names`."""
    end = text[-_MOST:].rstrip()
    if not end.endswith(_ENDS):
        return None
    block = end[max(end.rfind("\n\n"), 0) :] if end.endswith(")") else end
    found = (match[1] for form in _FORMS for match in form.finditer(block))
    return next((name for name in found if name in names), None)


def _can_call(turn: Turn) -> bool:
    """True if the model has called a tool in this conversation."""
    return any(
        isinstance(each, ReplyMessage) and each.tool_uses and each.metadata.model == turn.model.id
        for each in turn.state.conversation
        if each.role is Role.ASSISTANT
    )
