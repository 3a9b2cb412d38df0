"""The rules that a question offers: their descriptions, and their text that the user can change."""

import re
from collections.abc import Iterator, Sequence

from yourtool.effects import Confirmation
from yourtool.text import escape_line

_MAX_DESCRIBED = 20
"""Rules of one question that can be changed."""
_GAP = " · "
_NOT_STORED = "#"
"""Start of a line with a rule that is offered and not stored."""
_MAX_EXPLAINED, _MAX_NAMED = 3, 5
"""Rules of each kind that a question names at first: the first ones, or all of a few."""
_OPEN_RULE = re.compile(r"\w+\((.+) \*\)", re.DOTALL)
"""A rule that covers every command with the same first words."""


def explain_rules(rules: Sequence[str], *, shortens: bool = False) -> Iterator[str]:
    """Yield one line for all rules that cover more than one command, and one for each other.

    `shortens`: of both kinds, only the first are named, and the others counted.

    >>> list(explain_rules(["shell(git add *)", "shell(git commit *)", "shell(make)"]))
    ['every `git add`, `git commit`', 'shell(make)']
    """
    found = {rule: _OPEN_RULE.fullmatch(rule) for rule in rules}
    named = [f"`{each[1]}`" for each in found.values() if each is not None]
    exact = [rule for rule, each in found.items() if each is None]
    if named:
        first = named[:_MAX_EXPLAINED] if shortens and len(named) > _MAX_NAMED else named
        more = f" and {len(named) - len(first)} more" if len(first) < len(named) else ""
        yield f"every {', '.join(first)}{more}"
    first = exact[:_MAX_EXPLAINED] if shortens and len(exact) > _MAX_NAMED else exact
    yield from first
    if len(first) < len(exact):
        yield f"{len(exact) - len(first)} more commands, as they are here"


def are_shortened(rules: Sequence[str]) -> bool:
    """Whether there are so many rules that a question names only the first."""
    return list(explain_rules(rules, shortens=True)) != list(explain_rules(rules))


def build_rules_text(question: Confirmation) -> str:
    """Return the rules that `always` stores, and those that it stores without their `#`."""
    offered = (f"{_NOT_STORED} {rule}" for rule in question.wider_rules)
    return "\n".join((*question.rules, *offered))


def describe_rules(question: Confirmation, text: str) -> tuple[list[str], bool]:
    """Return lines about the rules in a text, and whether all rules are valid.

    What is wrong comes first, because few lines are visible; examples follow.
    """
    lines, problems = list[str](), list[str]()
    rules = split_rules(text)
    if (describe := question.describe_rule) is None:
        return lines, True
    if len(rules) > _MAX_DESCRIBED:
        problems.append(f"more than {_MAX_DESCRIBED} rules at once cannot be stored")
    for rule in rules[:_MAX_DESCRIBED]:
        described = describe(rule)
        name = f"{escape_line(rule)} " if len(rules) > 1 else ""
        if described.problem:
            problems.append(escape_line(described.problem))
        if described.covered:
            lines.append(f"{name}allows {_join(described.covered)}")
        if described.others:
            lines.append(f"{name}does not allow {_join(described.others)}")
    for rule in question.wider_rules:
        if f"{_NOT_STORED} {rule}" in text.splitlines():
            covered = _join(describe(rule).covered)
            lines.append(f"without {_NOT_STORED}, {escape_line(rule)} allows {covered}")
    return [*problems, *lines], not problems


def split_rules(text: str) -> tuple[str, ...]:
    """Return the rules in a text with one on each line."""
    lines = map(str.strip, text.splitlines())
    return tuple(line for line in lines if line and not line.startswith(_NOT_STORED))


def _join(examples: tuple[str, ...]) -> str:
    return _GAP.join(map(escape_line, examples))
