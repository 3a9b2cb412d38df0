"""Log of dropped blocks in requests."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from yourtool.errors import InvalidRequestError
from yourtool.events.context import LeftOut
from yourtool.messages.blocks import ContentBlock, ThinkingBlock
from yourtool.messages.message import Message
from yourtool.models import Model

_log = logging.getLogger(__name__)

DropCallback: TypeAlias = Callable[[ContentBlock, Message, str], None]
"""Called with a dropped block, its message and the reason."""

_EMPTY_THINKING = ThinkingBlock("")


class DropLog:
    """Log of the blocks that the requests of one session dropped.

    Each block is logged once per model, although every later request drops it again.
    """

    def __init__(self) -> None:
        self._logged: set[tuple[str, str, int]] = set()

    def for_model(self, model: Model) -> DropCallback:
        """Return `drop` for one model."""
        return lambda block, message, reason: self.drop(block, message, model, reason)

    def drop(self, block: ContentBlock, message: Message, model: Model, reason: str) -> None:
        """Log a warning that `block` of `message` is not sent to `model`.

        Empty reasoning without a signature is ignored.

        Raises:
            InvalidRequestError: the block or its message is marked critical.
        """
        if block == _EMPTY_THINKING:
            return
        kind = str(type(block).__struct_config__.tag)
        if block.critical is True or message.metadata.critical:
            raise InvalidRequestError(
                f"`{model.id}` cannot take the {kind} block of message `{message.id}`, which is"
                f" marked critical: {reason}. Nothing was sent; choose another model."
            )
        key = (model.id, message.id, hash(block))
        if key in self._logged:
            return
        self._logged.add(key)
        _log.warning(
            "left a block out of the request: session_id=%s message_id=%s block_type=%s adapter=%s"
            " reason=%s",
            message.session_id,
            message.id,
            kind,
            model.provider,
            reason,
            extra={
                "session_id": message.session_id,
                "message_id": message.id,
                "block_type": kind,
                "adapter": model.provider,
                "reason": reason,
            },
        )


class DropList(DropLog):
    """A list of the blocks that a request drops, which is not logged."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[LeftOut] = []

    def drop(self, block: ContentBlock, message: Message, model: Model, reason: str) -> None:
        """Add a block to the list, also a critical one."""
        del model
        if block != _EMPTY_THINKING:
            kind = str(type(block).__struct_config__.tag).replace("_", " ")
            self.found.append(LeftOut(message.id, kind, reason))
