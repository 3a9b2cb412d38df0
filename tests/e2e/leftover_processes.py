"""Leftover processes of a tool call, each harder to find or to end than the previous one."""

import json
import os
import time
from pathlib import Path

SCRIPT = """
stubborn='trap "" TERM HUP INT QUIT; echo $$ > "$0"; exec sleep 60'
sh -c 'echo $$ > normal; exec sleep 60' &
sh -c "$stubborn" stubborn &
setsid env -i /bin/sh -c "$stubborn" own_session &
setsid env -i /bin/sh -c '(trap "" TERM; sh -c "$1" double_fork &)' - "$stubborn"
wait
"""
KINDS = ("normal", "stubborn", "own_session", "double_fork")


def prepare(workspace: Path, home: Path) -> None:
    """Make the demo answer every prompt with a call that starts them all and waits."""
    (workspace / "start.sh").write_text(SCRIPT)
    call = {"call": "shell", "input": {"command": "sh start.sh"}}
    home.mkdir(exist_ok=True)
    (home / "script.json").write_text(json.dumps({"replies": [[call], [{"say": "Done."}]]}))
    (home / "config.toml").write_text(
        'model = "demo:file"\n'
        "[sandbox]\nenabled = false\n"  # its ids of processes mean nothing outside of it
        f"[providers.demo]\nquirks = {{ script = {json.dumps(str(home / 'script.json'))} }}\n"
    )


def wait_until_started(home: Path, seconds: float = 20) -> dict[str, int]:
    """Wait until all of them run in the demo's copy of the workspace; return their ids."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        files = {kind: [*home.glob(f"**/scratch/*/{kind}")] for kind in KINDS}
        if all(found and found[0].read_text().strip() for found in files.values()):
            return {kind: int(found[0].read_text()) for kind, found in files.items()}
        time.sleep(0.02)
    raise AssertionError(f"not started: {[kind for kind, found in files.items() if not found]}")


def is_alive(pid: int) -> bool:
    """Return whether a process runs and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def find_survivors(processes: dict[str, int], seconds: float = 15) -> list[str]:
    """Return the processes that still run after a while, or an empty list as soon as none does."""
    deadline = time.monotonic() + seconds
    while left := [kind for kind, pid in processes.items() if is_alive(pid)]:
        if time.monotonic() > deadline:
            for kind in left:
                os.kill(processes[kind], 9)
            return left
        time.sleep(0.02)
    return []
