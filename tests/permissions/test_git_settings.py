"""Settings of git, about which a question is asked only if they can run programs."""

import subprocess

import pytest

from yourtool.effects import Preview, Subject
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell

IN_SANDBOX = Preview(kind="command", body="", is_fully_contained=True)


@pytest.fixture
def root(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path.resolve()


def decide(root, line, *, preview=IN_SANDBOX, rules=(), allows_contained=False):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True, allows_contained=allows_contained)
    gate.grant(rules, always=False)
    subjects = CallSubjects((Subject("command", line, str(root)),))
    return gate.decide(shell.definition, subjects, preview)


HARMLESS = (
    "git config user.name 'Tide Dev'", "git config --local pull.rebase true",
    "git config user.name x && git config user.email a@b.c", "git config --unset user.name",
    "git config branch.main.rebase true",
)  # fmt: skip


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_setting_needs_no_question_in_an_allowed_sandbox(root, line):
    assert decide(root, line, allows_contained=True).verdict == "allow"


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_setting_gets_a_rule_for_the_line(root, line):
    asked = decide(root, line)
    assert (asked.verdict, asked.protected_writes) == ("ask", ())
    assert decide(root, line, rules=asked.proposed_rules).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "git config core.hooksPath x", "git config core.fsmonitor ./x", "git config alias.x '!y'",
        "git config --global user.name x", "git config --edit", "git config -f .git/config a.b c",
        "git config user.name $x", "git config remote.origin.url x",
    ],
)  # fmt: skip
def test_setting_that_can_run_a_program_asks_in_every_mode(root, line):
    asked = decide(root, line, allows_contained=True)
    assert asked.verdict == "ask"
    assert asked.protected_writes != ()


def test_harmless_setting_is_a_protected_write_where_nothing_is_compared(root):
    asked = decide(root, HARMLESS[0], preview=None, allows_contained=True)
    assert (asked.verdict, asked.protected_writes) == ("ask", (".git/config",))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("chmod +x scripts/check.sh", "`.pre-commit-config.yaml` runs it as a hook"),
        ("git rm --cached .pre-commit-config.yaml",
         "a hook manager or a service that tests commits runs what it names"),
        ("touch .git/hooks/pre-push",
         "git or another version control runs it, or has its settings there"),
    ],
)  # fmt: skip
def test_reason_says_what_makes_a_place_protected(root, line, cause):
    (root / ".pre-commit-config.yaml").write_text("repos:\n- hooks:\n  - entry: scripts/check.sh\n")
    assert decide(root, line).reason.partition(", a protected place: ")[2] == cause
