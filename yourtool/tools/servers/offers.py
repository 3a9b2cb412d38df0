"""Prompts and resources of servers."""

import shlex
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from yourtool.errors import UsageError

MAX_OFFERS = 1_000
"""Prompts, and resources, of one server that are used."""


class PromptArgument(Struct, frozen=True):
    """A text that a prompt needs."""

    name: str
    description: str = ""
    required: bool = False


class ForeignPrompt(Struct, frozen=True):
    """A prompt as a server describes it."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()

    def parse(self, text: str) -> dict[str, str]:
        """Return the arguments by name: one word for each, the last one gets all that follows.

        Raises:
            UsageError: one is missing, or there are too many.
        """
        words = _split(text, len(self.arguments))
        if len(words) > len(self.arguments):
            raise UsageError(f"the prompt `{self.name}` takes no arguments")
        for missing in self.arguments[len(words) :]:
            if missing.required:
                about = f" ({missing.description})" if missing.description else ""
                raise UsageError(
                    f"the prompt `{self.name}` needs `{missing.name}`{about} as word"
                    f" {self.arguments.index(missing) + 1}; put quotes around several words"
                )
        named = zip(self.arguments, words, strict=False)
        return {argument.name: word for argument, word in named}


class ForeignResource(Struct, frozen=True):
    """A resource as a server describes it."""

    uri: str
    name: str = ""
    description: str = ""


class Offers(Struct, frozen=True):
    """The prompts and resources of a server."""

    prompts: tuple[ForeignPrompt, ...] = ()
    resources: tuple[ForeignResource, ...] = ()
    has_resources: bool = False
    """Whether the server has resources at all, listed or not."""


def build_prompt(dumped: dict[str, Any]) -> ForeignPrompt:
    """Return a prompt from its JSON."""
    arguments = tuple(
        PromptArgument(each["name"], each.get("description") or "", bool(each.get("required")))
        for each in dumped.get("arguments") or ()
    )
    about = dumped.get("description") or dumped.get("title") or ""
    return ForeignPrompt(dumped["name"], about, arguments)


def build_resource(dumped: dict[str, Any]) -> ForeignResource:
    """Return a resource from its JSON."""
    name = dumped.get("title") or dumped.get("name") or ""
    return ForeignResource(dumped["uri"], name, dumped.get("description") or "")


def _split(text: str, count: int) -> Sequence[str]:
    """Return at most `count` words, the last with the rest of the text, if there is a count."""
    try:
        words = shlex.split(text)
    except ValueError:  # an open quote
        words = text.split()
    if not count or len(words) <= count:
        return words
    return [*words[: count - 1], " ".join(words[count - 1 :])]
