"""Model alias at the start of a message."""

import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from yourtool.errors import UnknownModelError, UsageError
from yourtool.foundation.files import path_exists
from yourtool.foundation.suggestions import CLOSE, find_closest
from yourtool.messages.blocks import ContentBlock, TextBlock
from yourtool.models import Model
from yourtool.providers.catalogue.models import Catalogue

_ADDRESS = re.compile(r"@(\S+)(\s*)")


class AddressedPrompt(Struct, frozen=True):
    """The content of a prompt and the model it is addressed to."""

    content: tuple[ContentBlock, ...]
    override: Model | None = None


def parse_address(
    content: str | tuple[ContentBlock, ...],
    catalogue: Catalogue,
    workspace: Path,
    has_resource: Callable[[str], bool] = lambda _: False,
) -> AddressedPrompt:
    r"""Return the prompt without a leading `@alias`, and the model of that alias.

    `@path` of an existing file and `@server:uri` of a resource are mentions and stay, and so does a
    word that resembles no alias, such as `@dataclass` or `@types/node`; `\@` is a literal `@`; an
    `@` elsewhere has no meaning.

    Raises:
        UsageError: the alias is mistyped, or the message is empty.
    """
    blocks = (TextBlock(content),) if isinstance(content, str) else content
    if not blocks or not any(not isinstance(b, TextBlock) or b.text.strip() for b in blocks):
        raise UsageError("There is nothing to send.")
    first = blocks[0]
    if not isinstance(first, TextBlock):
        return AddressedPrompt(blocks)
    if first.text.startswith("\\@"):
        return AddressedPrompt((TextBlock(first.text[1:]), *blocks[1:]))
    if (match := _ADDRESS.match(first.text)) is None:
        return AddressedPrompt(blocks)
    name, rest = match[1], first.text[match.end() :]
    if "://" in name and has_resource(name):  # any `provider:name` is the id of a model
        return AddressedPrompt(blocks)
    try:
        model = catalogue.resolve(name)
    except UnknownModelError as error:
        if not _is_mistyped(name, error.candidates) or _is_existing_path(workspace / name):
            return AddressedPrompt(blocks)
        near = " or ".join(f"`@{each}`" for each in error.candidates[:3])
        raise UsageError(
            f"`@{name}` is neither a model nor a file here. Did you mean {near}?"
            f" Write `\\@{name}` to send it literally."
        ) from error
    if not rest.strip() and len(blocks) == 1:
        raise UsageError(f"`@{name}` needs a message after it.")
    return AddressedPrompt((TextBlock(rest), *blocks[1:]), model)


def _is_existing_path(path: Path) -> bool:
    try:
        return path_exists(path)
    except (OSError, ValueError):
        return False  # an invalid file name


def _is_mistyped(name: str, candidates: tuple[str, ...]) -> bool:
    """True if a word is close to the name of a model; a decorator or a package is not."""
    return find_closest(name, candidates, CLOSE) is not None
