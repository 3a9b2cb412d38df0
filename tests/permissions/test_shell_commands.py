import re
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from yourtool.effects import Subject
from yourtool.permissions import rules, shell_commands
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict
from yourtool.permissions.shell_commands import MAX_COMMAND_LENGTH, plain_words

RULES = RuleSet((Rule.parse("shell(ls*)"),), (Rule.parse("shell(rm -rf /*)"),))

BARE = r"[A-Za-z0-9_@%+=:,./^-]"
WORD = rf"""(?:{BARE}|'[ -&(-~]*'|"[ #%-\[\]-_a-~]*")+"""


def reference_words(command):
    if not re.fullmatch(rf" *{WORD}(?: +{WORD})* *", command):
        return ()
    first = command.split()[0]
    if "=" in first or first in ("for", "if", "do", "fi"):
        return ()
    return tuple(shlex.split(command))


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("fordi=-./'\" $;|&<>(){}*?[]~#!\\`\n\t%^@:,é"), max_size=10))
def test_lexer_agrees_with_the_grammar_of_plain_words(command):
    assert plain_words(command) == reference_words(command)


@pytest.mark.parametrize(
    "sized",
    [
        lambda size: "echo " + "a" * size + "$",
        lambda size: "echo " + "''" * size + "$",
        lambda size: "echo" + " a" * size + " $",
        lambda size: "echo" + " " * size + "$",
        lambda size: "'" * size,
        lambda size: "'a'" * size + '"',
    ],
)
def test_lexing_a_command_takes_linear_time(sized):
    assert growth(plain_words, sized) < LINEAR


@pytest.mark.parametrize(
    "sized",
    [
        lambda size: "xargs" + " a" * size,
        lambda size: "1 " * size + "a",
        lambda size: "bash" + " 'a b'" * size,
        lambda size: "xargs" + " a" * size + " $",
        lambda size: "$(" * size + "a" * size,
        lambda size: "A=" * size,
        lambda size: "do " * size + "a",
        lambda size: "A='" * size,
        lambda size: "A='\"" * size + "=",
        lambda size: "> " * size,
        lambda size: ">" + " " * size + "$",
        lambda size: "eval" + " 'a b'" * size,
        lambda size: 'A="' * size,
        lambda size: 'A="b;c" ' * size + "$",
        lambda size: '"\\' * size,
        lambda size: "1" * size + "$",
        lambda size: "{a" * size,
        lambda size: "{" + "a" * size,
        lambda size: "A[" * size,
        lambda size: "2>&1 " * size,
        lambda size: "<<< 'a b' " * size,
        lambda size: 'bash -c "' * size,
    ],
)
def test_deny_rule_checks_a_long_command_in_linear_time(sized, monkeypatch):
    for module in (shell_commands, rules):
        monkeypatch.setattr(module, "MAX_COMMAND_LENGTH", 10**9)
    assert (
        growth(lambda command: RULES.verdict("shell", Subject("command", command)), sized, 1_000)
        < LINEAR
    )


def test_command_is_parsed_once_for_all_rules():
    def verdict(count):
        denied = tuple(Rule.parse(f"shell(rm{number} -rf*)") for number in range(count))
        return RuleSet((), denied).verdict("shell", Subject("command", "echo " + "a;" * 10_000))

    assert growth(verdict, lambda size: size // 250) < 4


def test_overlong_command_is_never_allowed_past_a_deny_rule():
    line = "ls " + "a" * MAX_COMMAND_LENGTH
    allow, deny = (Rule.parse("shell(ls*)"),), (Rule.parse("shell(rm*)"),)
    assert RuleSet(allow, deny).verdict("shell", Subject("command", line)) is RuleVerdict.TOO_LONG
    assert (
        RuleSet(allow, (Rule.parse("shell"),)).verdict("shell", Subject("command", line))
        is RuleVerdict.DENY
    )
    assert RuleSet(allow, ()).verdict("shell", Subject("command", line)) is RuleVerdict.ASK
    assert (
        RuleSet((Rule.parse("shell"),), ()).verdict("shell", Subject("command", line))
        is RuleVerdict.ALLOW
    )
    assert (
        RuleSet(allow, deny).verdict("shell", Subject("command", line[:MAX_COMMAND_LENGTH]))
        is RuleVerdict.ALLOW
    )
