"""Map the stop reasons of providers; unknown ones become `OTHER`."""

import logging
from collections.abc import Mapping

from yourtool.messages.metadata import StopReason

_log = logging.getLogger(__name__)


def parse_stop_reason(word: str, known: Mapping[str, StopReason], provider: str) -> StopReason:
    """Return the stop reason for the provider's `word`; an unknown one is logged."""
    if (reason := known.get(word)) is not None:
        return reason
    _log.warning("`%s` sent an unknown stop reason: %r", provider, word)
    return StopReason.OTHER
