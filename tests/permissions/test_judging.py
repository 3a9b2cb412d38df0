"""Decisions depend on values only: the settings, the call, and what was found about it."""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.adversarial import ADVERSARIAL, FILES, LINKS
from tests.security.everyday import EVERY_TIME, GRANTED, READING
from yourtool.effects import SideEffects, Subject
from yourtool.permissions.findings import UnknownFindingError
from yourtool.permissions.judging import CallSubjects, JudgedCall, Policy, judge, look_up
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.settings.config import Mode

_WITHOUT_FILES = """
import os, pickle, posix, sys
from yourtool.permissions import judging
from yourtool.permissions.shell import programs
from yourtool.permissions.shell.lines import syntax

cases = pickle.loads(sys.stdin.buffer.read())
for policy, call, _ in cases:
    judging.judge(policy, call)  # imports modules and reads the table of programs
was_used = []
def forbid(*arguments, **options):
    was_used.append(arguments)
    raise PermissionError(arguments)
class NoEnvironment(dict):
    get = __getitem__ = __contains__ = __iter__ = forbid
for name in dir(posix):
    if name in ("stat", "lstat", "open", "readlink", "listdir", "scandir", "access", "getcwd"):
        setattr(os, name, forbid)
os.environ = NoEnvironment()
sys.addaudithook(lambda event, arguments: was_used.append(event) if event in EVENTS else None)
EVENTS = {"open", "os.listdir", "os.scandir", "os.getxattr", "subprocess.Popen", "socket.connect"}
differences = [call for policy, call, wanted in cases if judging.judge(policy, call) != wanted]
assert not differences, differences[:3]
assert not was_used, was_used[:3]
try:
    os.stat("/")
except PermissionError:
    print(len(cases))
"""


def build_call(command, workspace):
    subject = Subject("command", command, str(workspace))
    return JudgedCall("shell", SideEffects.EXECUTE, CallSubjects((subject,)))


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path.resolve() / "work"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    return root


def build_cases(workspace):
    """Return settings, calls and decisions, for many commands in every mode."""
    commands = [(case["command"], case["allow_rules"], case["deny_rules"]) for case in ADVERSARIAL]
    commands += [(each, [], []) for each in (*READING, *GRANTED, *EVERY_TIME)]
    for number, (command, allow, deny) in enumerate(commands):
        rules = RuleSet(
            allow=tuple(Rule("shell", None if each == "shell" else each) for each in allow),
            deny=tuple(Rule("shell", None if each == "shell" else each) for each in deny),
        )
        mode = tuple(Mode)[number % len(Mode)]
        policy = Policy(mode, rules, str(workspace), is_trusted=number % 2 == 0)
        call = look_up(policy, build_call(command, workspace))
        yield policy, call, judge(policy, call)


@pytest.mark.req("R-CONF-08")
def test_decisions_use_neither_files_nor_the_environment(workspace):
    cases = list(build_cases(workspace))
    assert {decision.verdict for _, _, decision in cases} == {"allow", "ask", "deny"}
    shutil.rmtree(workspace)
    ended = subprocess.run(
        [sys.executable, "-c", _WITHOUT_FILES],
        input=pickle.dumps(cases),
        capture_output=True,
        cwd=Path(__file__).parents[2],
        env={},
        check=False,
    )
    assert ended.stderr.decode() == ""
    assert ended.stdout.decode() == f"{len(cases)}\n"


def test_call_without_findings_is_not_decided(workspace):
    policy = Policy(Mode.ASK, RuleSet(), str(workspace), is_trusted=True)
    call = build_call("cat a.txt", workspace)
    with pytest.raises(UnknownFindingError):
        judge(policy, call)
    assert judge(policy, look_up(policy, call)).verdict == "allow"


def test_each_question_is_asked_where_the_command_runs(workspace):
    (workspace / "sub").mkdir()
    (workspace / "a").write_text("x")
    (workspace / "sub/a").symlink_to("/etc/passwd")
    policy = Policy(Mode.ASK, RuleSet(), str(workspace), is_trusted=True)
    looked_up = look_up(policy, build_call("cat a && cd sub && cat a", workspace))
    found = {(e.question, e.directory, e.about): e.answer for e in looked_up.findings}
    assert found["readable", ".", "a"] is True
    assert found["readable", "sub", "a"] is False
    assert found["entered", ".", "sub"] == str(workspace / "sub")
    assert judge(policy, looked_up).verdict == "ask"
