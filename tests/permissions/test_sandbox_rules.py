"""Rules about the sandbox: stored, listed and taken back like others, and about no tool."""

import pytest

from yourtool.effects import Subject
from yourtool.errors import UsageError
from yourtool.permissions.gate import Gate
from yourtool.permissions.grants import Grants, remove_entry
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict
from yourtool.settings.config import Mode
from yourtool.tools.builtin import default_toolbox

KINDS = default_toolbox().subject_kinds
RULES = ("sandbox_outside(npm view *)", "sandbox_host(packages.example)")


def test_answer_about_a_network_is_stored_and_taken_back(tmp_path):
    grants = Grants(tmp_path / "permissions.toml", tmp_path, KINDS)
    Gate(RuleSet(), Mode.ASK, grants).grant(RULES, always=True)
    stored = Grants(tmp_path / "permissions.toml", tmp_path, KINDS).load()
    assert stored.problems == ()
    assert [str(each) for each in stored.rules.allow] == list(RULES)
    for entry in grants.read().entries:
        remove_entry(grants.file, entry, KINDS)
    assert grants.load().rules.allow == ()


def test_rule_about_the_sandbox_decides_about_no_command():
    rules = RuleSet(allow=tuple(Rule.parse(each, KINDS) for each in RULES))
    verdict = rules.verdict("shell", Subject("command", "npm view x", "/work"))
    assert verdict is RuleVerdict.NONE
    assert rules.verdict("fetch_url", Subject("host", "packages.example")) is RuleVerdict.NONE


@pytest.mark.parametrize("text", ["sandbox_host(a b)", "sandbox_host(https://a.example)"])
def test_rule_with_no_host_is_a_mistake(text):
    with pytest.raises(UsageError, match="can never match"):
        Rule.parse(text, KINDS)
