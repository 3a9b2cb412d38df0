"""What a reply used, where its provider did not say all of it."""

import logging
from collections.abc import Iterable

from msgspec.structs import replace

from yourtool.deltas import TokenUsage
from yourtool.providers.base import Request
from yourtool.providers.estimate import estimate_text, estimate_tokens

_log = logging.getLogger(__name__)


def final_usage(
    request: Request, counted: TokenUsage | None, texts: Iterable[str], *, is_cut: bool
) -> TokenUsage:
    """Return the counters of a reply, with estimates for counters the provider omitted.

    `counted` is what the provider said last, and `texts` what had arrived. The counters of a reply
    that `is_cut` came before its end: the output was at least what had arrived.
    """
    if counted is not None and counted.prompt_tokens and not is_cut:
        return counted
    model = request.model.id
    shown = round(sum(estimate_text(text, model) for text in texts))
    if counted is not None and counted.prompt_tokens:
        if shown <= counted.output_tokens:
            return counted
        return replace(counted, output_tokens=shown, estimated=True)
    if not is_cut:
        _log.warning("`%s` did not report how many tokens it used; they are estimated", model)
    said = 0 if counted is None else counted.output_tokens
    output = max(said, shown) if is_cut else said or max(1, shown)
    return replace(
        counted or TokenUsage(input_tokens=0, output_tokens=0),
        input_tokens=estimate_tokens(request.messages, request.tools, model),
        output_tokens=output,
        estimated=True,
    )
