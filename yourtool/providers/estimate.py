"""Offline estimates of token counts.

Text is split as byte-pair tokenizers split it before merging: words at capitals, digits in groups,
punctuation, and line ends with their indentation
(https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py). Common words
are one token, so the number of parts is a good estimate. Letters of other languages than English
have a cost each. The costs in this module apply to all vocabularies; `TokenWeights` has the
differences of each model family.

Providers add hidden text to prompts. `calibrate_estimate` corrects an estimate by the actual count
of an earlier request.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from functools import lru_cache, partial

from yourtool.effects import ToolDefinition
from yourtool.foundation.json_schema import resolve_schema
from yourtool.messages.blocks import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    canonical_json,
)
from yourtool.messages.memo import MessageMemo
from yourtool.messages.message import Message
from yourtool.providers.media_types import dimensions
from yourtool.providers.token_weights import TokenWeights, find_weights

_WORD, _WORD_COST = re.compile(r"[A-Z]?[a-z]+"), 0.94
_LONG_WORD, _EXTRA_LETTER_COST = 8, 0.1
"""Cost of each further letter of a long word."""
_CAPITALS, _CAPITALS_COST = re.compile(r"[A-Z]+(?![a-z])"), 0.7
_SHORT_CAPITALS, _EXTRA_CAPITAL_COST = 3, 0.22
"""Cost of each further capital of a long run."""
_PUNCTUATION, _PUNCTUATION_COST = re.compile(r"[!-/:-@\[-`{-~]+"), 0.6
_SHORT_RUN, _RUN_COST, _LONG_RUN_COST = 4, 0.3, 0.15
"""Cost of each further character of a run, and of a long run, which mostly draws a line."""
_SPACED_PUNCTUATION, _SPACED_PUNCTUATION_COST = re.compile(r" (?<=[!-/:-@\[-`{-~] )"), 0.65
"""Punctuation followed by a space is not one token with the next word."""
_LINE, _LINE_COST, _INDENT_COST = re.compile(r"\n\s*"), 1.6, 0.85
_PUNCTUATED_LINE_END = re.compile(r"\n(?<=[!-/:-@\[-`{-~]\n)")
_GAP, _GAP_COST = re.compile(r"  +|\t+"), 1.75
"""Alignment with spaces; indentation is counted with its line."""
_SPACE_BEFORE_DIGIT = re.compile(r" (?=\d)")
_DIGITS, _DIGIT_GROUP_COST = re.compile(r"\d+"), 1.05
_OPAQUE, _OPAQUE_COST = re.compile(r"[A-Za-z\d+/]{40,}=*", re.ASCII), 0.7
_MIXED_CHARS = re.compile(r"(?=.*\d)(?=.*[a-z]).*[A-Z]")
"""Base64 and similar data, where tokens are hardly longer than a character."""
_WORD_WITH_ACCENTS = r"[A-ZÀ-ÖØ-Þ]?[a-zß-öø-ɏ]+"
_EUROPEAN_STOP_WORDS = re.compile(
    r" (?:der|das|den|und|nicht|sich|ist|wird|mit|les|des|une|que|los|las|para|del|uma"
    r"|het|een|niet|wordt|che|della|non|och|att|inte|som|det)(?= )"
)
_STOP_WORD_SPAN = 36
"""Average number of characters per stop word in these languages."""
_UNICODE_PUNCTUATION = r"[^\w\s\u0900-\u0eff]+|_+"
_NOT_ASCII = r"[^\x00-\x7f]+"
_ACCENTS, _ACCENT_COST = r"[À-ɏ]+", 10
"""Rare in training data, so that one costs as much as this many other letters."""
_IDEOGRAPHS = r"[\u3400-\u9fff\uf900-\ufaff]+"
_KANA, _HANGUL = r"[\u3041-\u30ff]+", r"[\uac00-\ud7af]+"
_CYRILLIC = r"[\u0400-\u052f]+"
_OTHER_ALPHABETS = r"[\u0370-\u03ff\u0530-\u10ff]+"
"""Large classes are slow to compile, so the first text that needs them compiles them."""
_SAMPLING_THRESHOLD, _SAMPLES = 32_768, 8
"""Texts with more characters are estimated from this many samples."""
_ENCRYPTION_OVERHEAD, _ENCRYPTED_COST = 800, 0.13
"""Fixed characters of encrypted reasoning, and the cost of each further one."""
_MAX_IMAGE_TOKENS = 1_600
_IMAGE_HEADER_SIZE = 64 * 1024
_MAX_CORRECTION = 1.3
_MAX_TEXT_COUNTS = 8_192
_text_counts: dict[tuple[int, int, str], float] = {}
"""Cached counts by text hash, so that a request counts only new texts."""
_message_counts: dict[str, MessageMemo[float]] = {}
"""Cached counts of messages by the name of the weights."""


def estimate_tokens(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], model: str = ""
) -> int:
    """Estimate the tokens of messages and tools for a model id or a provider."""
    return estimate_with(find_weights(model), messages, tools)


def estimate_with(
    weights: TokenWeights, messages: Sequence[Message], tools: Sequence[ToolDefinition]
) -> int:
    """Estimate the tokens of messages and tools with the given weights."""
    if (counts := _message_counts.get(weights.name)) is None:
        memo = MessageMemo(partial(_message_tokens, weights=weights))
        counts = _message_counts.setdefault(weights.name, memo)
    content = sum(counts.values(messages))
    definitions = sum(_tool_tokens(tool, weights) for tool in tools)
    around = (weights.request if messages else 0) + (weights.tools if tools else 0)
    return round(around + content + definitions)


def estimate_text(text: str, model: str = "") -> float:
    """Estimate the tokens of a text."""
    return _text_tokens(text, find_weights(model))


def calibrate_estimate(estimate: int, last_estimate: int, last_actual: int) -> int:
    """Correct an estimate by the estimate and the count of an earlier request to the same model.

    The difference to the earlier request is scaled by the ratio of count and estimate, within
    limits, because hidden text dominates short prompts. Zeros: there is no earlier request.
    """
    if last_estimate <= 0 or last_actual <= 0:
        return estimate
    ratio = last_actual / last_estimate
    grown = estimate - last_estimate
    if grown < 0:
        return max(1, round(estimate * ratio))
    return round(last_actual + grown * min(_MAX_CORRECTION, max(1 / _MAX_CORRECTION, ratio)))


def _message_tokens(message: Message, weights: TokenWeights) -> float:
    return weights.message + sum(_block_tokens(block, weights) for block in message.content)


@lru_cache(maxsize=1_024)
def _tool_tokens(tool: ToolDefinition, weights: TokenWeights) -> float:
    schema = weights.schema(resolve_schema(tool.input_schema).schema)
    return weights.tool + _text_tokens(f"{tool.name}\n{tool.description}\n{schema}", weights)


def _block_tokens(block: ContentBlock, weights: TokenWeights) -> float:
    match block:
        case ThinkingBlock(_, str(sealed)) if weights.sealed:
            return _encrypted_tokens(sealed)
        case RedactedThinkingBlock(sealed):
            return _encrypted_tokens(sealed)
        case TextBlock(text) | ThinkingBlock(text):
            return _text_tokens(text, weights)
        case ToolUseBlock():
            return weights.call + _text_tokens(
                f"{block.name}{canonical_json(block.input).decode()}", weights
            )
        case ImageBlock():
            return _image_tokens(block, weights)
        case AudioBlock() | DocumentBlock():
            return _MAX_IMAGE_TOKENS
        case _:
            return weights.call + sum(_block_tokens(part, weights) for part in block.content)


def _encrypted_tokens(data: str) -> float:
    return _ENCRYPTED_COST * max(0, len(data) - _ENCRYPTION_OVERHEAD)


def _text_tokens(text: str, weights: TokenWeights) -> float:
    key = hash(text), len(text), weights.name
    if (tokens := _text_counts.get(key)) is None:
        if len(_text_counts) >= _MAX_TEXT_COUNTS:
            _text_counts.clear()
        tokens = _text_counts[key] = _count_sampled(text, weights)
    return tokens


def _count_sampled(text: str, weights: TokenWeights) -> float:
    if len(text) <= _SAMPLING_THRESHOLD:
        return _count_text(text, weights)
    size, step = _SAMPLING_THRESHOLD // _SAMPLES, len(text) // _SAMPLES
    seen = "".join(text[at * step : at * step + size] for at in range(_SAMPLES))
    return _count_text(seen, weights) * len(text) / len(seen)


def _count_text(text: str, weights: TokenWeights) -> float:
    runs = [run for run in _OPAQUE.findall(text) if _MIXED_CHARS.match(run)]
    for run in runs:
        text = text.replace(run, "", 1)
    return (
        weights.words * (_OPAQUE_COST * sum(map(len, runs)) + _word_tokens(text))
        + weights.signs * _punctuation_tokens(text)
        + _whitespace_tokens(text, weights)
        + _DIGIT_GROUP_COST * sum(-(-len(run) // weights.digits) for run in _DIGITS.findall(text))
        + _language_tokens(text, weights)
    )


def _word_tokens(text: str) -> float:
    words = (_WORD if text.isascii() else re.compile(_WORD_WITH_ACCENTS)).findall(text)
    capitals = _CAPITALS.findall(text)
    return (
        _WORD_COST * len(words)
        + _EXTRA_LETTER_COST
        * sum(len(word) - _LONG_WORD for word in words if len(word) > _LONG_WORD)
        + _CAPITALS_COST * len(capitals)
        + _EXTRA_CAPITAL_COST
        * sum(len(word) - _SHORT_CAPITALS for word in capitals if len(word) > _SHORT_CAPITALS)
    )


def _punctuation_tokens(text: str) -> float:
    runs = (_PUNCTUATION if text.isascii() else re.compile(_UNICODE_PUNCTUATION)).findall(text)
    longer = [len(run) for run in runs if len(run) > 1]
    return (
        _PUNCTUATION_COST * len(runs)
        + _RUN_COST * sum(min(size, _SHORT_RUN) - 1 for size in longer)
        + _LONG_RUN_COST * sum(size - _SHORT_RUN for size in longer if size > _SHORT_RUN)
        + _SPACED_PUNCTUATION_COST * len(_SPACED_PUNCTUATION.findall(text))
    )


def _whitespace_tokens(text: str, weights: TokenWeights) -> float:
    lines = _LINE.findall(text)
    indented = sum(line.endswith(("  ", "\t")) for line in lines)
    return (
        weights.lines * (_LINE_COST * len(lines) + _INDENT_COST * indented)
        - weights.ends * len(_PUNCTUATED_LINE_END.findall(text))
        + _GAP_COST * (len(_GAP.findall(text)) - indented)
        + weights.spaced * len(_SPACE_BEFORE_DIGIT.findall(text))
    )


def _language_tokens(text: str, weights: TokenWeights) -> float:
    """Return the extra cost of letters that are not English; their words are counted separately."""
    tokens = 0.0
    if common := len(_EUROPEAN_STOP_WORDS.findall(text)):
        tokens += weights.european * min(len(text), common * _STOP_WORD_SPAN)
    if not text.isascii():
        others = "".join(re.findall(_NOT_ASCII, text))
        costs = (
            (_ACCENTS, _ACCENT_COST * weights.european),
            (_IDEOGRAPHS, weights.ideograph),
            (_KANA, weights.kana),
            (_HANGUL, weights.hangul),
            (_CYRILLIC, weights.cyrillic),
            (_OTHER_ALPHABETS, weights.foreign),
        )
        for letters, cost in costs:
            tokens += cost * sum(map(len, re.findall(letters, others)))
    return tokens


def _image_tokens(image: ImageBlock, weights: TokenWeights) -> float:
    if image.pixels is not None:
        return weights.picture(*image.pixels)
    if image.source.kind != "base64":
        return _MAX_IMAGE_TOKENS
    try:
        size = dimensions(base64.b64decode(image.source.data[:_IMAGE_HEADER_SIZE]))
    except (binascii.Error, ValueError):
        return _MAX_IMAGE_TOKENS
    return _MAX_IMAGE_TOKENS if size is None else weights.picture(*size)
