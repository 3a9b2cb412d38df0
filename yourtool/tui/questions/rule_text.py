"""Rules in a question."""

import re
from collections.abc import Iterator, Sequence

from yourtool.effects import Confirmation
from yourtool.foundation.text import escape_line

_MAX_DESCRIBED = 20
"""Rules of one question that can be changed."""
_GAP = " · "
_NOT_STORED = "#"
"""Start of a line with a rule that is offered and not stored."""
_MAX_EXPLAINED, _MAX_NAMED = 3, 5
"""Rules of each kind that a question names at first: the first ones, or all of a few."""
_WRITE_RULE = re.compile(r"\w+\((.+) \* > \*\)", re.DOTALL)
"""A rule that covers every write of a command to a file of the workspace."""
_OPEN_RULE = re.compile(r"\w+\((.+) \*\)", re.DOTALL)
"""A rule that covers every command with the same first words."""
_EXACT_RULE = re.compile(r"shell\(([^*]+)\)")
"""A rule that covers one command."""
_EDIT_RULE = re.compile(r"(?:edit_file|write_file|apply_patch)\(([^*]+)\)")
"""A rule that covers the changes of one file by one tool."""
_KINDS = {
    "every write of": _WRITE_RULE.fullmatch,
    "every": _OPEN_RULE.fullmatch,
    "every edit of": _EDIT_RULE.fullmatch,
}


def explain_rules(rules: Sequence[str], *, shortens: bool = False) -> Iterator[str]:
    """Yield one line for each kind of rules with `*`, and one for each other rule.

    `shortens`: of both kinds, only the first are named, and the others counted.

    >>> list(explain_rules(["shell(git add *)", "shell(git commit *)", "shell(make)"]))
    ['every `git add`, `git commit`', '`make`']
    """
    exact = list(rules)
    for kind, match in _KINDS.items():
        found = {rule: each for rule in exact if (each := match(rule)) is not None}
        exact = [rule for rule in exact if rule not in found]
        if named := [f"`{each[1]}`" for each in found.values()]:
            first = _take_first(named, shortens=shortens)
            more = f" and {len(named) - len(first)} more" if len(first) < len(named) else ""
            yield f"{kind} {', '.join(first)}{more}"
    first = _take_first(exact, shortens=shortens)
    yield from (f"`{_name_exact(rule)}`" for rule in first)
    if len(first) < len(exact):
        yield f"{len(exact) - len(first)} more commands, as they are here"


def get_rule_words(rule: str) -> str:
    """Return the first words of a rule about commands; another rule as it is."""
    found = _OPEN_RULE.fullmatch(rule) or _EXACT_RULE.fullmatch(rule)
    return found[1] if found is not None else rule


def _name_exact(rule: str) -> str:
    """Return the command of a rule without `*`, or another rule as it is."""
    found = _EXACT_RULE.fullmatch(rule)
    return found[1] if found is not None else rule


def _take_first(rules: list[str], *, shortens: bool) -> list[str]:
    return rules[:_MAX_EXPLAINED] if shortens and len(rules) > _MAX_NAMED else rules


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
