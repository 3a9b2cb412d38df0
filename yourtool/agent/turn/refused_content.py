"""Content that a provider refuses.

One image must not end a session. What came since the last reply is set aside first, because the
provider has not accepted it yet; then everything of its kind. The session still stores it.
"""

import re
from collections.abc import Sequence

from yourtool.agent.history.overrides import find_kinds
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ErrorClass, ErrorCode
from yourtool.events.context import ContextOverridden
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed
from yourtool.messages.message import Message, Role

_KINDS = {
    "image": re.compile(r"\b(?:image|picture|png|jpe?g|gif|webp)", re.IGNORECASE),
    "document": re.compile(r"\b(?:pdf|document)", re.IGNORECASE),
    "audio": re.compile(r"\b(?:audio|wav|mp3)", re.IGNORECASE),
}
"""The words for each kind in the messages of providers."""
_REFUSED_STATUSES = (400, 413, 415, 422)
_WITHOUT_OUTPUT = "(The output of this call was left out: a provider refused it.)"
_NOTICE = "`{}` refused {}, which requests leave out from now on; `/context` can bring it back."


async def set_aside_refused(turn: Turn, failure: LlmCallFailed) -> bool:
    """Let later requests omit what a provider refused; return whether there is such content."""
    if failure.message is not None or failure.cut_calls:
        return False
    if failure.error_code == ErrorCode.CONTENT_FILTER:
        return await _omit_outputs(turn)
    is_invalid = failure.error_class == ErrorClass.INVALID_REQUEST
    if not (is_invalid and failure.provider_status in _REFUSED_STATUSES):
        return False
    named = {kind for kind, words in _KINDS.items() if words.search(failure.error_message_redacted)}
    new = _find_new(turn)
    return await _omit_media(turn, new, named) or (
        await _omit_media(turn, turn.state.conversation, named)
    )


def _find_new(turn: Turn) -> Sequence[Message]:
    """Return the messages since the last reply."""
    messages = turn.state.conversation
    replies = [at for at, each in enumerate(messages) if each.role is Role.ASSISTANT]
    return messages[replies[-1] + 1 if replies else 0 :]


async def _omit_outputs(turn: Turn) -> bool:
    """Omit the outputs that the provider has not accepted yet; return whether there are any."""
    overrides, text = turn.state.branch.overrides, _WITHOUT_OUTPUT
    outputs = [each.id for each in _find_new(turn) if each.result is not None]
    found = [each for each in outputs if overrides.find(each) != "omitted"]
    for each in found:
        await turn.emit(ContextOverridden(target=each, override="omitted", text=text))
    return await _report(turn, "the output of a tool", is_changed=bool(found))


async def _omit_media(turn: Turn, messages: Sequence[Message], named: set[str]) -> bool:
    """Omit the attachments of some kinds in messages; return whether there are any."""
    overrides, is_changed = turn.state.branch.overrides, False
    for each in messages:
        omitted = overrides.find_omitted_kinds(each.id)
        if (kinds := find_kinds(each) & named - omitted) and overrides.find(each.id) != "omitted":
            text, is_changed = " ".join(sorted(kinds | omitted)), True
            await turn.emit(ContextOverridden(target=each.id, override="without_media", text=text))
    return await _report(turn, "an attachment", is_changed=is_changed)


async def _report(turn: Turn, what: str, *, is_changed: bool) -> bool:
    if is_changed:
        await turn.emit(Notice(level="warning", text=_NOTICE.format(turn.model.id, what)))
    return is_changed
