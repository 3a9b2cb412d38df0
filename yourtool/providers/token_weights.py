"""Token weights of model families.

The text weights are fitted to published vocabularies: `o200k_base`, Claude 2, Gemma 3, Llama 3.1,
Qwen 2.5, DeepSeek V3 and Mistral Nemo. The overheads are from the chat templates published with
these models and from recorded counts, which also show that Claude 4 counts English as Claude 2
did. Costs of images are from the documentation of the providers:
https://docs.claude.com/en/docs/build-with-claude/vision,
https://platform.openai.com/docs/guides/images-vision and
https://ai.google.dev/gemini-api/docs/tokens.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from yourtool.messages.blocks import canonical_json
from yourtool.providers.json_access import mapping, objects, text


class TokenWeights(Struct, frozen=True):
    """Weights of one model family, in tokens."""

    name: str
    """Unique; cached counts are stored under it."""
    words: float
    """Factor for words."""
    signs: float
    """Factor for punctuation and symbols."""
    lines: float
    """Factor for line ends and indentation."""
    ends: float
    """Saved by a line end after punctuation, if the two are one token."""
    spaced: float
    """Cost of a space before a number; the space before a word is part of the word's token."""
    digits: int
    """Digits per token."""
    european: float
    """Extra cost of a letter in other European languages than English."""
    ideograph: float
    kana: float
    hangul: float
    cyrillic: float
    foreign: float
    """Cost of a letter of any other alphabet."""
    sealed: bool
    """Whether the encrypted reasoning is billed, not its summary."""
    request: int
    message: int
    call: int
    """Overhead of a tool call and of its result."""
    tools: int
    """Overhead of the first tool."""
    tool: int
    """Overhead of each tool."""
    schema: Callable[[Mapping[str, Any]], str]
    """Formats a tool schema as the model receives it."""
    picture: Callable[[int, int], float]
    """Converts width and height in pixels to tokens."""


def find_weights(model: str) -> TokenWeights:
    """Return the weights for a model id or a provider."""
    return next((weights for name, weights in _WEIGHTS if name.search(model)), _DEFAULT)


def _format_json(schema: Mapping[str, Any]) -> str:
    return canonical_json(schema).decode()


def _format_json_unless_empty(schema: Mapping[str, Any]) -> str:
    """Format a schema as JSON; empty without properties, because Google omits those."""
    return _format_json(schema) if schema.get("properties") else ""


def _format_outline(schema: Mapping[str, Any]) -> str:
    """Format a schema as the type definition that OpenAI's models receive."""
    return "".join(_format_fields(schema))


def _format_fields(schema: Mapping[str, Any]) -> Iterator[str]:
    needed = schema.get("required") or ()
    for name, field in mapping(schema.get("properties")).items():
        if description := text(mapping(field).get("description")):
            yield f"// {description}\n"
        yield f"{name}{'' if name in needed else '?'}: "
        yield from _format_type(mapping(field))
        yield ",\n"


def _format_type(field: Mapping[str, Any]) -> Iterator[str]:
    if words := field.get("enum"):
        yield " | ".join(f'"{word}"' for word in words)
    elif choices := objects(field.get("anyOf")):
        for choice in choices:
            yield from _format_type(choice)
            yield " | "
    elif "properties" in field:
        yield "{\n"
        yield from _format_fields(field)
        yield "}"
    elif "items" in field:
        yield from _format_type(mapping(field["items"]))
        yield "[]"
    else:
        yield text(field.get("type"))


def _tokens_by_area(width: int, height: int) -> float:
    """Count 750 pixels as a token; larger images are scaled down first."""
    return max(1, min(1_600, width * height // 750))


def _tokens_by_tiles(width: int, height: int) -> float:
    """Count tiles of 512 pixels, after scaling to fit 2,048 and then 768 pixels."""
    scale = min(1, 2_048 / max(width, height, 1))
    scale *= min(1, 768 / max(min(width, height) * scale, 1))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def _tokens_by_crops(width: int, height: int) -> float:
    """Count crops of 768 pixels; a small image is one."""
    if max(width, height) <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)


_CLAUDE = TokenWeights(
    name="claude",
    words=1.06,
    signs=1.18,
    lines=0.55,
    ends=0,
    spaced=0,
    digits=3,
    european=0.16,
    ideograph=0.95,
    kana=0.98,
    hangul=1.31,
    cyrillic=0.56,
    foreign=1.1,
    sealed=False,
    request=4,
    message=4,
    call=14,
    tools=480,
    tool=30,
    schema=_format_json,
    picture=_tokens_by_area,
)
_NEWER_CLAUDE = replace(_CLAUDE, name="newer claude", words=1.35, signs=1.55, lines=0.7)
_GPT = TokenWeights(
    name="gpt",
    words=1,
    signs=1,
    lines=1,
    ends=1.3,
    spaced=0.87,
    digits=3,
    european=0.055,
    ideograph=0.7,
    kana=0.69,
    hangul=0.7,
    cyrillic=0.265,
    foreign=0.33,
    sealed=True,
    request=3,
    message=3,
    call=6,
    tools=20,
    tool=4,
    schema=_format_outline,
    picture=_tokens_by_tiles,
)
_GPT_OSS = replace(_GPT, name="gpt-oss", request=60)
_GEMINI = TokenWeights(
    name="gemini",
    words=1,
    signs=1.15,
    lines=1,
    ends=0,
    spaced=0.6,
    digits=1,
    european=0.04,
    ideograph=0.55,
    kana=0.395,
    hangul=0.63,
    cyrillic=0.245,
    foreign=0.33,
    sealed=False,
    request=0,
    message=0,
    call=12,
    tools=0,
    tool=1,
    schema=_format_json_unless_empty,
    picture=_tokens_by_crops,
)
_DEFAULT = replace(
    _GPT,
    name="default",
    message=4,
    tools=60,
    tool=20,
    call=12,
    schema=_format_json,
    picture=_tokens_by_area,
)
_LLAMA = replace(
    _DEFAULT,
    name="llama",
    request=20,
    message=5,
    tools=95,
    tool=20,
    call=10,
    european=0.125,
    ideograph=0.745,
    kana=0.62,
    hangul=0.73,
    cyrillic=0.32,
    foreign=0.435,
)
_QWEN = replace(
    _DEFAULT,
    name="qwen",
    request=3,
    message=5,
    tools=210,
    tool=20,
    call=16,
    digits=1,
    european=0.12,
    ideograph=0.57,
    kana=0.58,
    hangul=0.8,
    cyrillic=0.34,
    foreign=0.42,
)
_DEEPSEEK = replace(
    _DEFAULT,
    name="deepseek",
    request=2,
    message=1,
    words=1.05,
    signs=1.05,
    european=0.1,
    ideograph=0.52,
    kana=0.625,
    hangul=0.81,
    cyrillic=0.31,
    foreign=0.43,
)
_MISTRAL = replace(
    _DEFAULT,
    name="mistral",
    request=1,
    message=2,
    tools=12,
    tool=24,
    words=1.06,
    digits=1,
    european=0.04,
    ideograph=0.93,
    kana=0.61,
    hangul=0.63,
    cyrillic=0.305,
    foreign=0.315,
)
_GLM = replace(_DEFAULT, name="glm", tools=110)
_GEMMA = replace(_GEMINI, name="gemma", request=4, message=5)
_WEIGHTS = (
    (re.compile(r"claude-(?:opus-4[.-][7-9]|[a-z]+-[5-9])"), _NEWER_CLAUDE),
    (re.compile(r"claude|^anthropic(?::|$)"), _CLAUDE),
    (re.compile(r"gemma"), _GEMMA),
    (re.compile(r"gemini|^google(?::|$)"), _GEMINI),
    (re.compile(r"gpt-oss"), _GPT_OSS),
    (re.compile(r"\bllama", re.I), _LLAMA),
    (re.compile(r"qwen", re.I), _QWEN),
    (re.compile(r"deepseek", re.I), _DEEPSEEK),
    (re.compile(r"mi[sx]tral|pixtral|(?:code|dev|magi|mini)stral", re.I), _MISTRAL),
    (re.compile(r"\bglm", re.I), _GLM),
    (re.compile(r"gpt|\bo\d|^openai(?::|$)"), _GPT),
)
