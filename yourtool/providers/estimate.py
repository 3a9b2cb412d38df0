"""How many tokens a prompt probably has, without asking anybody.

Text is taken apart as byte-pair tokenizers take it apart before they merge: words at capitals,
digits in groups, signs, and line ends with their indentation
(https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py). Common words are one
token then, so counting the parts comes close. Letters of other languages than English have a price
each. The costs here hold for all vocabularies, and a `Maker` says how its own differs.

Makers add words of their own that nobody sees. Once a request was counted, `calibrated` takes that
count as the measure.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from functools import lru_cache, partial
from weakref import ReferenceType, ref

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
from yourtool.providers.media_types import dimensions
from yourtool.providers.token_weights import TokenWeights, find_weights

_WORD, _WORD_COST = re.compile(r"[A-Z]?[a-z]+"), 0.94
_LONG_WORD, _EXTRA_LETTER_COST = 8, 0.1
"""A longer word costs this more for each further letter."""
_CAPITALS, _CAPITALS_COST = re.compile(r"[A-Z]+(?![a-z])"), 0.7
_SHORT_CAPITALS, _EXTRA_CAPITAL_COST = 3, 0.22
"""A word of more capitals costs this more for each further one."""
_PUNCTUATION, _PUNCTUATION_COST = re.compile(r"[!-/:-@\[-`{-~]+"), 0.6
_SHORT_RUN, _RUN_COST, _LONG_RUN_COST = 4, 0.3, 0.15
"""What further signs of a run cost, and those of a long run, which is mostly a line drawn."""
_SPACED_PUNCTUATION, _SPACED_PUNCTUATION_COST = re.compile(r" (?<=[!-/:-@\[-`{-~] )"), 0.65
"""A sign with a space behind it is not one token with the next word."""
_LINE, _LINE_COST, _INDENT_COST = re.compile(r"\n\s*"), 1.6, 0.85
_PUNCTUATED_LINE_END = re.compile(r"\n(?<=[!-/:-@\[-`{-~]\n)")
_GAP, _GAP_COST = re.compile(r"  +|\t+"), 1.75
"""Columns that are drawn with spaces; an indentation is counted with its line."""
_SPACE_BEFORE_DIGIT = re.compile(r" (?=\d)")
_DIGITS, _DIGIT_GROUP_COST = re.compile(r"\d+"), 1.05
_OPAQUE, _OPAQUE_COST = re.compile(r"[A-Za-z\d+/]{40,}=*", re.ASCII), 0.7
_MIXED_CHARS = re.compile(r"(?=.*\d)(?=.*[a-z]).*[A-Z]")
"""Base64 and its like: hardly any two letters of it are one token."""
_WORD_WITH_ACCENTS = r"[A-ZÀ-ÖØ-Þ]?[a-zß-öø-ɏ]+"
_EUROPEAN_STOP_WORDS = re.compile(
    r" (?:der|das|den|und|nicht|sich|ist|wird|mit|les|des|une|que|los|las|para|del|uma"
    r"|het|een|niet|wordt|che|della|non|och|att|inte|som|det)(?= )"
)
_STOP_WORD_SPAN = 36
"""Among so many characters of such a language is one of these words."""
_UNICODE_PUNCTUATION = r"[^\w\s\u0900-\u0eff]+|_+"
_NOT_ASCII = r"[^\x00-\x7f]+"
_ACCENTS, _ACCENT_COST = r"[À-ɏ]+", 10
"""Rare in what vocabularies are made from: it costs as much as so many other letters."""
_IDEOGRAPHS = r"[\u3400-\u9fff\uf900-\ufaff]+"
_KANA, _HANGUL = r"[\u3041-\u30ff]+", r"[\uac00-\ud7af]+"
_CYRILLIC = r"[\u0400-\u052f]+"
_OTHER_ALPHABETS = r"[\u0370-\u03ff\u0530-\u10ff]+"
"""Large classes take long to compile, so that is left to the first text that needs them."""
_SAMPLING_THRESHOLD, _SAMPLES = 32_768, 8
"""Of a text with more characters than this, as many samples are counted."""
_ENCRYPTION_OVERHEAD, _ENCRYPTED_COST = 800, 0.13
"""Characters around reasoning that is encrypted, and what each further one costs."""
_MAX_IMAGE_TOKENS = 1_600
_IMAGE_HEADER_SIZE = 64 * 1024
_MAX_CORRECTION = 1.3
_MAX_TEXT_COUNTS = 32_768
_text_counts: dict[tuple[int, int, str], float] = {}
"""What texts were counted as, so that a request counts only what is new; the texts may go."""
_message_counts: dict[str, dict[int, float]] = {}
"""What whole messages were counted as by each maker, by their places in memory."""
_message_refs: dict[int, ReferenceType[Message]] = {}
"""The messages in `_said`; one that is gone takes its counts along."""


def estimate_tokens(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], model: str = ""
) -> int:
    """Guess how many tokens the messages and the tools are to a model: its id, or its provider."""
    return estimate_with(find_weights(model), messages, tools)


def estimate_with(
    maker: TokenWeights, messages: Sequence[Message], tools: Sequence[ToolDefinition]
) -> int:
    """Guess how many tokens the messages and the tools are as a maker counts."""
    said = sum(_message_tokens(message, maker) for message in messages)
    offered = sum(_tool_tokens(tool, maker) for tool in tools)
    around = (maker.request if messages else 0) + (maker.tools if tools else 0)
    return round(around + said + offered)


def estimate_text(text: str, model: str = "") -> float:
    """Guess how many tokens a text is."""
    return _text_tokens(text, find_weights(model))


def calibrate_estimate(estimate: int, last_estimate: int, last_actual: int) -> int:
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
    return round(last_actual + grown * min(_MAX_CORRECTION, max(1 / _MAX_CORRECTION, ratio)))


def _message_tokens(message: Message, maker: TokenWeights) -> float:
    place, counts = id(message), _message_counts.setdefault(maker.name, {})
    if (tokens := counts.get(place)) is not None:
        return tokens
    tokens = maker.message + sum(_block_tokens(block, maker) for block in message.content)
    if place not in _message_refs:
        _message_refs[place] = ref(message, partial(_forget, place))
    counts[place] = tokens
    return tokens


def _forget(place: int, _gone: ReferenceType[Message]) -> None:
    _message_refs.pop(place, None)
    for counts in tuple(_message_counts.values()):  # another thread may add a maker meanwhile
        counts.pop(place, None)


@lru_cache(maxsize=1_024)
def _tool_tokens(tool: ToolDefinition, maker: TokenWeights) -> float:
    schema = maker.schema(tool.input_schema)
    return maker.tool + _text_tokens(f"{tool.name}\n{tool.description}\n{schema}", maker)


def _block_tokens(block: ContentBlock, maker: TokenWeights) -> float:
    match block:
        case ThinkingBlock(_, str(sealed)) if maker.sealed:
            return _encrypted_tokens(sealed)
        case RedactedThinkingBlock(sealed):
            return _encrypted_tokens(sealed)
        case TextBlock(text) | ThinkingBlock(text):
            return _text_tokens(text, maker)
        case ToolUseBlock():
            return maker.call + _text_tokens(
                f"{block.name}{canonical_json(block.input).decode()}", maker
            )
        case ImageBlock():
            return _image_tokens(block, maker)
        case AudioBlock() | DocumentBlock():
            return _MAX_IMAGE_TOKENS
        case _:
            return maker.call + sum(_block_tokens(part, maker) for part in block.content)


def _encrypted_tokens(data: str) -> float:
    return _ENCRYPTED_COST * max(0, len(data) - _ENCRYPTION_OVERHEAD)


def _text_tokens(text: str, maker: TokenWeights) -> float:
    key = hash(text), len(text), maker.name
    if (tokens := _text_counts.get(key)) is None:
        if len(_text_counts) >= _MAX_TEXT_COUNTS:
            _text_counts.clear()
        tokens = _text_counts[key] = _count_sampled(text, maker)
    return tokens


def _count_sampled(text: str, maker: TokenWeights) -> float:
    if len(text) <= _SAMPLING_THRESHOLD:
        return _count_text(text, maker)
    size, step = _SAMPLING_THRESHOLD // _SAMPLES, len(text) // _SAMPLES
    seen = "".join(text[at * step : at * step + size] for at in range(_SAMPLES))
    return _count_text(seen, maker) * len(text) / len(seen)


def _count_text(text: str, maker: TokenWeights) -> float:
    runs = [run for run in _OPAQUE.findall(text) if _MIXED_CHARS.match(run)]
    for run in runs:
        text = text.replace(run, "", 1)
    return (
        maker.words * (_OPAQUE_COST * sum(map(len, runs)) + _word_tokens(text))
        + maker.signs * _punctuation_tokens(text)
        + _whitespace_tokens(text, maker)
        + _DIGIT_GROUP_COST * sum(-(-len(run) // maker.digits) for run in _DIGITS.findall(text))
        + _language_tokens(text, maker)
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


def _whitespace_tokens(text: str, maker: TokenWeights) -> float:
    lines = _LINE.findall(text)
    indented = sum(line.endswith(("  ", "\t")) for line in lines)
    return (
        maker.lines * (_LINE_COST * len(lines) + _INDENT_COST * indented)
        - maker.ends * len(_PUNCTUATED_LINE_END.findall(text))
        + _GAP_COST * (len(_GAP.findall(text)) - indented)
        + maker.spaced * len(_SPACE_BEFORE_DIGIT.findall(text))
    )


def _language_tokens(text: str, maker: TokenWeights) -> float:
    """Count what letters cost that are not English; the words that they are in cost besides."""
    tokens = 0.0
    if common := len(_EUROPEAN_STOP_WORDS.findall(text)):
        tokens += maker.european * min(len(text), common * _STOP_WORD_SPAN)
    if not text.isascii():
        others = "".join(re.findall(_NOT_ASCII, text))
        weights = (
            (_ACCENTS, _ACCENT_COST * maker.european),
            (_IDEOGRAPHS, maker.ideograph),
            (_KANA, maker.kana),
            (_HANGUL, maker.hangul),
            (_CYRILLIC, maker.cyrillic),
            (_OTHER_ALPHABETS, maker.foreign),
        )
        for letters, weight in weights:
            tokens += weight * sum(map(len, re.findall(letters, others)))
    return tokens


def _image_tokens(image: ImageBlock, maker: TokenWeights) -> float:
    if image.pixels is not None:
        return maker.picture(*image.pixels)
    if image.source.kind != "base64":
        return _MAX_IMAGE_TOKENS
    try:
        size = dimensions(base64.b64decode(image.source.data[:_IMAGE_HEADER_SIZE]))
    except (binascii.Error, ValueError):
        return _MAX_IMAGE_TOKENS
    return _MAX_IMAGE_TOKENS if size is None else maker.picture(*size)
