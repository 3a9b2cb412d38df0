"""Chooses the level of the sandbox: the strongest one that was measured to work here.

Every session with a sandbox imports this module, and its first command the others.
"""

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from yourtool.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.process import ShellCommand
from yourtool.tools.sandbox import confinement, layout, probes

if TYPE_CHECKING:
    from yourtool.tools.sandbox.confinement import Means
    from yourtool.tools.sandbox.probes import ProbeResult


class Measurement(Struct, frozen=True):
    """The level that was measured in this process, and why none is stronger."""

    level: SandboxLevel
    reasons: tuple[str, ...] = ()


class LevelMeter:
    """Measures the level once per process; thread-safe."""

    def __init__(
        self,
        config: SandboxConfig,
        own: Sequence[Path] = (),
        find: "Callable[[], Means] | None" = None,
    ) -> None:
        """`own`: the program's directories; `find` replaces `find_means`."""
        self._config = config
        self._own = tuple(own)
        self._find = find
        self._lock = threading.Lock()
        self._measured: Measurement | None = None

    @property
    def measured(self) -> Measurement | None:
        """The measured level; None before the measurement."""
        return self._measured

    def measure(self) -> Measurement:
        """Return the level that works here; blocks for some tenths of a second at first."""
        with self._lock:
            if self._measured is None:
                self._measured = self._run()
            return self._measured

    def _run(self) -> Measurement:
        if not self._config.is_used:
            return Measurement(SandboxLevel.NONE, ("it is switched off: `[sandbox] enabled`",))
        hidden, reasons = layout.find_hidden(self._own), list[str]()
        means = (self._find or confinement.find_means)()
        if (reason := self._try(SandboxLevel.FULL, means, hidden)) is None:
            return Measurement(SandboxLevel.FULL)
        reasons.append(f"full: {reason}")
        if not self._config.uses_landlock:
            return Measurement(SandboxLevel.NONE, (*reasons, "landlock: not chosen in `[sandbox]`"))
        if (reason := self._try(SandboxLevel.LANDLOCK, means, hidden)) is None:
            return Measurement(SandboxLevel.LANDLOCK, tuple(reasons))
        return Measurement(SandboxLevel.NONE, (*reasons, f"landlock: {reason}"))

    def _try(self, level: SandboxLevel, means: "Means", hidden: tuple[Path, ...]) -> str | None:
        """Return why a level does not work here, or None if it does."""
        if (missing := confinement.find_missing(level, means)) is not None:
            return missing
        result = probe_level(level, means, hidden)
        if result.problem is not None:
            return f"it does not work here: {result.problem}"
        leaks = sorted(probes.find_broken_claims(level, result))
        return f"it does not prevent: {', '.join(leaks)}" if leaks else None


def probe_level(
    level: SandboxLevel, means: "Means", hidden: tuple[Path, ...] = ()
) -> "ProbeResult":
    """Run the probes in a sandbox of this level; `none` runs them without one."""
    with (
        probes.build_fixture(hidden, confinement.find_interpreter()) as fixture,
        ExitStack() as stack,
    ):

        def start(arguments: list[str]) -> subprocess.Popen[str]:
            command = ShellCommand(
                tuple(arguments),
                fixture.layout.workspace,
                {"PATH": os.defpath, "TMPDIR": str(fixture.layout.temporary)},
            )
            if level is not SandboxLevel.NONE:
                command = stack.enter_context(
                    confinement.confine(command, fixture.layout, level, means)
                )
            return subprocess.Popen(
                command.arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=command.directory,
                env=dict(command.environment),
                pass_fds=command.descriptors,
                text=True,
                start_new_session=True,
            )

        return probes.run_probes(fixture, start)
