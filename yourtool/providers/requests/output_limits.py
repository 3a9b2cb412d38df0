"""Length of a reply that fits.

Errors of servers can name a shorter one.

Sources of the messages: https://openrouter.ai/docs/api-reference/errors, the errors of
https://docs.claude.com/en/api/errors, https://console.groq.com/docs/rate-limits and
https://github.com/vllm-project/vllm, and those that servers sent.
"""

import re

from msgspec import Struct

from yourtool.models import Model

LEAST_OUTPUT = 512
"""A limit below this number of tokens is no use for a turn."""
_MARGIN, _SHARE = 512, 20
"""Tokens that an estimate may lack, and one part in this number of them."""
_NUMBER = r"(\d[\d,_]{0,11})"
_OUTPUT = r"max(?:imum)?[ _]?(?:new|output|completion)?[ _]?tokens"
MOST_PATTERNS = (
    rf"can only afford {_NUMBER}",
    rf"supports at most {_NUMBER} (?:completion|output) tokens",
    rf"max_tokens: \d+ > {_NUMBER}, which is the maximum",
    rf"{_OUTPUT}\W{{0,3}}[^.]{{0,60}}?range[^.\[(]{{0,40}}\[\d+, ?{_NUMBER}\]",
    rf"range of {_OUTPUT}[^.\[]{{0,40}}\[\d+, ?{_NUMBER}\]",
    rf"{_OUTPUT}\W{{0,3}} (?:must|should) be (?:less than or equal to|at most|<=) `?{_NUMBER}",
    rf"tokens you requested exceeds the model limit of {_NUMBER}",
)
_RANGE = re.compile(rf"supported range is from 1 \(inclusive\) to {_NUMBER} \(exclusive\)")
WHOLE_PATTERNS = (
    r"exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<window>\d+)",
    r"maximum context length is (?P<window>\d+) tokens.{0,60}?requested (?:about )?\d+ tokens"
    r" \((?P<prompt>\d+) (?:in the messages|of text input)[^)]{0,80}"
    r"\d+ (?:in the completion|in the output)",
    r"maximum context length is (?P<window>\d+) tokens and your request has (?P<prompt>\d+)"
    r" input tokens",
)
"""With the window and the tokens of the prompt."""
_MOST, _WHOLE = (
    tuple(re.compile(each, re.IGNORECASE | re.DOTALL) for each in patterns)
    for patterns in (MOST_PATTERNS, WHOLE_PATTERNS)
)
_RATE = re.compile(
    rf"tokens per (?:minute|day)[^:]{{0,40}}: Limit {_NUMBER}.{{0,40}}?Requested {_NUMBER}",
    re.IGNORECASE | re.DOTALL,
)


class OutputAdvice(Struct, frozen=True):
    """The length of a reply that a server would take, from its error."""

    tokens: int
    """At most; less than one if not even an empty reply would fit."""
    is_of_model: bool
    """True if it is the limit of the model, and not that of this request."""


def fit_output(model: Model, prompt_tokens: int, wanted: int) -> int:
    """Return the output limit of a request, in tokens.

    It is that of the model, `wanted`, or what the prompt leaves of the context window, if that is
    known. The server decides about a prompt that leaves nothing.
    """
    most = min(model.capabilities.max_output_tokens, wanted)
    if model.window is None:
        return most
    free = model.window - prompt_tokens - prompt_tokens // _SHARE - _MARGIN
    return max(min(most, free), min(most, LEAST_OUTPUT))


def find_advice(message: str, requested: int) -> OutputAdvice | None:
    """Return the length of a reply in an error; None: the error is about something else.

    `requested`: the output limit of the request.
    """
    for pattern in _MOST:
        if (found := pattern.search(message)) is not None:
            return OutputAdvice(_read(found[1]), "afford" not in found[0])
    if (found := _RANGE.search(message)) is not None:
        return OutputAdvice(_read(found[1]) - 1, is_of_model=True)
    for pattern in _WHOLE:
        if (found := pattern.search(message)) is not None:
            return OutputAdvice(_read(found["window"]) - _read(found["prompt"]), is_of_model=False)
    if (found := _RATE.search(message)) is not None:
        excess = _read(found[2]) - _read(found[1])
        return OutputAdvice(requested - excess, is_of_model=False)
    return None


def _read(number: str) -> int:
    return int(re.sub(r"\D", "", number))
