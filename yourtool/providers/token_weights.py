"""How the makers of models count tokens: what words weigh, and what is put around a prompt.

What text weighs fits the vocabularies that were published: `o200k_base`, Claude 2, Gemma 3, Llama
3.1, Qwen 2.5, DeepSeek V3 and Mistral Nemo. What is put around a prompt is from the chat templates
published with these models, and from recorded counts, which also agree that Claude 4 still counts
English as Claude 2 did. Pictures cost what the makers' pages say:
https://docs.claude.com/en/docs/build-with-claude/vision,
https://platform.openai.com/docs/guides/images-vision and
https://ai.google.dev/gemini-api/docs/tokens.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any, NamedTuple

from yourtool.messages import canonical_json
from yourtool.providers.json_access import mapping, objects, text


class TokenWeights(NamedTuple):
    """How a maker's models count; in tokens."""

    name: str
    """No two makers share it: what was counted is kept by it."""
    words: float
    """Weight of words, next to what is common."""
    signs: float
    """Weight of what is neither letter, digit nor space."""
    lines: float
    """Weight of line ends and of indentation."""
    ends: float
    """What the end of a line saves behind a sign, where the two are one token."""
    spaced: float
    """A space before a number: mostly a token, whereas a word takes its space along."""
    digits: int
    """Digits in one token."""
    european: float
    """What a letter of another language than English costs, besides the word that it is in."""
    ideograph: float
    kana: float
    hangul: float
    cyrillic: float
    foreign: float
    """A letter of another alphabet."""
    sealed: bool
    """Whether reasoning is read from what is encrypted, and not from the text beside it."""
    request: int
    message: int
    call: int
    """Around a call of a tool, and around its result."""
    tools: int
    """Added as soon as there is one tool."""
    tool: int
    """Around each tool."""
    schema: Callable[[Mapping[str, Any]], str]
    """What the model is shown of a tool's schema."""
    picture: Callable[[int, int], float]
    """Width and height in pixels, to tokens."""


def find_weights(model: str) -> TokenWeights:
    """Return who counts the tokens of a model; its id is enough, or only its provider."""
    return next((maker for name, maker in _WEIGHTS if name.search(model)), _DEFAULT)


def _format_json(schema: Mapping[str, Any]) -> str:
    return canonical_json(schema).decode()


def _format_json_unless_empty(schema: Mapping[str, Any]) -> str:
    """Write a schema as JSON, unless it has no properties: Google leaves such a one out."""
    return _format_json(schema) if schema.get("properties") else ""


def _format_outline(schema: Mapping[str, Any]) -> str:
    """Write a schema as the type that OpenAI's models are shown."""
    return "".join(_format_fields(schema))


def _format_fields(schema: Mapping[str, Any]) -> Iterator[str]:
    needed = schema.get("required") or ()
    for name, field in mapping(schema.get("properties")).items():
        if told := text(mapping(field).get("description")):
            yield f"// {told}\n"
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
    """Count 750 pixels as a token; a larger picture is made smaller first."""
    return max(1, min(1_600, width * height // 750))


def _tokens_by_tiles(width: int, height: int) -> float:
    """Count tiles of 512 pixels, after the picture was made to fit 2,048 and then 768 pixels."""
    scale = min(1, 2_048 / max(width, height, 1))
    scale *= min(1, 768 / max(min(width, height) * scale, 1))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def _tokens_by_crops(width: int, height: int) -> float:
    """Count crops of 768 pixels; a small picture is one."""
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
_NEWER_CLAUDE = _CLAUDE._replace(name="newer claude", words=1.35, signs=1.55, lines=0.7)
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
_GPT_OSS = _GPT._replace(name="gpt-oss", request=60)
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
_DEFAULT = _GPT._replace(
    name="anybody",
    message=4,
    tools=60,
    tool=20,
    call=12,
    schema=_format_json,
    picture=_tokens_by_area,
)
_LLAMA = _DEFAULT._replace(
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
_QWEN = _DEFAULT._replace(
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
_DEEPSEEK = _DEFAULT._replace(
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
_MISTRAL = _DEFAULT._replace(
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
_GLM = _DEFAULT._replace(name="glm", tools=110)
_GEMMA = _GEMINI._replace(name="gemma", request=4, message=5)
_WEIGHTS = (
    (re.compile(r"claude-(?:opus-4[.-][7-9]|[a-z]+-[5-9])"), _NEWER_CLAUDE),
    (re.compile(r"claude|^anthropic(?::|$)"), _CLAUDE),
    (re.compile(r"gemma"), _GEMMA),
    (re.compile(r"gemini|^google(?::|$)"), _GEMINI),
    (re.compile(r"gpt-oss"), _GPT_OSS),
    (re.compile(r"(?i)\bllama"), _LLAMA),
    (re.compile(r"(?i)qwen"), _QWEN),
    (re.compile(r"(?i)deepseek"), _DEEPSEEK),
    (re.compile(r"(?i)mi[sx]tral|pixtral|(?:code|dev|magi|mini)stral"), _MISTRAL),
    (re.compile(r"(?i)\bglm"), _GLM),
    (re.compile(r"gpt|\bo\d|^openai(?::|$)"), _GPT),
)
