"""The system prompt where a model takes no system messages in the list and its dialect has no
other place for it."""

from msgspec.structs import replace

from yourtool.messages import Message, Role, TextBlock
from yourtool.providers.base import Request


def move_system_to_first_prompt(request: Request) -> Request:
    """Return the request with the system prompt at the beginning of the first user message.

    Unchanged for a model that takes system messages in the list.
    """
    if request.model.capabilities.supports_system_messages_in_list or not request.system:
        return request
    system = [message for message in request.messages if message.role is Role.SYSTEM]
    others = [message for message in request.messages if message.role is not Role.SYSTEM]
    words = "\n\n".join(request.system)
    at = next((at for at, each in enumerate(others) if each.role is Role.USER), None)
    if at is None:
        first = replace(system[0], role=Role.USER, content=(TextBlock(words),))
        return replace(request, messages=(first, *others))
    others[at] = _prepend_text(words, others[at])
    return replace(request, messages=tuple(others))


def _prepend_text(words: str, message: Message) -> Message:
    """Blocks keep their places in the message where that can be: cache marks refer to them."""
    first = message.content[0]
    if isinstance(first, TextBlock) and first.text.strip():
        content = (TextBlock(f"{words}\n\n{first.text}"), *message.content[1:])
    else:
        content = (TextBlock(words), *message.content)
    return replace(message, content=content)
