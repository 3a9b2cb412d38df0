"""Tasks of clumsy models in repositories, done with the program as a user would start it."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tests.e2e.clumsy_models import FIND_CODENAME, FIND_OWNER, KINDS, SERVE, get_prompt
from tests.e2e.scripted_model import Exchange
from tests.e2e.task_projects import (
    CODENAME,
    OWNER,
    PROJECTS,
    Project,
    build_repository,
    python_path,
)
from tests.e2e.terminal import ROOT
from tests.provider_server import ProviderServer
from tests.sandbox_here import get_variables

MOST_REQUESTS = 60
MOST_PROMPTS = 8
CONTINUE = "It is not finished. Continue."
TASKS = [
    (kind, PROJECTS[(number + turn) % len(PROJECTS)])
    for number, kind in enumerate(KINDS)
    for turn in range(len(PROJECTS))
]
"""Every fifth task, from the first, is of another kind, and the projects change."""


class Outcome(Struct, frozen=True):
    """How a task ended."""

    prompt: str
    problem: str
    """What is not done; empty if everything is."""
    requests: int
    prompts: int
    """Of the user: one, and one for each time that the model stopped too early."""
    exchanges: Sequence[Exchange] = ()


def run_task(kind: str, project: Project, folder: Path, tree: Path = ROOT) -> Outcome:
    """Let a clumsy model do a task with the program of a source tree."""
    workspace, home = folder / "project", folder / "home"
    workspace.mkdir(parents=True)
    home.mkdir()
    build_repository(project, workspace)
    model, row = KINDS[kind].build(project), KINDS[kind]
    prompt = get_prompt(row, project)
    with ProviderServer(answer=model.answer) as server:
        places = {"YOURTOOL_HOME": str(home), "HOME": str(home)}
        environment = {**server.environment, **places, **get_variables()}
        arguments = ["-p", prompt, "-m", row.model_name]
        for prompts in range(1, MOST_PROMPTS + 1):  # noqa: B007 - counted
            run_program(arguments, workspace, environment, tree)
            problem = find_problem(prompt, project, workspace)
            if not problem or model.is_done:
                break
            arguments = ["-p", CONTINUE, "-c"]
        return Outcome(prompt, problem, len(server.requests), prompts, tuple(model.exchanges))


def run_program(
    arguments: Sequence[str],
    workspace: Path,
    environment: dict[str, str],
    tree: Path = ROOT,
    seconds: float = 110,
) -> subprocess.CompletedProcess[str]:
    """Run `yourtool -p` in a workspace without questions."""
    options = ("--mode", "auto", "--max-turns", str(MOST_REQUESTS))
    return subprocess.run(
        [sys.executable, "-P", "-m", "yourtool", *arguments, *options],
        cwd=workspace,
        env={**environment, "PATH": python_path(), "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=seconds,
    )


def find_problem(prompt: str, project: Project, workspace: Path, is_exact: bool = True) -> str:
    """Return what is not done of a task, or an empty text.

    `is_exact`: the repaired files have to be those of the project; otherwise its test decides.
    """
    if left := _find_running_servers(workspace):
        return f"servers are running: {left}"
    files = project.files
    if prompt in (FIND_CODENAME, FIND_OWNER, SERVE):
        answer = _read_words(workspace / "answer.txt")
        answers = {FIND_CODENAME: [CODENAME], FIND_OWNER: [OWNER]}
        expected = answers.get(prompt) or _read_words(workspace / "asked.log")
        if " ".join(answer) not in expected:
            return f"answer.txt has {' '.join(answer) or 'nothing'}"
    else:
        files = project.repaired
        if not is_exact:
            files = {name: files[name] for name in files.keys() - {x.path for x in project.faults}}
        environment = {**os.environ, "PATH": python_path()}
        test = subprocess.run(
            project.test.split(), cwd=workspace, env=environment, capture_output=True
        )
        if test.returncode != 0:
            return f"{project.test} fails"
    changed = [name for name, text in files.items() if (workspace / name).read_text() != text]
    return f"wrong content: {', '.join(changed)}" if changed else ""


def _read_words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _find_running_servers(workspace: Path) -> list[str]:
    """Return the servers that run although the program has ended, after some time to end."""
    left = list[str]()
    for _ in range(100):
        left = [each.name for each in Path("/proc").iterdir() if _is_in(each, workspace)]
        if not left:
            break
        time.sleep(0.02)
    return left


def _is_in(process: Path, workspace: Path) -> bool:
    """Return True if a process works in a directory; in the sandbox it has another number."""
    try:
        return (process / "cwd").readlink().is_relative_to(workspace)
    except OSError:
        return False
