"""Tasks of clumsy models in repositories, done with the program as a user would start it."""

import os
import subprocess
import sys
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
        environment = {**server.environment, "YOURTOOL_HOME": str(home), "HOME": str(home)}
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


def find_problem(prompt: str, project: Project, workspace: Path) -> str:
    """Return what is not done of a task, or an empty text."""
    if left := _running_servers(workspace):
        return f"servers are running: {left}"
    files = project.files
    if prompt in (FIND_CODENAME, FIND_OWNER, SERVE):
        answer = workspace / "answer.txt"
        text = answer.read_text().strip() if answer.exists() else "nothing"
        asked = workspace / "asked.log"
        answers = asked.read_text().split() if asked.exists() else []
        expected = {FIND_CODENAME: [CODENAME], FIND_OWNER: [OWNER], SERVE: answers}[prompt]
        if text not in expected:
            return f"answer.txt has {text}"
    else:
        files = project.repaired
        environment = {**os.environ, "PATH": python_path()}
        test = subprocess.run(
            project.test.split(), cwd=workspace, env=environment, capture_output=True
        )
        if test.returncode != 0:
            return f"{project.test} fails"
    changed = [name for name, text in files.items() if (workspace / name).read_text() != text]
    return f"wrong content: {', '.join(changed)}" if changed else ""


def _running_servers(workspace: Path) -> list[int]:
    started = workspace / "started.log"
    pids = [int(each) for each in started.read_text().split()] if started.exists() else []
    return [pid for pid in pids if _is_running(pid)]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
