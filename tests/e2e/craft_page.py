"""Write `docs/craft.md` and the recorded requests: every task, with the program before and now.

Run it with `python -m tests.e2e.craft_page`. The program before comes from the history of git.
"""

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.clumsy_models import KINDS
from tests.e2e.clumsy_tasks import TASKS, Outcome, run_task
from tests.e2e.requests_per_task import FILE, Requests, read_requests, write_requests
from tests.e2e.task_projects import PROJECTS
from tests.e2e.terminal import ROOT
from tests.e2e.transcripts import format_transcript

BEFORE = "9845af80"
"""The commit before edits and arguments tolerated mistakes."""
PAGE = ROOT / "docs/craft.md"
Outcomes = Mapping[tuple[str, str], Outcome]

_HEAD = """\
# What models get done

A model makes mistakes: it writes a number as text, loses the indentation of an edit, repeats a
call, or starts a server and finds it ended. How many requests such a mistake costs depends on what
the program accepts and on what it answers.

Scripted models measure it. Each one has a task in a small git repository: repair a project so that
its test passes, find something, or ask a server. Each one is clumsy in one way and reacts to what
it reads: it corrects what an answer names, takes a next step that an answer or the system prompt
names, and tries blindly otherwise. There are eight kinds in repositories of five languages: Python,
shell, SQL, AWK and HTML. The program runs as `yourtool -p`, with its real tools.

The table counts the requests of five tasks of a kind, and the prompts of the user: one for each
task, and one whenever the model stopped too early. “Before” is the program before edits and
arguments tolerated mistakes.

"""
_TAIL = """\

## With a real model

```
make craft                             # the scripted models; no key is needed
make craft MODEL=anthropic:NAME        # the same 40 tasks with a model and your configuration
```

The second command uses your configuration and keys, and costs what the model costs. It prints for
each task whether it is finished, its requests, tokens and cost. The tasks run in approval mode auto
in temporary repositories, with commands in the sandbox where it works.

`tests/e2e/requests_per_task.toml` records the requests of each task. A test fails if a task takes
more; `python -m tests.e2e.craft_page` records fewer, and writes this page.
"""


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """Yield a source tree of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)


def measure(tree: Path) -> Outcomes:
    """Return how every task ends with the program of a source tree."""
    with tempfile.TemporaryDirectory() as folder:
        found = dict[tuple[str, str], Outcome]()
        for kind, project in TASKS:
            place = Path(folder) / kind / project.language
            outcome = run_task(kind, project, place, tree)
            found[kind, project.language] = outcome
            state = outcome.problem or "finished"
            sys.stdout.write(f"{kind} {project.language}: {outcome.requests}, {state}\n")
        return found


def format_table(before: Outcomes, now: Outcomes) -> str:
    """Return the table of all kinds."""
    rows = [
        "| | finished | requests before | requests now | prompts before | prompts now |",
        "|---|---|---|---|---|---|",
    ]
    for title, keys in [
        *(
            (f"[{row.title}](#{row.title.lower().replace(' ', '-')})", [kind])
            for kind, row in KINDS.items()
        ),
        ("all", list(KINDS)),
    ]:
        tasks = [(kind, project.language) for kind in keys for project in PROJECTS]
        finished = sum(not now[task].problem for task in tasks)
        numbers = [
            sum(part(outcomes[task]) for task in tasks)
            for part in (lambda each: each.requests, lambda each: each.prompts)
            for outcomes in (before, now)
        ]
        cells = " | ".join(map(str, numbers))
        rows.append(f"| {title} | {finished} of {len(tasks)} | {cells} |")
    return "\n".join(rows) + "\n"


def format_kind(kind: str, before: Outcomes, now: Outcomes) -> str:
    """Return the section of a kind: what it is, and transcripts of the task that gained most."""
    row = KINDS[kind]
    tasks = [(each, project.language) for each, project in TASKS if each == kind]
    task = max(tasks, key=lambda each: before[each].requests - now[each].requests)
    lines = [f"\n## {row.title}", "", *_wrap(row.description), ""]
    for title, outcomes in (("Before", before), ("Now", now)):
        outcome = outcomes[task]
        lines += [f"{title}, {task[1]}, {outcome.requests} requests:", "", "```"]
        lines += [format_transcript(outcome), "```", ""]
    return "\n".join(lines)


def record(before: Outcomes, now: Outcomes) -> list[str]:
    """Record the requests where they are fewer; return the tasks that take more than recorded.

    A task that takes another number with the program before has changed, so it is recorded again.
    """
    old = read_requests() if FILE.exists() else {}
    rows, more = dict[tuple[str, str], Requests](), list[str]()
    for task, outcome in now.items():
        is_same = task in old and old[task].before == before[task].requests
        most = old[task].now if is_same else outcome.requests
        rows[task] = Requests(before[task].requests, min(most, outcome.requests))
        if outcome.requests > most:
            more.append(f"{' '.join(task)}: {outcome.requests}, recorded {most}")
    write_requests(rows)
    return more


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, 100)


def main() -> int:
    """Measure both programs and write the files; 1 if a task is not finished or takes more."""
    with _checkout(BEFORE) as tree:
        before = measure(tree)
    now = measure(ROOT)
    sections = (format_kind(kind, before, now) for kind in KINDS)
    PAGE.write_text("".join((_HEAD, format_table(before, now), *sections, _TAIL)), "utf-8")
    problems = record(before, now)
    problems += [f"{' '.join(task)}: {each.problem}" for task, each in now.items() if each.problem]
    sys.stderr.writelines(f"{each}\n" for each in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
