"""Loops, conditions and subshells: free if all of their commands are, and judged by their parts."""

import subprocess

import pytest

from yourtool.effects import Subject
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import RuleSet
from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.shell.specs import parse_spec
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell


@pytest.fixture
def root(tmp_path):
    for name in ("src/a.py", "src/b c.py", "README.md", "list.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one\n  two  three\n")
    return tmp_path.resolve()


def decide(root, line, rules=()):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    gate.grant(rules, always=False)
    return gate.decide(shell.definition, CallSubjects((Subject("command", line, str(root)),)), None)


FREE = (
    "(cd src && ls)",
    "(cd src && ls) | head -1; ls",
    "true | (cd src && cat ../README.md)",
    "ls | cat && cd src && cat a.py",
    "(cd src && cat a.py) && cat README.md",
    "for f in a b; do echo $f; done",
    "for f in src/*.py; do echo \"$f\"; wc -l \"$f\"; done",
    "for f in src/*.py; do echo \"== $f\"; head -1 \"$f\"; done",
    "for f in README.md list.txt\ndo\n  head -1 \"$f\"\ndone | sort",
    "for i in 1 2; do for j in a b; do echo \"$i-$j\"; done; done 2>/dev/null",
    "while read -r x; do echo \"line $x\"; done < list.txt",
    "cat list.txt | while IFS= read -r x; do printf '%s\\n' \"$x\"; done",
    "if [ -f README.md ]; then cat README.md; fi",
    "if [[ -d src ]]; then ls src; elif [ -f x ]; then cat x; else pwd; fi && ls",
    "if test -f x; then\n  cat x\nelse\n  echo no\nfi",
    "[ -f README.md ] && cat README.md",
    "echo do\nls",
    "for d in src; do (cd src && ls); done",
)  # fmt: skip


@pytest.mark.parametrize("line", FREE)
@pytest.mark.req("R-CONF-04")
def test_statement_of_free_commands_is_free_and_prints_the_same(root, line):
    decision = decide(root, line)
    assert decision.verdict == "allow", (decision.reason, decision.no_rule_reason)
    wanted, found = (
        subprocess.run(["bash", "-c", each], cwd=root, capture_output=True, check=False)
        for each in (line, decision.command)
    )
    assert (found.returncode, found.stdout) == (wanted.returncode, wanted.stdout)


@pytest.mark.parametrize(
    "line",
    [
        "for f in /etc/passwd; do cat $f; done",
        "for f in a ../x; do cat \"$f\"; done",
        "for f in .env; do cat \"$f\"; done",
        "for f in src/*.py; do cat $f; done",
        "for f in 'a /etc/passwd'; do cat $f; done",
        "for f in a; do read f; cat \"$f\"; done",
        "for f in while; do read f; cat \"$f\"; done",
        "for f in a; do while read f; do echo; done; cat \"$f\"; done",
        "for PATH in .; do ls; done",
        "for http_proxy in x; do ls; done",
        "for f in $(ls); do cat \"$f\"; done",
        "for f; do cat \"$f\"; done",
        "for f in a; do f=../x; cat \"$f\"; done",
        "for f in a; do \"$f\"; done",
        "for f in a; do cat \"${f}x\"; done",
        "for f in a; do cat x; done; cat \"$f\"",
        "for f in a; do FOO=\"$f\" ls; done",
        "for f in a; do ls & done",
        "while read f; do cat \"$f\"; done < list.txt",
        "while read f; do printf \"$f\"; done < list.txt",
        "while read x; do echo \"$x\"; done < ../x",
        "while read x; do echo \"$x\"; done > out.txt",
        "while true; do ls; done",
        "while read -p x y; do ls; done",
        "if cd ..; then cat x; fi",
        "for f in a; do cd ..; done; cat x",
        "(cd ..; ls); cat x",
        "(cd src && ls) && cat ../x",
        "true | cd src && cat ../x",
        "for i in 1 2; do echo; done | cd src && cat ../x",
        "while read -r x; do echo; done < list.txt | cd src && cat ../x",
        "if [ -v x ]; then ls; fi",
        "[[ a -eq x ]] && ls",
        "[[ a == b* ]] && ls",
        "read x",
        "read -r HOME < list.txt && git diff",
        "read 'x[$(ls)]' < list.txt",
        "read -r a IFS < list.txt",
        "while read -r x; do printf -- \"$x\" f; done < list.txt",
        "while read -r x; do for o in --; do printf $o \"$x\" f; done; done < list.txt",
        "(ls) > ../out",
        "f() { ls; }; f",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_statement_that_may_do_more_is_asked_about(root, line):
    decision = decide(root, line)
    if line == "read x":  # it reads standard input, which is empty
        assert decision.verdict == "allow"
        return
    assert decision.verdict == "ask"
    assert decision.reason


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("for f in a b; do make test; done", ("shell(make test)",)),
        ("if [ -f Makefile ]; then make; else ls; fi", ("shell(make)",)),
        ("(cd src && make test) | tail", ("shell(make test)",)),
        ("for f in src/a.py; do ruff check \"$f\"; done",
         ("shell(ruff check *)", "shell(ruff format *)")),
    ],
)  # fmt: skip
def test_statement_offers_the_rules_of_its_parts(root, line, rules):
    asked = decide(root, line)
    assert asked.proposed_rules == rules
    assert decide(root, line, rules).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "pushd src && cat x",
        "cd -P src && cat x",
        "builtin cd src; cat x",
        "while read -r x; do cat x; pushd src; done < list.txt",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_command_after_one_that_enters_a_directory_by_a_rule_is_asked_about(root, line):
    """A link to a file outside is one only where it is."""
    (root / "src/x").symlink_to("/etc/passwd")
    rules = ("shell(pushd src)", "shell(cd -P src)", "shell(builtin cd src)")
    assert decide(root, line, rules).verdict == "ask"
    assert decide(root, "pushd src", rules).verdict == "allow"


@pytest.mark.req("R-CONF-04")
def test_word_with_a_variable_is_judged_with_its_line_end(root):
    (root / "up\n").symlink_to("..")
    assert decide(root, 'for f in /x; do cat "up\n$f"; done').verdict == "ask"


@pytest.mark.parametrize(
    "spec", ["(make)", "for f in a; do make; done", "[ -f a ]", "if a; then b; fi"]
)
def test_rule_is_about_one_plain_command(spec):
    assert parse_spec(spec) is None


def test_loop_is_limited():
    words = " ".join(map(str, range(60)))
    assert parse_plain(f"for f in {words}; do echo $f; done") == ()
