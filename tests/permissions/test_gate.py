import os

import pytest

from yourtool.config import Mode
from yourtool.effects import Subject
from yourtool.permissions.gate import CallSubjects, Gate
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import EVERY_TOOL, Rule, RuleSet, RuleSource
from yourtool.tools.shell import shell


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path.resolve()
    for name in ("work/src", "bin"):
        (root / name).mkdir(parents=True)
    (root / "bin").chmod(0o755)
    for name in ("make", "ls", "cat", "timeout"):
        (root / "bin" / name).write_text("#!/bin/sh\n")
        (root / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return root


def decide(root, line, *allow, mode=Mode.ASK, is_trusted=True):
    rules = RuleSet(allow=tuple(map(Rule.parse, allow)))
    subject = Subject("command", line, os.path.realpath(root / "work"))
    gate = Gate(rules, mode, is_trusted=is_trusted)
    return gate.decide(shell.definition, CallSubjects((subject,)), None)


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.PLAN])
@pytest.mark.parametrize("line", ["ls -la src", "cd src && ls | cat", "echo 'a b' || true"])
@pytest.mark.req("R-CONF-04", "R-CONF-09")
def test_reading_command_is_free_in_a_trusted_workspace(root, mode, line):
    assert decide(root, line, mode=mode).verdict == "allow"
    assert decide(root, line, mode=mode, is_trusted=False).verdict != "allow"


@pytest.mark.parametrize(
    ("line", "is_free"),
    [("ls -la src", True), ("cd src && ls | cat", True), ("make test", False), ("ls > x", False),
     ("ls; make", False), ("cat .env", False)],
)  # fmt: skip
@pytest.mark.req("R-CONF-04", "R-CONF-05")
def test_decision_says_whether_trust_in_the_folder_would_make_a_command_free(root, line, is_free):
    assert decide(root, line, is_trusted=False).is_free_if_trusted is is_free
    assert not decide(root, line).is_free_if_trusted


@pytest.mark.parametrize(
    "line", ["make test", "ls > x", "ls; make", "cat /etc/passwd", "cat ~/x", "ls $x", "rm src", ""]
)
@pytest.mark.req("R-CONF-04", "R-CONF-09")
def test_any_other_command_asks_and_plan_mode_denies_it(root, line):
    assert decide(root, line).verdict == "ask"
    assert decide(root, line, mode=Mode.PLAN).verdict == "deny"
    assert decide(root, line, "shell", mode=Mode.PLAN).verdict == "deny"


def test_rule_is_offered_only_for_the_parts_that_are_not_free(root):
    asked = decide(root, "cd src && make test | cat")
    assert (asked.verdict, asked.proposed_rules) == ("ask", ("shell(make test)",))
    assert decide(root, "cd src && make test | cat", *asked.proposed_rules).verdict == "allow"
    covered = decide(root, "make test; make lint", "shell(make test)").proposed_rules
    assert covered == ("shell(make lint)",)


@pytest.mark.req("R-CONF-04")
def test_what_runs_without_a_question_is_quoted_again_with_the_programs_that_are_meant(root):
    found = decide(root, 'cd src && timeout 5 make "a b" 2>&1', "shell(make 'a b')").command
    assert found == f"cd src && {root}/bin/timeout 5 {root}/bin/make 'a b' 2>&1"
    assert decide(root, "make test", "shell").command is None
    assert decide(root, "make test").command is None


@pytest.mark.req("R-CONF-04")
def test_every_call_asks_where_a_mistake_in_a_file_may_hide_a_denial(root):
    rules = RuleSet(allow=(Rule("shell"),), ask=(Rule(EVERY_TOOL, source=RuleSource.PROJECT),))
    subject = Subject("command", "ls", str(root / "work"))
    for mode in (Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO):
        gate = Gate(rules, mode, is_trusted=True)
        asked = gate.decide(shell.definition, CallSubjects((subject,)), None)
        assert asked.verdict == "ask"
        assert asked.reason == "a file of permission rules has a mistake that may hide a deny rule"


def test_asking_rule_is_named_with_its_owner(root):
    subject = Subject("command", "ls", str(root / "work"))
    for source, owner in ((RuleSource.PROJECT, "of the project"), (RuleSource.USER, "of yours")):
        gate = Gate(RuleSet(ask=(Rule("shell", "ls*", source),)), Mode.AUTO)
        asked = gate.decide(shell.definition, CallSubjects((subject,)), None)
        assert asked.reason == f"the rule `shell(ls*)` {owner} asks about it in every mode"


def test_stored_rules_are_read_again_and_those_of_the_session_stay(root):
    file = root / "permissions.toml"
    file.write_text("allow = ['shell(make*)']\n")
    grants = Grants(file, root / "work", {"shell": "command"})
    own = Rule("shell", "ls*", RuleSource.SESSION)
    gate = Gate(RuleSet(allow=(own,)) | grants.load().rules, Mode.ASK, grants)
    file.write_text("deny = ['shell(rm*)']\n")
    gate.reload()
    assert gate.policy.rules == RuleSet(allow=(own,), deny=(Rule("shell", "rm*"),))
    gate.forget(own)
    assert gate.policy.rules.allow == ()
    alone = Gate(RuleSet(allow=(own, Rule("glob"))), Mode.ASK)
    alone.reload()
    assert alone.policy.rules.allow == (own,)


def test_rule_that_is_granted_for_always_replaces_that_of_the_session(root):
    grants = Grants(root / "permissions.toml", root / "work", {"shell": "command"})
    gate = Gate(RuleSet(), Mode.ASK, grants)
    gate.grant(["shell(make test)"], always=False)
    assert gate.policy.rules.allow == (Rule("shell", "make test", RuleSource.SESSION),)
    assert grants.load().rules.allow == ()
    gate.grant(["shell(make test)"], always=True)
    assert gate.policy.rules.allow == (Rule("shell", "make test", RuleSource.USER),)
    assert grants.load().rules.allow == gate.policy.rules.allow


@pytest.mark.req("R-CONF-04")
def test_program_that_others_can_replace_needs_an_approval(root):
    assert decide(root, "ls").verdict == "allow"
    (root / "bin/ls").chmod(0o777)
    asked = decide(root, "ls", "shell(ls*)")
    assert asked.verdict == "ask"
    assert asked.reason == f"everyone can write to `{root}/bin/ls`"
    assert decide(root, "ls", "shell(ls*)", mode=Mode.AUTO).verdict == "allow"
    assert decide(root, "ls", "shell").verdict == "allow"
