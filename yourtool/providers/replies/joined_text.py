"""Joined pieces of streamed text.

Servers send one event for each token. The text of a token costs little, but each event passes
through every layer up to the screen, so a fast reply would spend more time on events than on text.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from yourtool.events.deltas import StreamEvent, TextDelta


def join_text(events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
    """Yield events with consecutive text of a block as one; the order does not change.

    An exception follows the text before it.
    """
    first: TextDelta | None = None
    texts = list[str]()
    remaining = iter(events)
    while True:
        try:
            event = next(remaining, None)
        except Exception:
            if first is not None:
                yield _joined(first, texts)
            raise
        if first is not None and not _continues(first, event):
            yield _joined(first, texts)
            first = None
            texts.clear()
        if event is None:
            return
        if isinstance(event, TextDelta):
            first = first or event
            texts.append(event.text)
        else:
            yield event


def _continues(first: TextDelta, event: StreamEvent | None) -> bool:
    """Return whether an event is more text of the same block."""
    return (
        isinstance(event, TextDelta)
        and event.content_block_index == first.content_block_index
        and event.message_id == first.message_id
    )


def _joined(first: TextDelta, texts: list[str]) -> TextDelta:
    return first if len(texts) == 1 else replace(first, text="".join(texts))
