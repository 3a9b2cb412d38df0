"""Rules about the writes of programs that only read or print, such as `printf 'x' > a.txt`."""

import pytest

from yourtool.effects import Subject
from yourtool.permissions.examples import build_examples
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.permissions.shell.specs import parse_spec
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell
from yourtool.tui.questions.rule_text import explain_rules

RULES = ("shell(printf * > *)", "shell(cat * > *)", "shell(echo * > *)")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "src").mkdir()
    return tmp_path.resolve()


def decide(root, line, rules=()):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    gate.grant(rules, always=False)
    subjects = CallSubjects((Subject("command", line, str(root)),))
    return gate.decide(shell.definition, subjects, None)


@pytest.mark.parametrize(
    "line", ["printf 'a\\n' > a", "cat > a <<'EOF'\nx\nEOF", "echo x >> a", "echo '- x' >> a"]
)
@pytest.mark.req("R-CONF-04")
def test_writing_a_text_offers_a_rule_about_every_such_write(root, line):
    asked = decide(root, line)
    assert asked.verdict == "ask"
    assert sorted(asked.proposed_rules) == sorted(RULES)


@pytest.mark.parametrize(
    "line",
    [
        "printf '%s' x > src/b.py", "echo y >> src/new.txt", "cat README.md > docs.md",
        "cat > src/c.py <<'EOF'\nimport a\nEOF", "cd src && echo a > b",
        "cat src/a.py src/b.py 2>/dev/null > all.py", "for f in a b; do echo x > out; done",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_rule_covers_other_texts_and_other_files_of_the_workspace(root, line):
    assert decide(root, line, RULES).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "echo x > .git/hooks/pre-commit", "echo x > AGENTS.md", "echo x > .env", "echo x > ../a",
        "echo x > /etc/hosts", "cat ../secret > a", "cat .env > a", "printf -v x y > a",
        "printf '%n' x > a", "echo $(make) > a", "tee a > b", "python3 > a", "echo x > a && make",
        "sudo echo x > a", "LD_PRELOAD=./x echo a > b", "cat < ../x > a",
        "cat > .vim/a <<'E'\nx\nE",
    ],
)  # fmt: skip
def test_rule_covers_neither_other_places_nor_other_programs(root, line):
    assert decide(root, line, RULES).verdict == "ask"


def test_rule_about_a_program_that_runs_code_covers_no_write(root):
    assert decide(root, "make test > a", ("shell(make * > *)",)).verdict == "ask"
    assert decide(root, "pip list > a", ("shell(pip list * > *)",)).verdict == "ask"


def test_write_that_links_elsewhere_is_asked_about(root):
    (root / "out").symlink_to(root.parent / "elsewhere")
    assert decide(root, "echo x > out", RULES).verdict == "ask"


def test_rules_are_named_as_writes():
    assert list(explain_rules([*RULES, "shell(git add *)", "shell(make)"])) == [
        "every write of `printf`, `cat`, `echo`", "every `git add`", "`make`",
    ]  # fmt: skip


def test_rule_has_examples_of_both_kinds():
    found = build_examples(Rule.parse(RULES[0]), "command")
    assert (len(found.match), len(found.not_match)) == (3, 3)


@pytest.mark.parametrize("spec", ["printf > a * > *", "a | b * > *", "* > *"])
def test_rule_about_writes_names_one_command(spec):
    assert parse_spec(spec) is None
