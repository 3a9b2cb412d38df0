"""Runs of the program without a terminal, with every default, against a scripted provider."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.terminal import YOURTOOL
from tests.provider_server import ProviderServer, Reply


def shell(command: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return a call that runs a command."""
    return "shell", {"command": command, **arguments}


def start(work: Path, home: Path, server: ProviderServer, *arguments: str) -> subprocess.Popen[str]:
    """Start a run in a workspace; its output has an event on each line."""
    environment = _strip(os.environ) | server.environment | {"HOME": str(home)}
    environment["YOURTOOL_HOME"] = str(home / ".yourtool")
    return subprocess.Popen(
        (*YOURTOOL, "-p", "go", "--mode", "auto", "--output-format", "stream-json", *arguments),
        cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _strip(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in variables.items()
        if not name.startswith(("XDG_", "YOURTOOL_"))
    }


def finish(run: subprocess.Popen[str]) -> tuple[int, list[dict[str, Any]]]:
    """Wait for the end of a run; return its exit code and its events."""
    output, _ = run.communicate(timeout=600)
    return run.returncode, [json.loads(line) for line in output.splitlines()]


def find_levels(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the level of the sandbox in which each command ran."""
    return [
        each.get("sandbox", "none")
        for each in events
        if each["type"] == "tool.called" and each["tool_name"] == "shell"
    ]


class Model:
    """Answers each run with its own replies; a run is known by the number of its requests."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies

    def answer(self, _path: str, body: dict[str, Any]) -> Reply:
        """Return the reply to a request; one without tools is for a title."""
        if not body.get("tools"):
            return Reply("Title")
        said = sum(each["role"] == "assistant" for each in body["messages"])
        return self._replies[said] if said < len(self._replies) else Reply("Done.")
