"""Starts children of a process that has imported a program, which is faster than an interpreter.

Usage: python -m tests.fork_server MODULE. Each line of standard input is a JSON list: the file for
the output of a child, and the arguments of `main` in the module. The answer is the id of the child.
"""

import importlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


class ForkServer:
    """A process that forks; as a context, it ends with the block."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", module],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def start(self, output: Path, *arguments: object) -> int:
        """Start a child, and return its id."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([str(output), *map(str, arguments)]), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


def kill(pid: int) -> None:
    """Kill a process that is not a child, and wait for its end."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    select.select([descriptor], [], [])
    os.close(descriptor)


def main() -> None:
    run = importlib.import_module(sys.argv[1]).main
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes children that have ended
    for line in sys.stdin:
        output, *arguments = json.loads(line)
        if (pid := os.fork()) == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1)
            run(arguments)
            os._exit(0)
        print(pid, flush=True)  # noqa: T201 - this is what the parent reads


if __name__ == "__main__":
    main()
