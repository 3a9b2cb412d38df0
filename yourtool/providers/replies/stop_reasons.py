"""Providers' words for why a reply ended; every one that is known is mapped, none is guessed."""

import logging
from collections.abc import Mapping

from yourtool.messages import StopReason

_log = logging.getLogger(__name__)


def parse_stop_reason(word: str, known: Mapping[str, StopReason], provider: str) -> StopReason:
    """Return our word for the provider's; an unknown one is logged."""
    if (reason := known.get(word)) is not None:
        return reason
    _log.warning("`%s` ended a reply for a reason that is not known here: %r", provider, word)
    return StopReason.OTHER
