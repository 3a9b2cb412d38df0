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
from yourtool.providers.token_weights import Maker, maker_of

_WORD, _WORD_COSTS = re.compile(r"[A-Z]?[a-z]+"), 0.94
_LONG, _LONG_COSTS = 8, 0.1
"""A longer word costs this more for each further letter."""
_CAPITALS, _CAPITALS_COST = re.compile(r"[A-Z]+(?![a-z])"), 0.7
_SHORT, _CAPITAL_COSTS = 3, 0.22
"""A word of more capitals costs this more for each further one."""
_SIGNS, _SIGNS_COST = re.compile(r"[!-/:-@\[-`{-~]+"), 0.6
_FEW, _SIGN_COSTS, _RULE_COSTS = 4, 0.3, 0.15
"""What further signs of a run cost, and those of a long run, which is mostly a line drawn."""
_APART, _APART_COSTS = re.compile(r" (?<=[!-/:-@\[-`{-~] )"), 0.65
"""A sign with a space behind it is not one token with the next word."""
_LINE, _LINE_COSTS, _INDENT_COSTS = re.compile(r"\n\s*"), 1.6, 0.85
_SIGN_ENDS = re.compile(r"\n(?<=[!-/:-@\[-`{-~]\n)")
_GAP, _GAP_COSTS = re.compile(r"  +|\t+"), 1.75
"""Columns that are drawn with spaces; an indentation is counted with its line."""
_SPACED = re.compile(r" (?=\d)")
_DIGITS, _DIGITS_COST = re.compile(r"\d+"), 1.05
_OPAQUE, _OPAQUE_COSTS = re.compile(r"[A-Za-z\d+/]{40,}=*", re.ASCII), 0.7
_OF_ALL_KINDS = re.compile(r"(?=.*\d)(?=.*[a-z]).*[A-Z]")
"""Base64 and its like: hardly any two letters of it are one token."""
_WORD_WITH_ACCENTS = r"[A-ZÀ-ÖØ-Þ]?[a-zß-öø-ɏ]+"
_EUROPEAN = re.compile(
    r" (?:der|das|den|und|nicht|sich|ist|wird|mit|les|des|une|que|los|las|para|del|uma"
    r"|het|een|niet|wordt|che|della|non|och|att|inte|som|det)(?= )"
)
_RARE = 36
"""Among so many characters of such a language is one of these words."""
_SIGNS_ANYWHERE = r"[^\w\s\u0900-\u0eff]+|_+"
_NOT_ASCII = r"[^\x00-\x7f]+"
_ACCENTS, _ACCENT_COSTS = r"[À-ɏ]+", 10
"""Rare in what vocabularies are made from: it costs as much as so many other letters."""
_IDEOGRAPHS = r"[\u3400-\u9fff\uf900-\ufaff]+"
_KANA, _HANGUL = r"[\u3041-\u30ff]+", r"[\uac00-\ud7af]+"
_CYRILLIC = r"[\u0400-\u052f]+"
_FOREIGN = r"[\u0370-\u03ff\u0530-\u10ff]+"
"""Large classes take long to compile, so that is left to the first text that needs them."""
_WHOLE, _SAMPLES = 32_768, 8
"""Of a text with more characters than this, as many samples are counted."""
_SEAL, _SEALED_COSTS = 800, 0.13
"""Characters around reasoning that is encrypted, and what each further one costs."""
_LARGEST_PICTURE = 1_600
_HEADER = 64 * 1024
_MOST_OFF = 1.3
_MOST_COUNTS = 32_768
_counts: dict[tuple[int, int, str], float] = {}
"""What texts were counted as, so that a request counts only what is new; the texts may go."""
_said: dict[str, dict[int, float]] = {}
"""What whole messages were counted as by each maker, by their places in memory."""
_known: dict[int, ReferenceType[Message]] = {}
"""The messages in `_said`; one that is gone takes its counts along."""


def estimate_tokens(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], model: str = ""
) -> int:
    """Guess how many tokens the messages and the tools are to a model: its id, or its provider."""
    return counted_by(maker_of(model), messages, tools)


def counted_by(maker: Maker, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
    """Guess how many tokens the messages and the tools are as a maker counts."""
    said = sum(_message(message, maker) for message in messages)
    offered = sum(_tool(tool, maker) for tool in tools)
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


def _message(message: Message, maker: Maker) -> float:
    place, counts = id(message), _said.setdefault(maker.name, {})
    if (tokens := counts.get(place)) is not None:
        return tokens
    tokens = maker.message + sum(_block(block, maker) for block in message.content)
    if place not in _known:
        _known[place] = ref(message, partial(_forget, place))
    counts[place] = tokens
    return tokens


def _forget(place: int, _gone: ReferenceType[Message]) -> None:
    _known.pop(place, None)
    for counts in tuple(_said.values()):  # another thread may add a maker meanwhile
        counts.pop(place, None)


@lru_cache(maxsize=1_024)
def _tool(tool: ToolDefinition, maker: Maker) -> float:
    schema = maker.schema(tool.input_schema)
    return maker.tool + _words(f"{tool.name}\n{tool.description}\n{schema}", maker)


def _block(block: ContentBlock, maker: Maker) -> float:
    match block:
        case ThinkingBlock(_, str(sealed)) if maker.sealed:
            return _sealed(sealed)
        case RedactedThinkingBlock(sealed):
            return _sealed(sealed)
        case TextBlock(text) | ThinkingBlock(text):
            return _words(text, maker)
        case ToolUseBlock():
            return maker.call + _words(f"{block.name}{canonical_json(block.input).decode()}", maker)
        case ImageBlock():
            return _picture(block, maker)
        case AudioBlock() | DocumentBlock():
            return _LARGEST_PICTURE
        case _:
            return maker.call + sum(_block(part, maker) for part in block.content)


def _sealed(data: str) -> float:
    return _SEALED_COSTS * max(0, len(data) - _SEAL)


def _words(text: str, maker: Maker) -> float:
    key = hash(text), len(text), maker.name
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
    for run in runs:
        text = text.replace(run, "", 1)
    return (
        maker.words * (_OPAQUE_COSTS * sum(map(len, runs)) + _of_words(text))
        + maker.signs * _of_signs(text)
        + _of_gaps(text, maker)
        + _DIGITS_COST * sum(-(-len(run) // maker.digits) for run in _DIGITS.findall(text))
        + _of_languages(text, maker)
    )


def _of_words(text: str) -> float:
    words = (_WORD if text.isascii() else re.compile(_WORD_WITH_ACCENTS)).findall(text)
    capitals = _CAPITALS.findall(text)
    return (
        _WORD_COSTS * len(words)
        + _LONG_COSTS * sum(len(word) - _LONG for word in words if len(word) > _LONG)
        + _CAPITALS_COST * len(capitals)
        + _CAPITAL_COSTS * sum(len(word) - _SHORT for word in capitals if len(word) > _SHORT)
    )


def _of_signs(text: str) -> float:
    runs = (_SIGNS if text.isascii() else re.compile(_SIGNS_ANYWHERE)).findall(text)
    longer = [len(run) for run in runs if len(run) > 1]
    return (
        _SIGNS_COST * len(runs)
        + _SIGN_COSTS * sum(min(size, _FEW) - 1 for size in longer)
        + _RULE_COSTS * sum(size - _FEW for size in longer if size > _FEW)
        + _APART_COSTS * len(_APART.findall(text))
    )


def _of_gaps(text: str, maker: Maker) -> float:
    lines = _LINE.findall(text)
    indented = sum(line.endswith(("  ", "\t")) for line in lines)
    return (
        maker.lines * (_LINE_COSTS * len(lines) + _INDENT_COSTS * indented)
        - maker.ends * len(_SIGN_ENDS.findall(text))
        + _GAP_COSTS * (len(_GAP.findall(text)) - indented)
        + maker.spaced * len(_SPACED.findall(text))
    )


def _of_languages(text: str, maker: Maker) -> float:
    """Count what letters cost that are not English; the words that they are in cost besides."""
    tokens = 0.0
    if common := len(_EUROPEAN.findall(text)):
        tokens += maker.european * min(len(text), common * _RARE)
    if not text.isascii():
        others = "".join(re.findall(_NOT_ASCII, text))
        weights = (
            (_ACCENTS, _ACCENT_COSTS * maker.european),
            (_IDEOGRAPHS, maker.ideograph),
            (_KANA, maker.kana),
            (_HANGUL, maker.hangul),
            (_CYRILLIC, maker.cyrillic),
            (_FOREIGN, maker.foreign),
        )
        for letters, weight in weights:
            tokens += weight * sum(map(len, re.findall(letters, others)))
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
