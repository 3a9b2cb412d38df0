"""End of a reply.

It has the stop reason, and token usage that the provider did not report.
"""

import logging
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from yourtool.events.deltas import TokenUsage
from yourtool.messages.metadata import StopReason
from yourtool.providers.base import Request
from yourtool.providers.estimate import estimate_text, estimate_tokens

_log = logging.getLogger(__name__)


def parse_stop_reason(word: str, known: Mapping[str, StopReason], provider: str) -> StopReason:
    """Return the stop reason for the provider's `word`; an unknown one is logged, as `OTHER`."""
    if (reason := known.get(word)) is not None:
        return reason
    _log.warning("`%s` sent an unknown stop reason: %r", provider, word)
    return StopReason.OTHER


def final_usage(
    request: Request, counted: TokenUsage | None, texts: Iterable[str], *, is_cut: bool
) -> TokenUsage:
    """Return the counters of a reply, with estimates for counters the provider omitted.

    `counted` has the last reported counters, and `texts` the received text. The counters of a reply
    that `is_cut` precede its end, so the output is at least the size of the received text.
    """
    if counted is not None and counted.prompt_tokens and not is_cut:
        return counted
    model = request.model.id
    received = round(sum(estimate_text(text, model) for text in texts))
    if counted is not None and counted.prompt_tokens:
        if received <= counted.output_tokens:
            return counted
        return replace(counted, output_tokens=received, estimated=True)
    if not is_cut:
        _log.warning("`%s` did not report its token usage; it is estimated", model)
    reported = 0 if counted is None else counted.output_tokens
    output = max(reported, received) if is_cut else reported or max(1, received)
    return replace(
        counted or TokenUsage(input_tokens=0, output_tokens=0),
        input_tokens=estimate_tokens(request.messages, request.tools, model),
        output_tokens=output,
        estimated=True,
    )
