"""Levels that confine single commands.

These are Landlock and the profile of macOS; the full sandbox of Linux is an enclosure.
"""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.sandbox import bubblewrap, landlock, seatbelt, seccomp
from yourtool.tools.sandbox.enclosure import hold
from yourtool.tools.sandbox.home.caches import build_cache_variables
from yourtool.tools.sandbox.layout import Layout

_LOADER_VARIABLES = ("LD_", "DYLD_", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH")
"""Beginnings of the variables that load code into any program, from the workspace as well."""


class Means(Struct, frozen=True):
    """The programs and features of this machine."""

    bubblewrap: str | None
    seatbelt: str | None
    landlock_abi: int


def find_means() -> Means:
    """Return what this machine has."""
    is_linux = sys.platform == "linux"
    return Means(
        bubblewrap.find_bubblewrap() if is_linux else None,
        seatbelt.find_seatbelt(),
        landlock.find_abi(),
    )


def find_missing(level: SandboxLevel, means: Means) -> str | None:
    """Return what this machine lacks for a level, or None."""
    if sys.platform == "darwin":
        if level is SandboxLevel.FULL and means.seatbelt is not None:
            return None
        return "`sandbox-exec` was not found"
    if not seccomp.is_supported():
        return "there is no filter for this kind of processor"
    if level is SandboxLevel.FULL:
        if means.bubblewrap is None:
            return bubblewrap.explain_absence()
        return None
    if means.landlock_abi < landlock.MIN_ABI:
        return (
            f"the kernel has Landlock {means.landlock_abi}, at least {landlock.MIN_ABI} is needed"
        )
    return None


def find_interpreter() -> tuple[Path, ...]:
    """Return the directories of this Python and this program."""
    found = (sys.prefix, sys.base_prefix, os.environ.get("VIRTUAL_ENV"), Path(__file__).parents[2])
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in found if path)
    return tuple(path for path in real if path.is_dir() and path != Path("/usr"))


def confine(
    command: ShellCommand,
    layout: Layout,
    temporary: Path,
    level: SandboxLevel,
    means: Means,
    stack: ExitStack,
) -> ShellCommand:
    """Return the command line that runs a command at a level without an enclosure.

    `stack`: closes what the command is given.
    """
    environment, inner = _split_environment(command)
    descriptors = ()
    if level is SandboxLevel.FULL:
        assert means.seatbelt is not None, "the level was measured with it"
        start = seatbelt.build_arguments(means.seatbelt, layout, temporary)
    else:
        policy = landlock.build_policy(layout, temporary, seccomp.build_filter(()))
        descriptors = (hold(policy, stack),)
        start = landlock.build_arguments(descriptors[0])
    writable = (layout.workspace, *layout.writable)
    return replace(
        command,
        arguments=(*start, *inner, *command.arguments),
        environment={
            **environment,
            **build_cache_variables(environment, str(temporary), writable),
            "TMPDIR": str(temporary),
            "YOURTOOL_SANDBOX": level.value,
        },
        descriptors=descriptors,
    )


def _split_environment(command: ShellCommand) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables of a command, and the start of its line that sets the others inside.

    What starts the sandbox is still outside of it, and must not load code of the workspace.
    """
    passed = dict(command.environment)
    late = tuple(each for each in passed if each.startswith(_LOADER_VARIABLES))
    settings = tuple(f"{name}={passed.pop(name)}" for name in late)
    return passed, ("/usr/bin/env", *settings) if settings else ()
