"""How the makers of models count tokens: what words weigh, and what is put around a prompt.

The figures fit recorded counts. Pictures cost what the makers' pages say:
https://docs.claude.com/en/docs/build-with-claude/vision,
https://platform.openai.com/docs/guides/images-vision and
https://ai.google.dev/gemini-api/docs/tokens.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any, NamedTuple

from yourtool.messages import canonical_json
from yourtool.providers.shapes import mapping, objects, text


class Maker(NamedTuple):
    """How a maker's models count; in tokens."""

    words: float
    """Weight of text, next to what is common."""
    digits: int
    """Digits in one token."""
    ideograph: float
    syllable: float
    """A sign of kana or of hangul."""
    foreign: float
    """A letter of another alphabet."""
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


def maker_of(model: str) -> Maker:
    """Return who counts the tokens of a model; its id is enough, or only its provider."""
    return next((maker for name, maker in _MAKERS if name.search(model)), _ANYBODY)


def _json(schema: Mapping[str, Any]) -> str:
    return canonical_json(schema).decode()


def _json_if_any(schema: Mapping[str, Any]) -> str:
    """Write a schema as JSON, unless it has no properties: Google leaves such a one out."""
    return _json(schema) if schema.get("properties") else ""


def _outline(schema: Mapping[str, Any]) -> str:
    """Write a schema as the type that OpenAI's models are shown."""
    return "".join(_fields(schema))


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    needed = schema.get("required") or ()
    for name, field in mapping(schema.get("properties")).items():
        if told := text(mapping(field).get("description")):
            yield f"// {told}\n"
        yield f"{name}{'' if name in needed else '?'}: "
        yield from _type(mapping(field))
        yield ",\n"


def _type(field: Mapping[str, Any]) -> Iterator[str]:
    if words := field.get("enum"):
        yield " | ".join(f'"{word}"' for word in words)
    elif choices := objects(field.get("anyOf")):
        for choice in choices:
            yield from _type(choice)
            yield " | "
    elif "properties" in field:
        yield "{\n"
        yield from _fields(field)
        yield "}"
    elif "items" in field:
        yield from _type(mapping(field["items"]))
        yield "[]"
    else:
        yield text(field.get("type"))


def _area(width: int, height: int) -> float:
    """Count 750 pixels as a token; a larger picture is made smaller first."""
    return max(1, min(1_600, width * height // 750))


def _tiles(width: int, height: int) -> float:
    """Count tiles of 512 pixels, after the picture was made to fit 2,048 and then 768 pixels."""
    scale = min(1, 2_048 / max(width, height, 1))
    scale *= min(1, 768 / max(min(width, height) * scale, 1))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def _crops(width: int, height: int) -> float:
    """Count crops of 768 pixels; a small picture is one."""
    if max(width, height) <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)


_CLAUDE = Maker(
    words=1.06,
    digits=3,
    ideograph=1.1,
    syllable=0.9,
    foreign=0.5,
    request=4,
    message=4,
    call=14,
    tools=480,
    tool=30,
    schema=_json,
    picture=_area,
)
_NEWER_CLAUDE = _CLAUDE._replace(words=1.35, ideograph=1.3)
_GPT = Maker(
    words=1,
    digits=3,
    ideograph=0.65,
    syllable=0.55,
    foreign=0.25,
    request=3,
    message=3,
    call=10,
    tools=20,
    tool=4,
    schema=_outline,
    picture=_tiles,
)
_GPT_OSS = _GPT._replace(request=60)
_GEMINI = Maker(
    words=1,
    digits=1,
    ideograph=0.65,
    syllable=0.5,
    foreign=0.25,
    request=0,
    message=0,
    call=12,
    tools=0,
    tool=1,
    schema=_json_if_any,
    picture=_crops,
)
_ANYBODY = _GPT._replace(message=4, tools=60, tool=20, call=20, schema=_json, picture=_area)
_MAKERS = (
    (re.compile(r"claude-(?:opus-4[.-][7-9]|[a-z]+-[5-9])"), _NEWER_CLAUDE),
    (re.compile(r"claude|^anthropic(?::|$)"), _CLAUDE),
    (re.compile(r"gemini|gemma|^google(?::|$)"), _GEMINI),
    (re.compile(r"gpt-oss"), _GPT_OSS),
    (re.compile(r"gpt|\bo\d|^openai(?::|$)"), _GPT),
)
