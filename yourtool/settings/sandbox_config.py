"""Settings and levels of the sandbox."""

import sys
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

HostSpec: TypeAlias = Annotated[
    str, Meta(pattern=r"^(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+(?::[0-9]{1,5})?$")
]
"""A host as in rules: `example.org`, `*.example.org`, `example.org:8443`."""
Port: TypeAlias = Annotated[int, Meta(ge=1024, le=65_535)]
"""A port; those below belong to the system."""
AbsolutePath: TypeAlias = Annotated[str, Meta(pattern=r"^[/~]")]


class SandboxLevel(StrEnum):
    """What a sandbox enforces, from nothing to everything."""

    NONE = "none"
    LANDLOCK = "landlock"
    PARTIAL = "partial"
    """As full, but the workspace is a home directory, so only known secrets in it are hidden."""
    FULL = "full"

    @property
    def rank(self) -> int:
        """A number for comparisons."""
        return list(SandboxLevel).index(self)


class SandboxConfig(Struct, frozen=True):
    """The sandbox of commands."""

    enabled: Annotated[
        bool | None,
        Meta(
            description="Run the commands of models in a sandbox; by default on Linux, and not on"
            " macOS, where it is untested. Where it cannot be used, every command asks, or is"
            " refused. `require` and `auto_allow` switch it on as well.",
            examples=[False],
        ),
    ] = None
    fallback: Annotated[
        Literal["landlock", "none"],
        Meta(
            description="Where the full sandbox does not work: `landlock`, in which commands cannot"
            " create files directly in the workspace, or `none`."
        ),
    ] = "none"
    require: Annotated[
        Literal["full", "landlock", "none"],
        Meta(
            description="The weakest sandbox in which rules and modes allow a command; without it,"
            " every command needs an approval."
        ),
    ] = "none"
    auto_allow: Annotated[
        bool,
        Meta(
            description="Allow commands in a full sandbox without a network unasked, in every"
            " folder."
        ),
    ] = False
    writable: Annotated[
        tuple[AbsolutePath, ...],
        Meta(
            description="Directories besides the workspace that commands can write, such as caches"
            " of build tools.",
        ),
    ] = ()
    readable: Annotated[
        tuple[AbsolutePath, ...],
        Meta(
            description="Files and directories of your home directory that commands can read"
            " besides the usual toolchains and caches.",
        ),
    ] = ()
    hidden: Annotated[
        tuple[AbsolutePath, ...],
        Meta(
            description="Files and directories of your home directory that commands cannot see,"
            " although they are on the list of toolchains and caches.",
        ),
    ] = ()
    hosts: Annotated[
        tuple[HostSpec, ...],
        Meta(
            description="Hosts that commands can reach, on the ports 80 and 443: `example.org`,"
            " `*.example.org`; empty: no network.",
        ),
    ] = ()
    ports: Annotated[
        tuple[Port, ...],
        Meta(
            description="Ports of 127.0.0.1 of this machine that commands in a full sandbox reach"
            " at the same address, such as 5432 of a database.",
        ),
    ] = ()
    outside: Annotated[
        tuple[str, ...],
        Meta(
            description="Commands that run outside the sandbox, with all your rights, as in rules:"
            " `git push *`, `docker *`; a list of commands, if each of them is named.",
        ),
    ] = ()

    @property
    def services(self) -> tuple[str, ...]:
        """The addresses of the ports of this machine."""
        return tuple(f"127.0.0.1:{port}" for port in dict.fromkeys(self.ports))

    @property
    def is_used(self) -> bool:
        """Whether commands run in a sandbox, where one works."""
        by_default = sys.platform == "linux"
        is_enabled = by_default if self.enabled is None else self.enabled
        return is_enabled or self.auto_allow or self.require != "none"

    @property
    def uses_landlock(self) -> bool:
        """Whether Landlock is used where the full sandbox does not work."""
        return "landlock" in (self.fallback, self.require)
