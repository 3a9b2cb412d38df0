"""Families of models by their names.

Gateways, regions and dates change the name of a model: `us.anthropic.claude-haiku-4-5-20251001`
is `claude-haiku-4-5`. What a name has besides its version and its date is its family.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

_DATE = re.compile(r"-(?:20\d{2}-?[01]\d-?[0-3]\d|[01]\d-20\d{2}|(?:2[3-9]|[01]\d)[0-3]\d)(?=-|$)")
"""A day, a month, and the four digits of either."""
_PLACE = re.compile(
    r"^(?:us|eu|apac|global|jp|au|in|ca|us-gov)\.(?=[a-z])|^(?:anthropic|openai|google|xai|meta|mistral"
    r"|deepseek|moonshotai?|zai|minimax|qwen|databricks|snowflake)[.-](?=[a-z])(?!ai/)"
)
"""A region or the vendor in front of a name, as Bedrock and Databricks write them."""
_REVISION = re.compile(r"-v\d+(?:-\d+)?$")
"""Bedrock's: `-v1:0`."""
_IGNORED = frozenset({"latest", "preview", "default", "exp", "beta", "it", "instruct", "chat"})
_CLOSED = re.compile(
    r"claude-(?:[a-z]+-)?\d|claude-[a-z]+$|gpt-\d|o\d(?:-|$)|chatgpt-\d|gemini-\d|grok-\d"
)
"""Names that only the API of their vendor has; other companies only pass requests on to it."""
_SIZE = re.compile(r"\d+(?:-\d+)?[bm]$")


class Name(Struct, frozen=True):
    """The parts of a model's name."""

    lead: str
    """The first word, which is that of the vendor: `claude`."""
    words: frozenset[str]
    """All words but the ones that do not name a kind: `claude`, `haiku`."""
    version: tuple[float, ...]
    """Empty: it has none."""

    @property
    def has_size(self) -> bool:
        """True if it names a number of parameters: `20b`."""
        return any(_SIZE.fullmatch(each) for each in self.words)


@lru_cache(4_096)
def simplify(name: str) -> str:
    """Return a name without provider, region, gateway and punctuation, but with its date."""
    name = name.lower().removeprefix("ft:").rstrip("/").rpartition("/")[2].lstrip("~")
    name = name.partition("@")[0] if "@" in name else name
    while (shorter := _PLACE.sub("", name)) != name:
        name = shorter
    name, _, variant = name.partition(":")
    if variant[:1].isdigit():
        name = _REVISION.sub("", name)
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-")


def omit_date(simple: str) -> str:
    """Return a simple name without `latest` and without its date."""
    return _DATE.sub("", simple.removesuffix("-latest"))


@lru_cache(4_096)
def parse(simple: str) -> Name:
    """Return the parts of a simple name."""
    words, version = list[str](), list[float]()
    for token in omit_date(simple).split("-"):
        parts = re.fullmatch(r"([a-z]*)(\d{0,3})", token)
        letters, digits = parts.groups() if parts else (token, "")
        if letters and letters not in _IGNORED:
            words.append(letters)
        if digits:
            # What follows a point is a fraction: 4.20 is older than 4.7.
            version.append(float(f"0.{digits}" if version else digits))
    return Name(words[0] if words else "", frozenset(words), tuple(version))


def is_closed(name: str) -> bool:
    """True if only its vendor has a model of this name, also behind gateways."""
    simple = simplify(name)
    return bool(_CLOSED.match(simple)) and not parse(simple).has_size


def find_newest(name: str, others: Iterable[str]) -> str | None:
    """Return the one of the other names that is the newest of a model's family; None: none is.

    A name with other words, but with the first one and a version, has the family of the first word.
    """
    simple = simplify(name)
    own = parse(simple)
    is_any = simple.endswith("-latest")
    if not own.lead or not (own.version or is_any):
        return None
    needs_equal = is_any or not is_closed(name)
    best: tuple[tuple[bool, int, float, int, tuple[float, ...]], str] | None = None
    for other in others:
        parts = parse(simplify(other))
        if parts.lead != own.lead or not parts.version or parts.has_size != own.has_size:
            continue
        if needs_equal and parts.words != own.words:
            continue
        extra, common = len(parts.words - own.words), len(parts.words & own.words)
        rank = parts.words == own.words, common, parts.version[0], -extra, parts.version
        if best is None or rank > best[0]:
            best = rank, other
    return None if best is None else best[1]
