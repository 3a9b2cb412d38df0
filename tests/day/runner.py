"""Runs commands in a project twice: in a plain shell, and through the program."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.day.places import Place, make_place
from tests.day.refusals import find_refusal
from tests.day.sessions import Run
from tests.day.sites import Site
from tests.day.trees import compare, read_tree

ROOT = Path(__file__).parents[2]
SECONDS = 60
_SHELL = ("/bin/bash", "--noprofile", "--norc", "-c")


class Cell(Struct, frozen=True):
    """The verdict on one command in one project."""

    project: str
    command: str
    verdict: str
    """`equal`, `refusal` or `different`."""
    code: int
    """The exit code in the shell."""
    differences: Sequence[str] = ()
    questions: Sequence[str] = ()
    text: str = ""
    """The text for the model, if the results differ."""


def run_in_shell(place: Place, line: str) -> int:
    """Run a command as a person does, and return its exit code."""
    return subprocess.run(
        (*_SHELL, line),
        cwd=place.workspace,
        env=place.site.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    ).returncode


class Sessions:
    """The process that runs commands in sessions; use it in a `with` statement."""

    def __init__(self, place: Place) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", "tests.day.sessions", str(place.workspace)),
            cwd=ROOT,
            env=place.site.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Sessions":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=SECONDS)
        assert self._process.returncode == 0

    def run(self, line: str) -> Run:
        """Run a command through the `shell` tool."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(line)}\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Run)


def run_day(
    name: str, project: Callable[[Site], Path], commands: Mapping[str, str]
) -> Iterable[Cell]:
    """Yield the verdict on each command in a project."""
    with make_place(project) as place, Sessions(place) as sessions:
        for command, line in commands.items():
            place.set_back()
            code = run_in_shell(place, line)
            tree = read_tree(place.site)
            place.set_back()
            run = sessions.run(line)
            found = compare(tree, read_tree(place.site))
            if code != run.code:
                found.insert(0, f"exit code {run.code} instead of {code}")
            verdict = _judge(name, command, found, run)
            text = run.text if found else ""
            yield Cell(name, command, verdict, code, found, run.questions, text)


def _judge(project: str, command: str, found: Sequence[str], run: Run) -> str:
    if not found:
        return "equal"
    sentence = find_refusal(project, command)
    return "refusal" if sentence is not None and sentence in run.text else "different"
