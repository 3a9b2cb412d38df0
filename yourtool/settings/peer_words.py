"""Words of other agents.

People type the words that they are used to. A word of another agent is an error that names ours,
and never a prompt that costs money. `peer_words.toml` has the rows.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from msgspec import Struct, convert

WordKind: TypeAlias = Literal["command", "option", "slash", "setting"]


class PeerWord(Struct, frozen=True, array_like=True):
    """Words of the same meaning, and what is here in their place."""

    spelled: str
    """The words, with spaces between them."""
    agents: str
    ours: str

    @property
    def words(self) -> list[str]:
        """The words."""
        return self.spelled.split()


@cache
def read_peer_words() -> dict[WordKind, tuple[PeerWord, ...]]:
    """Return the rows by kind."""
    text = files(__package__ or "").joinpath("peer_words.toml").read_text("utf-8")
    return convert(tomllib.loads(text), dict[WordKind, tuple[PeerWord, ...]])


def describe_peer_word(kind: WordKind, word: str) -> str:
    """Return an error for a word of another agent; empty if none has it.

    >>> describe_peer_word("option", "--print")
    '`--print` is of claude, pi; here: `-p`'
    """
    row = next((each for each in read_peer_words()[kind] if word in each.words), None)
    shown = f"/{word}" if kind == "slash" else word
    return f"`{shown}` is of {row.agents}; here: {row.ours}" if row is not None else ""
