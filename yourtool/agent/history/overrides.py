"""Overrides of single messages in requests.

A pinned message is never summarised or elided. The stored history is unchanged. Calls and results
stay together: without a reply, requests have no results of its calls, and an omitted result is
replaced by a placeholder. The last prompt is never omitted.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from yourtool.events.context import ContextOverridden, Override
from yourtool.messages.blocks import ContentBlock, MediaBlock, TextBlock, ToolResultBlock
from yourtool.messages.message import Message, ReplyMessage, Role

OMITTED_OUTPUT = "(The user removed the output of this call from the conversation.)"
REFUSED_MEDIA = TextBlock("(An attachment was left out here: a provider refused it.)")
START_CHARACTERS, END_CHARACTERS = 600, 300
"""Of each text of a truncated message."""


class Overrides:
    """The choices of a session by the id of the message; only `apply` changes them."""

    def __init__(self) -> None:
        self._facts: dict[str, ContextOverridden] = {}
        self._shortened: dict[str, tuple[Message, Message]] = {}
        """By id: a message and its short version, so that it is always the same object."""
        self.pinned: frozenset[str] = frozenset()
        """Ids of pinned messages."""

    def apply(self, fact: ContextOverridden) -> None:
        """Use the choice of the user from now on."""
        chosen = self._facts | {fact.target: fact}
        if fact.override == "none":
            del chosen[fact.target]
        self._facts = chosen  # replaced, because threads read it
        self._shortened = {k: v for k, v in self._shortened.items() if k != fact.target}
        self.pinned = frozenset(k for k, v in chosen.items() if v.override == "pinned")

    @property
    def has_truncated(self) -> bool:
        """Whether a message is truncated."""
        return any(each.override == "truncated" for each in self._facts.values())

    def find(self, message_id: str) -> Override:
        """Return the choice for a message."""
        fact = self._facts.get(message_id)
        return "none" if fact is None else fact.override

    def find_omitted_kinds(self, message_id: str) -> frozenset[str]:
        """Return the kinds of attachments, such as `image`, that requests omit of a message."""
        fact = self._facts.get(message_id)
        if fact is None or fact.override != "without_media":
            return frozenset()
        return frozenset(fact.text.split())

    def use(self, messages: Sequence[Message]) -> list[Message]:
        """Return what requests have in place of messages."""
        if len(self._facts) == len(self.pinned):
            return list(messages)
        omitted = {each.id for each in messages if self.find(each.id) == "omitted"}
        omitted.discard(next((each.id for each in reversed(messages) if each.is_prompt), ""))
        gone = {
            call.id
            for each in messages
            if each.role is Role.ASSISTANT and each.id in omitted
            for call in each.tool_uses
        }
        found = list[Message]()
        for each in messages:
            if (result := each.result) is not None:
                if result.tool_use_id not in gone:
                    found.append(self._shorten(each, is_omitted=each.id in omitted))
            elif each.id not in omitted:
                found.append(self._shorten(each))
        return found

    def _shorten(self, message: Message, *, is_omitted: bool = False) -> Message:
        override = self.find(message.id)
        if not is_omitted and override not in ("truncated", "without_media"):
            return message
        source, short = self._shortened.get(message.id, (None, message))
        if source is not message:
            text = self._facts[message.id].text or OMITTED_OUTPUT * is_omitted
            kinds = self.find_omitted_kinds(message.id)
            short = _without_media(message, kinds) if kinds else _replace_texts(message, text)
            self._shortened[message.id] = message, short
        return short


def get_kind(block: ContentBlock) -> str:
    """Return the kind of an attachment, such as `image`; empty for other blocks."""
    return str(type(block).__struct_config__.tag) if isinstance(block, MediaBlock) else ""


def find_kinds(message: Message) -> frozenset[str]:
    """Return the kinds of the attachments of a message, also in the result of a call."""
    content = message.content if message.result is None else message.result.content
    return frozenset(map(get_kind, content)) - {""}


def find_steps(messages: Sequence[Message], wanted: frozenset[str]) -> set[str]:
    """Return the wanted ids with those of the calls and results that belong to them."""
    if not wanted:
        return set()
    callers = {call.id: each.id for each in messages for call in each.tool_uses}
    steps = [
        (each.id, callers.get(each.result.tool_use_id, "") if each.result else each.id)
        for each in messages
    ]
    picked = {step for message_id, step in steps if message_id in wanted}
    return {message_id for message_id, step in steps if step in picked}


def truncate(text: str, message_id: str) -> str:
    """Return the start and the end of a text, and how to get what is missing."""
    missing = len(text) - START_CHARACTERS - END_CHARACTERS
    note = f"(… {missing:,} characters are left out; `expand_message` has them: `{message_id}` …)"
    if missing <= len(note):
        return text
    return f"{text[:START_CHARACTERS]}\n\n{note}\n\n{text[-END_CHARACTERS:]}"


def _replace_texts(message: Message, text: str) -> Message:
    """Return a message with `text` as its only text; empty: with shortened texts.

    It has no attachments. A reply has its calls, and none of its opaque parts, which are valid for
    all of it only.
    """
    if (result := message.result) is not None:
        content = _replace_blocks(result.content, text, message.id)
        return replace(message, content=(replace(result, content=content),))
    short = replace(message, content=_replace_blocks(message.content, text, message.id))
    if isinstance(short, ReplyMessage):
        short = replace(short, metadata=replace(short.metadata, model=None, provider_raw=None))
    return short


def _without_media(message: Message, kinds: frozenset[str]) -> Message:
    """Return a message that has a note in place of its attachments of these kinds."""

    def replaced(content: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
        return tuple(REFUSED_MEDIA if get_kind(each) in kinds else each for each in content)

    if (result := message.result) is not None:
        return replace(message, content=(replace(result, content=replaced(result.content)),))
    return replace(message, content=replaced(message.content))


def _replace_blocks(
    content: Sequence[ContentBlock], text: str, message_id: str
) -> tuple[ContentBlock, ...]:
    if text:
        others = (each for each in content if not isinstance(each, TextBlock | MediaBlock))
        return (TextBlock(text), *others)
    return tuple(_shorten_block(each, message_id) for each in content)


def _shorten_block(block: ContentBlock, message_id: str) -> ContentBlock:
    match block:
        case TextBlock(text=text):
            return TextBlock(truncate(text, message_id))
        case ToolResultBlock():
            return block
        case _ if isinstance(block, MediaBlock):
            return TextBlock(f"(An attachment is left out; its message is `{message_id}`.)")
        case _:
            return block
