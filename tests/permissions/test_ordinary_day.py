"""Number of questions about the ordinary commands of a project.

Two hours of a model in one project. Each first offer of "always" is taken, in a folder that the
user trusts and without a sandbox that would answer for the user.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from yourtool.effects import Subject
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell

FILES = ("README.md", "src/tally.py", "src/app.ts", "tests/test_tally.py", "scripts/seed.py")
MESSAGE = """git commit -m "$(cat <<'EOF'
Count tides twice

The second count was lost; see $HOME and `tide`.
EOF
)\""""
FIRST_HOUR = (
    "git status",
    "git log --oneline -5",
    "ls -la",
    "cat README.md",
    "git checkout -b fix/tides",
    "grep -rn 'def tally' src",
    "find . -name '*.py' -not -path './.venv/*'",
    "sed -n '1,80p' src/tally.py",
    "python3 -m pytest -q",
    "python3 -m pytest -q tests/test_tally.py -x --tb=short",
    ".venv/bin/python -m pytest -q -k 'tally and not slow' 2>&1 | tail -20",
    "cd tests && ../.venv/bin/pytest -q test_tally.py::test_counts",
    "timeout 120 pytest -q --maxfail=1",
    "ruff check .",
    "ruff check --fix src tests",
    "python -m ruff check src --select E,F",
    "ruff format src tests",
    ".venv/bin/ruff format --check .",
    "mypy src",
    "mypy --strict src/tally.py 2>&1 | head -40",
    "git diff --stat",
    "git add -A && git commit -m 'Count tides'",
    "git add src/tally.py tests/test_tally.py && git commit -q -m 'Test tides'",
    MESSAGE,
    "git commit --amend --no-edit",
    "git status && git diff HEAD~1 --stat",
    "mkdir -p src/util && touch src/util/__init__.py",
    "touch src/util/clock.py",
    "mkdir -p tests/util docs/images",
    "sed -i 's/tide/Tide/g' src/tally.py",
    "sed -i 's|/tides|/counts|' src/app.ts src/tally.py",
    "mv src/util/clock.py src/util/tide_clock.py",
    "cp README.md docs/README.md",
    "wc -l src/*.py | sort -n",
    "npm install",
    "npm test -- --watch=false",
    "npm test",
    "npm test -- --run src/app.test.ts",
    "npm run lint",
    "npm run lint -- --fix",
    "npm run build 2>&1 | tail -30",
    "npx tsc --noEmit",
    "npx tsc --noEmit -p tsconfig.json",
    "node_modules/.bin/eslint src --ext .ts",
    "node_modules/.bin/eslint src/app.ts --fix",
    "make test",
    "make test 2>&1 | tail -40",
    "make -s lint || true",
    "cargo build",
    "cargo build --release 2>&1 | tail -5",
    "cargo test",
    "cargo test -p tally -- --nocapture",
    "git stash",
    "git stash pop",
    "git push -u origin fix/tides",
    "git fetch origin && git log HEAD..origin/main --oneline",
    "git branch -vv",
    "python3 scripts/seed.py --count 3",
    "python3 scripts/seed.py --count 10 --verbose",
    "rm -rf build",
)
SECOND_HOUR = (
    "git status --short",
    "git checkout main",
    "git fetch origin --prune",
    "git checkout -b feature/moon",
    "cat src/tally.py | head -60",
    "rg -n moon src",
    "mkdir -p src/moon",
    "touch src/moon/__init__.py src/moon/phase.py",
    "python3 -m pytest -q tests/test_moon.py",
    ".venv/bin/pytest -q -x 2>&1 | tail -15",
    "ruff check --fix . && ruff format .",
    "mypy src/moon",
    "sed -i 's/phase/phases/' src/moon/phase.py",
    "cp src/moon/phase.py src/moon/tide.py",
    'git add -A && git commit -m "Add the moon\n\nIts phases move the tides."',
    "git commit -F - <<'EOF'\nName the phases\n\nAll of them: $NEW, $FULL.\nEOF",
    "npm run lint -- src/moon.ts",
    "npm test -- --run",
    "npx tsc --noEmit --pretty false | head -20",
    "cargo test moon 2>&1 | tail -20",
    "make test && git status",
    "git merge --no-ff fix/tides",
    "git stash push -m 'half a moon'",
    "git push -u origin feature/moon",
)


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path.resolve()
    for name in FILES:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def take_first_offers(gate: Gate, workspace: Path, commands: Sequence[str]) -> list[str]:
    """Return the commands that are asked about, while the user takes each first offer."""
    asked = list[str]()
    for command in commands:
        subject = Subject("command", command, str(workspace))
        decision = gate.decide(shell.definition, CallSubjects((subject,)), None)
        if decision.verdict == "ask":
            asked.append(command)
            assert decision.proposed_rules or decision.no_rule_reason, command
            gate.grant(decision.proposed_rules, always=False)
    return asked


@pytest.mark.req("R-CONF-04")
def test_an_hour_of_ordinary_commands_has_few_questions_and_the_next_hardly_any(workspace):
    assert (len(FIRST_HOUR), len(SECOND_HOUR)) == (60, 24)
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    first = take_first_offers(gate, workspace, FIRST_HOUR)
    second = take_first_offers(gate, workspace, SECOND_HOUR)
    assert len(first) <= 20, first
    assert len(second) <= 4, second
