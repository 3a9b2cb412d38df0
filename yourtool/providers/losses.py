"""One log line for every block that a request leaves out, and nothing on the screen."""

import logging

from yourtool.messages import ContentBlock, Message, ThinkingBlock

_log = logging.getLogger(__name__)

_NOTHING = ThinkingBlock("")


def dropped(block: ContentBlock, message: Message, adapter: str, reason: str) -> None:
    """Warn that `block` of `message` does not reach the model that `adapter` speaks to.

    Reasoning of which nothing is known is no loss.
    """
    if block == _NOTHING:
        return
    kind = str(type(block).__struct_config__.tag)
    _log.warning(
        "left a block out of the request: session_id=%s message_id=%s block_type=%s adapter=%s"
        " reason=%s",
        message.session_id,
        message.id,
        kind,
        adapter,
        reason,
        extra={
            "session_id": message.session_id,
            "message_id": message.id,
            "block_type": kind,
            "adapter": adapter,
            "reason": reason,
        },
    )
