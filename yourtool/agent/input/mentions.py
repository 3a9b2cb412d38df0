"""Model alias at the start of a message."""

import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from yourtool.errors import UnknownModelError, UsageError
from yourtool.foundation.files import path_exists
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

    `@path` of an existing file and `@server:uri` of a resource are mentions and stay; `\@` is a
    literal `@`; an `@` elsewhere has no meaning.

    Raises:
        UsageError: no model has that alias, or the message is empty.
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
        if _is_existing_path(workspace / name):
            return AddressedPrompt(blocks)
        near = f" Did you mean {_format_aliases(error.candidates)}?" if error.candidates else ""
        raise UsageError(
            f"`@{name}` is neither a model nor a file here.{near}"
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


def _format_aliases(names: tuple[str, ...]) -> str:
    return " or ".join(f"`@{name}`" for name in names[:3])
