"""How many tokens a prompt probably has, without asking anybody.

Bytes of UTF-8 are counted, not characters, so that scripts with three bytes a character weigh what
they cost. How many make a token differs from maker to maker, and so does what is put around the
tools of a request; the figures fit recorded requests. A picture costs its pixels by 750
(https://docs.claude.com/en/docs/build-with-claude/vision).

A guess is far off where a prompt is short, for every maker adds words of its own. Once a request
was counted, `calibrated` takes that count as the measure.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import NamedTuple

from yourtool.effects import ToolDefinition
from yourtool.messages import (
    ContentBlock,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.providers.images import dimensions

_PER_MESSAGE = 4
_PER_TOOL = 12
_PIXELS = 750
_LARGEST_IMAGE = 1_600
_HEADER = 64 * 1024
_MOST_OFF = 1.3


class Density(NamedTuple):
    """How a maker's models count."""

    text: float
    """Bytes of words in a token."""
    json: float
    """Bytes of JSON in a token."""
    tools: int = 0
    """Tokens that are added as soon as there is one tool."""


_USUAL = Density(text=3.5, json=2.4)
_DENSITIES = {
    "anthropic": Density(text=3.5, json=2.4, tools=470),
    "google": Density(text=4.6, json=4.4),
    "openai": Density(text=4.4, json=3.6),
}


def estimate_tokens(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], provider: str = ""
) -> int:
    """Guess how many tokens the messages and the tools are to a provider's models."""
    density = _DENSITIES.get(provider, _USUAL)
    said = sum(
        _PER_MESSAGE + sum(_block(block, density) for block in message.content)
        for message in messages
    )
    offered = sum(
        _PER_TOOL
        + (_size(tool.name) + _size(tool.description)) / density.text
        + len(canonical_json(tool.input_schema)) / density.json
        for tool in tools
    )
    return round(said + offered + (density.tools if tools else 0))


def estimate_text(text: str) -> float:
    """Guess how many tokens a text is."""
    return _size(text) / _USUAL.text


def calibrated(estimate: int, last_estimate: int, last_actual: int) -> int:
    """Correct a guess by the guess and the count of an earlier request to the same model.

    What was added since is measured by how far off the whole was, within reason: the fixed part of
    a short prompt says little about words. Zeros mean that nothing is known.
    """
    if last_estimate <= 0 or last_actual <= 0:
        return estimate
    ratio = last_actual / last_estimate
    grown = estimate - last_estimate
    if grown < 0:
        return max(1, round(estimate * ratio))
    return round(last_actual + grown * min(_MOST_OFF, max(1 / _MOST_OFF, ratio)))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _block(block: ContentBlock, density: Density) -> float:
    match block:
        case TextBlock(text) | ThinkingBlock(text):
            return _size(text) / density.text
        case RedactedThinkingBlock(data):
            return _size(data) / density.text
        case ToolUseBlock():
            return _PER_TOOL + len(canonical_json(block.input)) / density.json
        case ImageBlock():
            return _image(block)
        case _:
            return _PER_TOOL + sum(_block(part, density) for part in block.content)


def _image(image: ImageBlock) -> float:
    if image.source.kind != "base64":
        return _LARGEST_IMAGE
    try:
        size = dimensions(base64.b64decode(image.source.data[:_HEADER]))
    except (binascii.Error, ValueError):
        return _LARGEST_IMAGE
    if size is None:
        return _LARGEST_IMAGE
    return min(_LARGEST_IMAGE, max(1, size[0] * size[1] // _PIXELS))
