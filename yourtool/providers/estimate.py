"""How many tokens a prompt probably has, without asking anybody.

Text is taken apart as byte-pair tokenizers take it apart before they merge: words at capitals,
digits in groups, signs, line ends with their indentation, and ideographs one by one
(https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py). Common words are one
token then, so counting the parts comes close.

Makers add words of their own that nobody sees. Once a request was counted, `calibrated` takes that
count as the measure.
"""

import base64
import binascii
import re
from collections.abc import Sequence

from yourtool.effects import ToolDefinition
from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.providers.magic import dimensions
from yourtool.providers.makers import Maker, maker_of

_WORD = re.compile(r"[A-Z]?[a-z]+")
_CAPITALS, _CAPITALS_LONG = re.compile(r"[A-Z]+(?![a-z])"), 3
_LONG, _LONG_COSTS = 8, 0.06
"""A longer word costs this more for each further letter."""
_SIGNS, _SIGN_COSTS = re.compile(r"[^\w\s]+|_+"), 0.3
"""A run of signs is a token, and this more for each further sign."""
_JOINED, _JOINED_SAVES = re.compile(r"[._(](?=[A-Za-z])"), 0.5
"""Such a sign is often one token with the word behind it."""
_BREAK, _BREAK_COSTS = re.compile(r"\n\s*|[ \t]{2,}|(?<=\S) (?=\d)"), 0.8
_OPAQUE, _OPAQUE_COSTS = re.compile(r"[A-Za-z\d+/]{40,}=*", re.ASCII), 0.67
_OF_ALL_KINDS = re.compile(r"(?=.*\d)(?=.*[a-z]).*[A-Z]")
"""Base64 and its like: hardly any two letters of it are one token."""
_DIGITS = re.compile(r"\d+")
_IDEOGRAPH = r"[\u3400-\u9fff\uf900-\ufaff]"
_SYLLABLE = r"[\u3041-\u30ff\uac00-\ud7af]"
_FOREIGN = r"[^\W\d_a-zA-Z\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
"""Large classes take long to compile, so that is left to the first text that needs them."""
_WHOLE, _SAMPLES = 32_768, 8
"""Of a text with more characters than this, as many samples are counted."""
_LARGEST_PICTURE = 1_600
_HEADER = 64 * 1024
_MOST_OFF = 1.3
_MOST_COUNTS = 32_768
_counts: dict[tuple[int, int, Maker], float] = {}
"""What texts were counted as, so that a request counts only what is new; the texts may go."""


def estimate_tokens(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], model: str = ""
) -> int:
    """Guess how many tokens the messages and the tools are to a model: its id, or its provider."""
    return counted_by(maker_of(model), messages, tools)


def counted_by(maker: Maker, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
    """Guess how many tokens the messages and the tools are as a maker counts."""
    said = sum(
        maker.message + sum(_block(block, maker) for block in message.content)
        for message in messages
    )
    offered = sum(
        maker.tool
        + _words(f"{tool.name}\n{tool.description}\n{maker.schema(tool.input_schema)}", maker)
        for tool in tools
    )
    around = (maker.request if messages else 0) + (maker.tools if tools else 0)
    return round(around + said + offered)


def estimate_text(text: str, model: str = "") -> float:
    """Guess how many tokens a text is."""
    return _words(text, maker_of(model))


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


def _block(block: ContentBlock, maker: Maker) -> float:
    match block:
        case TextBlock(text) | ThinkingBlock(text):
            return _words(text, maker)
        case RedactedThinkingBlock(data):
            return _words(data, maker)
        case ToolUseBlock():
            return maker.call + _words(f"{block.name}{canonical_json(block.input).decode()}", maker)
        case ImageBlock():
            return _picture(block, maker)
        case AudioBlock() | DocumentBlock():
            return _LARGEST_PICTURE
        case _:
            return maker.call + sum(_block(part, maker) for part in block.content)


def _words(text: str, maker: Maker) -> float:
    key = hash(text), len(text), maker
    if (tokens := _counts.get(key)) is None:
        if len(_counts) >= _MOST_COUNTS:
            _counts.clear()
        tokens = _counts[key] = _count(text, maker)
    return tokens


def _count(text: str, maker: Maker) -> float:
    if len(text) <= _WHOLE:
        return _counted(text, maker)
    size, step = _WHOLE // _SAMPLES, len(text) // _SAMPLES
    seen = "".join(text[at * step : at * step + size] for at in range(_SAMPLES))
    return _counted(seen, maker) * len(text) / len(seen)


def _counted(text: str, maker: Maker) -> float:
    runs = [run for run in _OPAQUE.findall(text) if _OF_ALL_KINDS.match(run)]
    opaque = sum(map(len, runs))
    for run in runs:
        text = text.replace(run, "", 1)
    words = [len(word) for word in _WORD.findall(text)]
    tokens = (
        _OPAQUE_COSTS * opaque
        + len(words)
        + _LONG_COSTS * sum(size - _LONG for size in words if size > _LONG)
    )
    tokens += sum(-(-len(run) // _CAPITALS_LONG) for run in _CAPITALS.findall(text))
    tokens += sum(1 + _SIGN_COSTS * (len(run) - 1) for run in _SIGNS.findall(text))
    tokens -= _JOINED_SAVES * len(_JOINED.findall(text))
    tokens += _BREAK_COSTS * len(_BREAK.findall(text))
    tokens += sum(-(-len(run) // maker.digits) for run in _DIGITS.findall(text))
    tokens *= maker.words
    if not text.isascii():
        tokens += maker.ideograph * len(re.findall(_IDEOGRAPH, text))
        tokens += maker.syllable * len(re.findall(_SYLLABLE, text))
        tokens += maker.foreign * len(re.findall(_FOREIGN, text))
    return tokens


def _picture(image: ImageBlock, maker: Maker) -> float:
    if image.pixels is not None:
        return maker.picture(*image.pixels)
    if image.source.kind != "base64":
        return _LARGEST_PICTURE
    try:
        size = dimensions(base64.b64decode(image.source.data[:_HEADER]))
    except (binascii.Error, ValueError):
        return _LARGEST_PICTURE
    return _LARGEST_PICTURE if size is None else maker.picture(*size)
