"""Filter of a list by a query."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from yourtool.agent.commands.base import Choice
from yourtool.tui.input.completer import subsequence_pattern

_FILTERED_CHARACTERS = 1_000
"""Length of a text that the filter searches; prompts can be very long."""
_MAX_QUERY_CHARACTERS = 500


class ChoiceFilter:
    """Finds the choices whose titles contain the letters of a query in order.

    The choices whose texts contain all words of the query are found too. The titles are one string,
    so that one search takes some milliseconds for 10,000 choices.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._choices = tuple(choices)
        titles = [_fold(choice.title) for choice in choices]
        self._titles = "\n".join(titles)
        self._starts = list(accumulate((len(title) + 1 for title in titles), initial=0))
        self._texts = [
            " ".join((title, *map(_fold, (each.detail, *each.cells, each.group, each.keywords))))
            for title, each in zip(titles, choices, strict=True)
        ]

    def find(self, query: str) -> list[Choice]:
        """Return the choices that match, best match first; all of them without a query."""
        letters = _fold(query)
        if not letters or len(letters) > _MAX_QUERY_CHARACTERS:
            return [] if letters else list(self._choices)
        words = letters.split()
        ranks = {
            at: 3 for at, text in enumerate(self._texts) if all(word in text for word in words)
        }
        pattern = re.compile(subsequence_pattern(letters), re.MULTILINE)
        for match in pattern.finditer(self._titles):
            at = bisect_right(self._starts, match.start()) - 1
            ranks[at] = min(ranks.get(at, 4), self._rank(letters, at))
        return [self._choices[at] for at in sorted(ranks, key=lambda at: (ranks[at], at))]

    def _rank(self, letters: str, at: int) -> int:
        """Return the rank of a title that contains the letters in order, 0 for the best."""
        start, titles = self._starts[at], self._titles
        place = titles.find(letters, start, self._starts[at + 1])
        if place < 0:
            return 4
        if place == start or titles[place - 1] == ":":
            return 0
        return 2 if titles[place - 1].isalnum() else 1


def _fold(text: str) -> str:
    return " ".join(text[:_FILTERED_CHARACTERS].lower().split())
