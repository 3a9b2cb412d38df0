"""Commands that only print something, such as a version: what is free, and what still asks."""

import pytest

from yourtool.effects import Preview, Subject
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell

IN_SANDBOX = Preview(
    kind="command", body="", is_fully_contained=True, private_directories=("/tmp",)
)


@pytest.fixture
def root(tmp_path):
    return tmp_path.resolve()


def decide(root, line, *, preview=None, rules=()):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    gate.grant(rules, always=False)
    return gate.decide(
        shell.definition, CallSubjects((Subject("command", line, str(root)),)), preview
    )


@pytest.mark.parametrize(
    "line",
    [
        "bash -n a.sh", "sh -n a.sh b.sh", "tar tzf a.tgz", "tar --list --file=a.tar",
        "unzip -l a.zip", "python3 -V", "npm -v", "pip list", "pip show msgspec", "ruby -v",
        "docker --version", "kubectl version --client", "kubectl version --client=true",
        "git lfs ls-files", "type make", "command -v make python3", "df -h", "du -sh . | cat",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_command_that_only_prints_is_free(root, line):
    decision = decide(root, line)
    assert decision.verdict == "allow", decision.reason


@pytest.mark.parametrize(
    "line",
    [
        "bash a.sh", "bash -nc make", "bash -n -c make", "bash -n --rcfile x", "bash --norc",
        "bash -n ../a.sh", "sh -nx a.sh", "tar xzf a.tgz", "tar czf a.tgz src", "tar -tf host:a",
        "tar tf ../a.tar", "tar tIf ./x a.tar", "tar -t --to-command=./x -f a.tar", "tar zf a.tgz",
        "unzip a.zip", "unzip -lo a.zip", "unzip -l ../a.zip", "python3 -V a.py", "ruby -v a.rb",
        "perl -ve 1", "npm -v run x", "pip list --proxy x", "pip install x", "pip download x",
        "docker -v run x", "kubectl version", "kubectl version --client --kubeconfig=x",
        "kubectl version --client=false", "command make", "command -p make", "git lfs env",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_neighbour_that_does_more_is_asked_about(root, line):
    assert decide(root, line).verdict == "ask"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("cargo --version",
         "`cargo` can be a program that a file of the project, `rust-toolchain.toml`, names"),
        ("ps aux | head -3",
         "`ps` shows the arguments of other programs, unless a full sandbox hides them"),
        ("env | grep -i path",
         "`env` shows other variables than those that commands get, if it runs without a question"),
    ],
)  # fmt: skip
def test_command_that_prints_too_much_has_a_true_reason_and_a_rule(root, line, reason):
    asked = decide(root, line)
    assert (asked.verdict, asked.reason) == ("ask", reason)
    assert len(asked.proposed_rules) == 1
    assert decide(root, line, rules=asked.proposed_rules).verdict == "allow"


def test_rule_for_the_variables_allows_no_other_program(root):
    rules = decide(root, "env").proposed_rules
    assert decide(root, "env", rules=rules).verdict == "allow"
    assert decide(root, "env FOO=1 make", rules=rules).verdict == "ask"


def test_processes_are_free_to_list_in_a_full_sandbox(root):
    assert decide(root, "ps aux", preview=IN_SANDBOX).verdict == "allow"
    assert decide(root, "ps -ef | head", preview=IN_SANDBOX).verdict == "allow"
    assert decide(root, "ps auxe", preview=IN_SANDBOX).verdict == "ask"
