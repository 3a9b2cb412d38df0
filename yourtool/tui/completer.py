"""What can be offered for the word at the cursor: commands, their values, models and files."""

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from yourtool.agent.commands import COMMANDS, matching
from yourtool.models import EFFORTS

MAX_OFFERS = 50
_IN_ORDER = ("effort", "mode")
"""Kinds whose values have an order of their own."""
_LONGEST_QUERY = 4096
"""Characters of the longest path that an operating system takes."""
SEARCHED = 5_000_000
"""Characters of names that are looked at for one query."""


class Candidate(Struct, frozen=True):
    """One thing that may be put in place of the word."""

    text: str
    """What replaces the word, a following space included where one helps."""
    label: str
    description: str = ""


class Offers(Struct, frozen=True):
    """The candidates for the word that begins at `start`, best first."""

    start: int
    """Offset into the text before the cursor."""
    candidates: tuple[Candidate, ...]


class Completer:
    """Knows what exists; `values` holds names and descriptions by kind of command argument."""

    def __init__(self) -> None:
        self.values: Mapping[str, Sequence[tuple[str, str]]] = {
            "effort": [(level, "") for level in EFFORTS]
        }
        self.files: Sequence[str] = ()

    def wants_files(self, before: str) -> bool:
        """Whether files would be offered, were it known which there are."""
        if before.startswith("!"):
            return False
        return not self.files and ("@" in before or before.startswith("/attach "))

    def offers(self, before: str) -> Offers | None:
        """Return what fits `before`, the text up to the cursor; nothing fits a command line."""
        if before.startswith("!"):
            return None
        if found := re.fullmatch(r"/(\S*)", before):
            return self._commands(found[1])
        if found := re.fullmatch(r"/(\S+) +(\S*)", before):
            return self._arguments(found[1], found[2])
        if found := re.search(r"(?:^|(?<=\s))@(\S*)$", before):
            return self._mentions(found.start(), found[1], first=found.start() == 0)
        return None

    def _commands(self, prefix: str) -> Offers | None:
        candidates = tuple(
            Candidate(
                f"/{each.name} " if each.argument else f"/{each.name}", each.usage, each.summary
            )
            for each in matching(prefix)
        )
        return Offers(0, candidates) if candidates else None

    def _arguments(self, name: str, query: str) -> Offers | None:
        command = next((each for each in COMMANDS if each.name == name), None)
        if command is None or command.values is None or query in dict(command.words):
            return None
        described = dict(self.values.get(command.values, ()))
        if command.values == "file":
            described = dict.fromkeys(self.files, "file")
        found = _models(query, described) if command.values == "model" else best(query, described)
        if command.values in _IN_ORDER and not query:
            found = list(described)
        if found == [query]:
            return None
        candidates = [
            Candidate(word, word, about) for word, about in command.words if word.startswith(query)
        ]
        candidates += [Candidate(each, each, described[each]) for each in found]
        return Offers(len(f"/{name} "), tuple(candidates)) if candidates else None

    def _mentions(self, start: int, query: str, *, first: bool) -> Offers | None:
        models = dict(self.values.get("model", ())) if first else {}
        candidates = [Candidate(f"@{each} ", each, models[each]) for each in _models(query, models)]
        candidates += [Candidate(f"@{each} ", each, "file") for each in best(query, self.files)]
        return Offers(start, tuple(candidates[:MAX_OFFERS])) if candidates else None


def _models(query: str, aliases: Mapping[str, str]) -> list[str]:
    """Return the ids that fit, first of all the one whose alias this is: so `/model` takes it."""
    owners = [name for name, known in aliases.items() if query and query in known.split(", ")]
    return list(dict.fromkeys([*owners, *best(query, aliases)]))


def best(query: str, names: Iterable[str], limit: int = MAX_OFFERS) -> list[str]:
    """Return the names that hold the letters of `query` in order, the closest first."""
    if not query:
        return heapq.nsmallest(limit, names, key=lambda name: (name.count("/"), name))
    wanted = query.lower()
    if len(wanted) > _LONGEST_QUERY:
        return []
    letters = re.compile(subsequence(wanted), re.MULTILINE)
    text = "\n".join(names)
    if len(text) > SEARCHED:
        text = text[:SEARCHED].rpartition("\n")[0]
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change length in lower case
        lowered = text
    found: list[str] = []
    for match in letters.finditer(lowered):
        end = lowered.find("\n", match.end())
        found.append(text[match.start() : end if end >= 0 else len(text)])
    return heapq.nsmallest(limit, found, key=lambda name: _distance(wanted, name.lower()))


def subsequence(letters: str) -> str:
    """Return a pattern for a line that holds the letters in order.

    The first place of a letter is as good as any, so no place that was found is tried again.
    """
    return "^" + "".join(f"(?>[^\n]*?{re.escape(letter)})" for letter in letters)


def _distance(query: str, name: str) -> tuple[bool, bool, bool, int, str]:
    base = name.rpartition("/")[2]
    begins = base.startswith(query) or f":{query}" in base
    return not begins, query not in base, query not in name, len(name), name
