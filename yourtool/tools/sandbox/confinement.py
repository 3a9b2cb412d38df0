"""Builds the command line that runs a command in a sandbox of one level."""

import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.sandbox_config import SandboxLevel
from yourtool.tools.process import ShellCommand
from yourtool.tools.sandbox import bubblewrap, landlock, seatbelt, seccomp
from yourtool.tools.sandbox.caches import build_cache_variables
from yourtool.tools.sandbox.layout import Layout
from yourtool.tools.sandbox.mount_points import hold_mount_points

TEMPORARY_INSIDE = "/tmp"  # noqa: S108 - the private one of the full sandbox
_SOCKET_VARIABLES = frozenset(
    {
        "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS",
        "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST",
        "CONTAINER_HOST", "XDG_RUNTIME_DIR", "SSH_CONNECTION", "TMUX", "STY",
    }
)  # fmt: skip
"""Variables that name sockets of agents and daemons."""


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
            return "bubblewrap (`bwrap`) is not installed"
        return None
    if means.landlock_abi < landlock.MIN_ABI:
        return (
            f"the kernel has Landlock {means.landlock_abi}, at least {landlock.MIN_ABI} is needed"
        )
    return None


def find_interpreter() -> tuple[Path, ...]:
    """Return the directories of this Python and this program that `/tmp` or `/run` contains."""
    found = (sys.prefix, sys.base_prefix, os.environ.get("VIRTUAL_ENV"), Path(__file__).parents[2])
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in found if path)
    return tuple(path for path in real if bubblewrap.is_private(path) and path.is_dir())


@contextmanager
def confine(
    command: ShellCommand, layout: Layout, level: SandboxLevel, means: Means
) -> Generator[ShellCommand, None, None]:
    """Yield the command line that runs a command in a sandbox.

    Raises:
        OSError: a mount point could not be created.
    """
    environment = {
        name: value for name, value in command.environment.items() if name not in _SOCKET_VARIABLES
    }
    temporary = str(layout.temporary)
    with ExitStack() as stack:
        is_contained = False
        descriptors = ()
        if means.seatbelt is not None and level is SandboxLevel.FULL:
            start = seatbelt.build_arguments(means.seatbelt, layout)
        elif level is SandboxLevel.FULL:
            assert means.bubblewrap is not None, "the level was measured with it"
            stack.enter_context(hold_mount_points(layout.protected))
            existing = tuple(each for each in layout.protected if each.path.exists())
            layout = replace(layout, protected=existing)
            descriptors = (_data(seccomp.build_filter(seccomp.LOCAL_FAMILIES), stack),)
            start = bubblewrap.build_arguments(
                means.bubblewrap, layout, command.directory, descriptors[0]
            )
            temporary, is_contained = TEMPORARY_INSIDE, True
        else:
            policy = landlock.build_policy(layout, seccomp.build_filter(()))
            descriptors = (_data(policy, stack),)
            start = landlock.build_arguments(descriptors[0])
        writable = (layout.workspace, *layout.writable)
        yield replace(
            command,
            arguments=(*start, *command.arguments),
            environment={
                **environment,
                **build_cache_variables(environment, temporary, writable),
                "TMPDIR": temporary,
                "YOURTOOL_SANDBOX": level.value,
            },
            descriptors=descriptors,
            is_contained=is_contained,
        )


def _data(content: bytes, stack: ExitStack) -> int:
    """Return a descriptor from which a child reads `content`."""
    descriptor = os.memfd_create("yourtool", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
