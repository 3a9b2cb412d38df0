"""`@alias` at the start of a message: one turn for another model."""

import re
from pathlib import Path

from msgspec import Struct

from yourtool.errors import UnknownModelError, UsageError
from yourtool.messages import ContentBlock, TextBlock
from yourtool.models import Model
from yourtool.providers.catalogue.models import Catalogue

_ADDRESS = re.compile(r"@(\S+)(\s*)")


class Addressed(Struct, frozen=True):
    """What was said, and to whom."""

    content: tuple[ContentBlock, ...]
    override: Model | None = None


def address(
    content: str | tuple[ContentBlock, ...], catalogue: Catalogue, workspace: Path
) -> Addressed:
    r"""Take `@alias` off the front of what the user said.

    `@path` of an existing file stays, as a mention of that file; `\@` is a plain `@`; an `@`
    elsewhere means nothing.

    Raises:
        UsageError: no model has that alias, or nothing follows it.
    """
    blocks = (TextBlock(content),) if isinstance(content, str) else content
    if not blocks or not any(not isinstance(b, TextBlock) or b.text.strip() for b in blocks):
        raise UsageError("There is nothing to send.")
    first = blocks[0]
    if not isinstance(first, TextBlock):
        return Addressed(blocks)
    if first.text.startswith("\\@"):
        return Addressed((TextBlock(first.text[1:]), *blocks[1:]))
    if (match := _ADDRESS.match(first.text)) is None:
        return Addressed(blocks)
    name, rest = match[1], first.text[match.end() :]
    try:
        model = catalogue.resolve(name)
    except UnknownModelError as error:
        if _names_a_file(workspace / name):
            return Addressed(blocks)
        near = f" Did you mean {_listed(error.candidates)}?" if error.candidates else ""
        raise UsageError(
            f"`@{name}` is neither a model nor a file here.{near}"
            f" Write `\\@{name}` to send it as it is."
        ) from error
    if not rest.strip() and len(blocks) == 1:
        raise UsageError(f"`@{name}` needs a message after it, which that model answers.")
    return Addressed((TextBlock(rest), *blocks[1:]), model)


def _names_a_file(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # a name that no file can have


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(f"`@{name}`" for name in names[:3])
