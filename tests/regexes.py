"""Whether a regular expression can take long: found in its parse tree, and by running it.

Two unlimited repetitions that may share the same text between them make the matcher try every way
to share it. `overlaps` finds them nested or next to each other; `attacks` makes inputs that would
show any others, such as those with something between them.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from re import _constants as ops
from re import _parser
from typing import Any

ALPHABET = (
    "".join(map(chr, range(128))) + "é\x85\xa0ß\u0130\u200b\u2028\u3000\u4e00\ufffd\U0001f389"
)
MANY = 500
"""A longer repetition counts as unlimited."""
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT)
_ALWAYS_ONE = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY)
_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d",
    ops.CATEGORY_NOT_DIGIT: r"\D",
    ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S",
    ops.CATEGORY_WORD: r"\w",
    ops.CATEGORY_NOT_WORD: r"\W",
}


def parse(pattern: str, flags: int = 0) -> list[Any]:
    return list(_parser.parse(pattern, flags))


def overlaps(tree: list[Any]) -> Iterator[str]:
    """Yield ambiguities: one unlimited repetition in or next to another."""
    yield from _adjacent(tree, frozenset(), loops=False)


def _adjacent(tree: list[Any], open_before: frozenset[str], *, loops: bool) -> Iterator[str]:
    """Walk a sequence; `open_before` is what a repetition that has just ended could match."""
    rounds = 2 if loops else 1  # the second time finds what the end shares with the beginning
    before = open_before
    for _ in range(rounds):
        for op, argument in tree:
            if op in _REPEATS:
                low, high, body = argument
                characters = _all(list(body))
                if high == ops.MAXREPEAT or high > MANY:
                    if shared := before & _first(list(body)):
                        yield f"two repetitions share {''.join(sorted(shared)[:5])!r}"
                    yield from _adjacent(list(body), frozenset(), loops=True)
                    tail = _open_end(list(body))
                    single = _is_one_character(list(body))
                    before = (characters if single else tail) | (before if not low else frozenset())
                    continue
                yield from _adjacent(list(body), before, loops=False)
                if low:
                    before = _open_end(list(body))
                else:
                    before |= _open_end(list(body))
            elif op is ops.SUBPATTERN:
                yield from _adjacent(list(argument[3]), before, loops=False)
                before = _open_end(list(argument[3]), before)
            elif op is ops.BRANCH:
                for part in argument[1]:
                    yield from _adjacent(list(part), before, loops=False)
                before = frozenset().union(*(_open_end(list(p), before) for p in argument[1]))
            elif op in _ALWAYS_ONE or op is ops.GROUPREF:
                before = frozenset()
            elif op in (ops.ASSERT, ops.ASSERT_NOT):
                yield from _adjacent(list(argument[1]), frozenset(), loops=False)
            elif op in (ops.ATOMIC_GROUP, ops.POSSESSIVE_REPEAT):
                inside = argument if op is ops.ATOMIC_GROUP else argument[2]
                loop = op is ops.POSSESSIVE_REPEAT
                yield from _adjacent(list(inside), frozenset(), loops=loop)
                before = frozenset()


def _open_end(tree: list[Any], before: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return what an unlimited repetition at the end of a sequence could also match."""
    for op, argument in tree:
        if op in _REPEATS:
            low, high, body = argument
            unlimited = high == ops.MAXREPEAT or high > MANY
            single = _is_one_character(list(body))
            now = _all(list(body)) if unlimited and single else _open_end(list(body))
            before = now if low else before | now
        elif op is ops.SUBPATTERN:
            before = _open_end(list(argument[3]), before)
        elif op is ops.BRANCH:
            before = frozenset().union(*(_open_end(list(part), before) for part in argument[1]))
        elif op not in (ops.AT, ops.ASSERT, ops.ASSERT_NOT):
            before = frozenset()
    return before


def _is_one_character(tree: list[Any]) -> bool:
    return len(tree) == 1 and tree[0][0] in _ALWAYS_ONE


def _first(tree: list[Any]) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for op, argument in tree:
        if op in _ALWAYS_ONE:
            return found | _characters(op, argument)
        if op in (*_REPEATS, ops.POSSESSIVE_REPEAT):
            found |= _first(list(argument[2]))
            if argument[0]:
                return found
        elif op is ops.SUBPATTERN:
            found |= _first(list(argument[3]))
            if _parser.SubPattern(_parser.State(), list(argument[3])).getwidth()[0]:
                return found
        elif op is ops.BRANCH:
            for part in argument[1]:
                found |= _first(list(part))
            if all(part.getwidth()[0] for part in argument[1]):
                return found
        elif op is ops.ATOMIC_GROUP:
            return found | _first(list(argument))
    return found


def _all(tree: list[Any]) -> frozenset[str]:
    return frozenset().union(*(_characters(op, argument) for op, argument in _leaves(tree)))


def _leaves(tree: list[Any]) -> Iterator[tuple[Any, Any]]:
    for op, argument in tree:
        if op in _ALWAYS_ONE:
            yield op, argument
        for part in _parts(op, argument):
            yield from _leaves(list(part))


def _parts(op: Any, argument: Any) -> list[Any]:
    if op in (*_REPEATS, ops.POSSESSIVE_REPEAT):
        return [argument[2]]
    if op is ops.SUBPATTERN:
        return [argument[3]]
    if op is ops.BRANCH:
        return argument[1]
    if op is ops.ATOMIC_GROUP:
        return [argument]
    return []


def _characters(op: Any, argument: Any) -> frozenset[str]:
    if op is ops.LITERAL:
        return frozenset({chr(argument)})
    if op is ops.NOT_LITERAL:
        return frozenset(ALPHABET) - {chr(argument)}
    if op is ops.ANY:
        return frozenset(ALPHABET)
    return _of_set(tuple(argument))


@lru_cache(None)
def _of_set(items: tuple[Any, ...]) -> frozenset[str]:
    found = set[str]()
    for op, argument in items:
        if op is ops.LITERAL:
            found.add(chr(argument))
        elif op is ops.RANGE:
            low, high = argument
            found.update(
                char for char in (*ALPHABET, chr(low), chr(high)) if low <= ord(char) <= high
            )
        elif op is ops.CATEGORY:
            found.update(re.findall(_CATEGORIES[argument], ALPHABET))
    return frozenset(ALPHABET) - found if items[0][0] is ops.NEGATE else frozenset(found)


def attacks(tree: list[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield inputs as a prefix, a repeated part, and an end."""
    whole = _sample(tree)
    leaves = [_characters(op, argument) for op, argument in _leaves(tree)]
    common = sorted(ALPHABET, key=lambda char: -sum(char in each for each in leaves))
    units = {*common[:4], whole}
    beginnings = {""}
    for beginning, body in _repeated(tree, ""):
        characters = _all(body)
        pumped = {_sample(body), *[char for char in common if char in characters][:3]}
        units |= {beginning + pump for pump in pumped} | pumped
        beginnings.add(beginning)
    for beginning in sorted(beginnings):
        for unit in sorted(units - {""}):
            for end in ("", "\0", "!"):
                yield beginning, unit, end


def _repeated(tree: list[Any], before: str) -> Iterator[tuple[str, list[Any]]]:
    for op, argument in tree:
        if op in _REPEATS and (argument[1] == ops.MAXREPEAT or argument[1] > MANY):
            yield before, list(argument[2])
        for part in _parts(op, argument):
            yield from _repeated(list(part), before)
        before += _sample([(op, argument)])


def _sample(tree: list[Any]) -> str:
    text = ""
    for op, argument in tree:
        if op in _ALWAYS_ONE:
            found = _characters(op, argument)
            text += next((char for char in "a0 x" if char in found), min(found, default=""))
        elif op in (*_REPEATS, ops.POSSESSIVE_REPEAT):
            text += _sample(list(argument[2])) * max(1, min(argument[0], 3))
        elif parts := _parts(op, argument):
            text += _sample(list(parts[0]))
    return text
