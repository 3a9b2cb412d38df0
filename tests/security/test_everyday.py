"""How often the commands of an ordinary day are asked about."""

import subprocess

import pytest

from tests.security.everyday import (
    EVERY_TIME,
    FILES,
    GRANTED,
    READING,
    build_neighbours,
    build_variants,
)
from yourtool.effects import Subject
from yourtool.permissions.examples import build_examples
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    root = tmp_path_factory.mktemp("everyday").resolve()
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def decide(workspace, gate, command):
    subject = Subject("command", command, str(workspace))
    return gate.decide(shell.definition, CallSubjects((subject,)), None)


def find_failure(workspace, command):
    """Return what is wrong about the approvals of a command that runs more than others read."""
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    asked = decide(workspace, gate, command)
    if asked.verdict != "ask" or not asked.proposed_rules:
        return f"`{command}`: {asked.verdict}, no rule is proposed: {asked.no_rule_reason}"
    gate.grant(asked.proposed_rules, always=False)
    for each in (command, *build_variants(command)):
        if (again := decide(workspace, gate, each)).verdict != "allow":
            return f"`{each}` is asked about after a grant of {asked.proposed_rules}: {again}"
    return ""


def find_broad(workspace, command):
    """Return the commands that a grant allows and that its rules do not show."""
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    proposed = decide(workspace, gate, command).proposed_rules
    gate.grant(proposed, always=False)
    specs = [rule.removeprefix("shell(").removesuffix(")") for rule in proposed]
    neighbours = [each for spec in specs for each in build_neighbours(spec) if each not in specs]
    return [each for each in neighbours if decide(workspace, gate, each).verdict == "allow"]


@pytest.mark.req("R-CONF-03", "R-CONF-04")
@pytest.mark.remaining
def test_rules_for_commands_of_every_day_have_three_examples_of_each_kind(workspace):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    proposed = {rule for each in GRANTED for rule in decide(workspace, gate, each).proposed_rules}
    examples = {rule: build_examples(Rule.parse(rule), "command") for rule in proposed}
    counts = {rule: (len(each.match), len(each.not_match)) for rule, each in examples.items()}
    assert {rule: found for rule, found in counts.items() if found != (3, 3)} == {}


@pytest.mark.req("R-CONF-04")
def test_list_has_two_hundred_commands():
    assert len({*READING, *GRANTED}) == len(READING) + len(GRANTED) >= 200


@pytest.mark.security
@pytest.mark.req("R-CONF-04")
def test_figures_of_everyday_commands(workspace, figures):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    free = sum(decide(workspace, gate, each).verdict == "allow" for each in READING)
    quiet = sum(not find_failure(workspace, each) for each in GRANTED)
    broad = sum(len(find_broad(workspace, each)) for each in GRANTED)
    figures("everyday", f"{free} of {len(READING)}, {quiet} of {len(GRANTED)}, {broad}")
    assert (free, quiet, broad) == (len(READING), len(GRANTED), 0)


@pytest.mark.req("R-CONF-04")
def test_reading_commands_of_every_day_are_free_in_a_trusted_folder(workspace):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    decided = {each: decide(workspace, gate, each) for each in READING}
    assert {each: found for each, found in decided.items() if found.verdict != "allow"} == {}


@pytest.mark.req("R-CONF-04")
@pytest.mark.remaining
def test_other_commands_of_every_day_and_their_variants_need_one_grant(workspace):
    assert list(filter(None, (find_failure(workspace, each) for each in GRANTED))) == []


@pytest.mark.req("R-CONF-04")
@pytest.mark.remaining
def test_no_grant_of_an_everyday_command_is_broader_than_shown(workspace):
    found = {command: find_broad(workspace, command) for command in GRANTED}
    assert {command: broad for command, broad in found.items() if broad} == {}


@pytest.mark.req("R-CONF-04")
def test_interpreters_and_package_runners_never_get_a_rule(workspace):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    for command in EVERY_TIME:
        asked = decide(workspace, gate, command)
        assert (asked.verdict, asked.proposed_rules) == ("ask", ()), command
        assert asked.no_rule_reason, command
