"""What makes room where a model's window is full: what tools returned long ago is left out.

The stored history stays whole; a request says in place of each output that it is not there.
Nothing is guessed beforehand: room is made when a provider has refused a request for its length,
once for what came before the last prompt, then for what came before the last reply, then for all.
So every refusal leaves less to send, and there are at most as many as there is to leave out.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from yourtool.messages import Message, Role, TextBlock, ToolResultBlock

SHORT = 400
"""Characters of an output that is not worth leaving out."""
LEFT_OUT = (
    "(The output of this call is left out to make room. Call the tool again, for less at a time,"
    " if it is needed.)"
)


def elide_tool_outputs(messages: Sequence[Message], cut: str | None) -> list[Message]:
    """Return the conversation without the outputs of tools up to the message with the id `cut`.

    Calls keep their results; only what is in them goes.
    """
    if cut is None:
        return list(messages)
    return [_without_output(each) if each.id <= cut else each for each in messages]


def next_elision(messages: Sequence[Message], cut: str | None) -> str | None:
    """Return up to which message outputs are to go when leaving them out up to `cut` was too
    little; None: there is nothing more to leave out.
    """
    heavy = [each.id for each in messages if _is_heavy(each) and (cut is None or each.id > cut)]
    prompts = [each.id for each in messages if each.is_prompt]
    replies = [each.id for each in messages if each.role is Role.ASSISTANT]
    for end in (prompts[-1:], replies[-1:]):
        if end and any(each < end[0] for each in heavy):
            return max(each for each in heavy if each < end[0])
    return heavy[-1] if heavy else None


def elision_notice(model_id: str) -> str:
    """Say that a model is sent less from now on."""
    return (
        f"The conversation is too long for `{model_id}`: what tools returned long ago is left out"
        " of what it is sent from now on. The session keeps all of it, and a larger model gets it."
    )


def _is_heavy(message: Message) -> bool:
    result = message.result
    return result is not None and _size(result) > SHORT


def _without_output(message: Message) -> Message:
    result = message.result
    if result is None or not _is_heavy(message):
        return message
    return replace(message, content=(replace(result, content=(TextBlock(LEFT_OUT),)),))


def _size(result: ToolResultBlock) -> int:
    """Count the characters of a result; whatever is not text is worth leaving out."""
    return sum(
        len(block.text) if isinstance(block, TextBlock) else SHORT + 1 for block in result.content
    )
