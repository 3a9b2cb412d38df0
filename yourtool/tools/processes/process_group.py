"""Process groups."""

import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any


class Processes:
    """Starts each process in a new session; `kill` ends all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._killed = False

    def start(self, command: Sequence[str | bytes], **options: Any) -> subprocess.Popen[bytes]:
        """Start a process whose output is read through a pipe.

        Raises:
            BrokenPipeError: `kill` was already called.
        """
        with self._lock:
            if self._killed:
                raise BrokenPipeError
            process = subprocess.Popen[bytes](
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                **options,
            )
            self._running.append(process)
        return process

    def kill(self) -> None:
        """Kill all processes and prevent further starts."""
        with self._lock:
            self._killed = True
            for process in self._running:
                process.kill()

    def close(self) -> None:
        """Kill and reap all processes; blocking."""
        self.kill()
        for process in self._running:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
