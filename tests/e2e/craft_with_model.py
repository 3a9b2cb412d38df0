"""Let a real model do the 40 tasks: `make craft MODEL=provider:model`.

It uses the configuration and the keys of its user, and costs what the model costs.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.e2e.clumsy_models import KINDS, get_prompt
from tests.e2e.clumsy_tasks import TASKS, find_problem, run_program
from tests.e2e.task_projects import Project, build_repository

NO_MODEL = 4
"""The exit code if there is no key, or no such model."""


class Figures(Struct):
    """What tasks took, added up."""

    finished: int = 0
    requests: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0
    """Requests whose cost is unknown."""

    def add(self, result: Mapping[str, Any], is_finished: bool) -> None:
        """Add the result of a run."""
        usage = result["usage"]
        self.finished += is_finished
        self.requests += result["num_requests"]
        self.tokens += usage["input_tokens"] + usage["output_tokens"]
        self.tokens += usage["cached_input_tokens"] + usage["cache_creation_input_tokens"]
        self.cost += Decimal(result["cost_usd"])
        self.unpriced += result["unpriced_requests"]

    def __str__(self) -> str:
        text = f"{self.requests} requests, {self.tokens:,} tokens, ${self.cost:.4f}"
        return f"{text} without {self.unpriced} requests" if self.unpriced else text


def run_task(model: str, kind: str, project: Project, folder: Path) -> tuple[dict[str, Any], str]:
    """Let a model do a task; return the result of the run, and what is not done."""
    workspace = folder / "project"
    workspace.mkdir(parents=True)
    build_repository(project, workspace)
    prompt = get_prompt(KINDS[kind], project)
    ended = run_program(
        ["-p", prompt, "-m", model, "--output-format", "json", "--session-dir", str(folder)],
        workspace,
        dict(os.environ),
        seconds=1_800,
    )
    if not ended.stdout:
        return {"exit_code": ended.returncode, "error": {"message": ended.stderr}}, "not started"
    result = json.loads(ended.stdout)
    problem = find_problem(prompt, project, workspace, is_exact=False)
    if problem and result["error"]:
        problem += f": {result['error']['message']}"
    return result, problem


def main(arguments: Sequence[str], tasks: Sequence[tuple[str, Project]] = TASKS) -> int:
    """Print how a model does the tasks; 0 if it finishes all of them."""
    [model] = arguments
    total = Figures()
    with tempfile.TemporaryDirectory() as folder:
        for kind, project in tasks:
            name = f"{KINDS[kind].title}, {project.language}"
            place = Path(folder) / kind / project.language
            try:
                result, problem = run_task(model, kind, project, place)
            except subprocess.TimeoutExpired:
                sys.stdout.write(f"{name}: not finished after 30 minutes\n")
                continue
            if result["exit_code"] in (2, NO_MODEL):
                reason = result["error"]["message"].strip()
                sys.stderr.write(f"The tasks need a model: {reason}\n")
                return NO_MODEL
            figures = Figures()
            figures.add(result, not problem)
            total.add(result, not problem)
            sys.stdout.write(f"{name}: {problem or 'finished'}; {figures}\n")
    sys.stdout.write(f"{total.finished} of {len(tasks)} tasks finished; {total}\n")
    return 0 if total.finished == len(tasks) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
