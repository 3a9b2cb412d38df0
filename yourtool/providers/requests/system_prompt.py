"""Move the system prompt to the first user message, for models without system messages."""

from msgspec.structs import replace

from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, Role
from yourtool.providers.base import Request


def move_system_to_first_prompt(request: Request) -> Request:
    """Return the request with the system prompt at the start of the first user message.

    Unchanged for a model that supports system messages.
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
    """Put `words` first; blocks keep their positions if possible, as cache breakpoints use them."""
    first = message.content[0]
    if isinstance(first, TextBlock) and first.text.strip():
        content = (TextBlock(f"{words}\n\n{first.text}"), *message.content[1:])
    else:
        content = (TextBlock(words), *message.content)
    return replace(message, content=content)
