import re
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from yourtool.permissions.rules import Rule, RuleSet, plain_words

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
def test_the_lexer_decides_as_the_grammar_of_plain_words(command):
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
def test_lexing_a_command_is_linear(sized):
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
    ],
)
def test_a_deny_rule_reads_a_long_command_in_linear_time(sized):
    assert growth(lambda command: RULES.verdict("shell", command), sized, 10_000) < LINEAR
