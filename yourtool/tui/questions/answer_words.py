"""Words that answer a question.

People who come from another program answer `y`, `yes` or `1`, and press a key twice if once has no
effect. None of these words is ever a message while a question is open.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from yourtool.process.terminal_input.key_forms import get_latin_letter

Meaning: TypeAlias = Literal["", "yes", "no"]

_WORDS: Mapping[str, Meaning] = MappingProxyType(
    {
        **dict.fromkeys(("y", "yes", "ok", "okay", "allow", "approve"), "yes"),
        **dict.fromkeys(("n", "no", "deny", "reject"), "no"),
    }
)
_FINAL_SIGNS = ".! "


class Answer(Protocol):
    """An answer in a list."""

    @property
    def letter(self) -> str:
        """The default key, which is its name."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """A sentence without its final point, not escaped."""
        raise NotImplementedError

    @property
    def short(self) -> str:
        """The label on a narrow screen."""
        raise NotImplementedError

    @property
    def means(self) -> Meaning:
        """Whether words for yes, or for no, give it."""
        raise NotImplementedError


def count_numbered(answers: Sequence[Answer]) -> int:
    """Return how many answers have a number: those up to no, and a single one after it."""
    declining = (at for at, each in enumerate(answers, 1) if each.means == "no")
    count = next(declining, len(answers))
    return len(answers) if len(answers) == count + 1 else count


def find_answer(typed: str, answers: Sequence[Answer], letters: Mapping[str, str]) -> int | None:
    """Return the index of the answer that a typed text gives; None if it gives none.

    `letters`: the names of answers by the characters that give them. The keys of these letters
    work in other layouts too, but not those of words: `н`, on the key of `y`, is the start of "no".
    """
    if len(typed) == 2 and typed[0] == typed[1] and _can_be_doubled(typed[0], answers, letters):
        typed = typed[0]
    word = typed.casefold()
    spellings = (typed, word, get_latin_letter(typed))
    if letter := next((letters[each] for each in spellings if each in letters), ""):
        found = (at for at, each in enumerate(answers) if each.letter == letter)
        if (at := next(found, None)) is not None:
            return at
    if word in tuple("123456789"):
        at = int(word) - 1
        return at if at < count_numbered(answers) else None
    if (meaning := _WORDS.get(word)) is None:
        return None
    return next((at for at, each in enumerate(answers) if each.means == meaning), None)


def starts_answer(typed: str, answers: Sequence[Answer], letters: Mapping[str, str]) -> bool:
    """Whether a text is an answer, or the start of a word that is one."""
    if find_answer(typed, answers, letters) is not None:
        return True
    return any(word.startswith(typed.casefold()) for word in _WORDS) and bool(typed)


def is_answer_word(text: str, letters: Mapping[str, str]) -> bool:
    """Whether a message would be only an answer, to this question or to another.

    >>> is_answer_word("Yes.", {}), is_answer_word("yes, but not now", {})
    (True, False)
    """
    word = text.strip().rstrip(_FINAL_SIGNS)
    if len(word) == 2 and word[0] == word[1]:
        once = word[0]
        is_letter = letters.get(once.casefold()) in ("a", "d")
        return once.isdigit() or is_letter or once.casefold() in _WORDS
    is_letter = any(each in letters for each in (word, word.casefold(), get_latin_letter(word)))
    return is_letter or word in tuple("123456789") or word.casefold() in _WORDS


def _can_be_doubled(key: str, answers: Sequence[Answer], letters: Mapping[str, str]) -> bool:
    """Whether the same key twice confirms: words start with two of the other letters."""
    at = find_answer(key, answers, letters)
    return at is not None and (key.isdigit() or answers[at].means != "")
