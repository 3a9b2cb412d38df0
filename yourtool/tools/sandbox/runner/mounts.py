"""Mounts of an enclosure.

The module makes the last mounts, and compares all of them with the plan.
"""

import os
import stat
from collections.abc import Iterable
from typing import Any, NamedTuple

import kernel

_SCRATCH = "/run"
"""Where the memory for caches is for a moment; it is empty."""


class Mounted(NamedTuple):
    """The uppermost mount at a path."""

    number: str
    device: str
    options: list[str]
    kind: str


class SetupError(Exception):
    """The enclosure is not as it was intended."""


class MissingRightsError(SetupError):
    """Another profile of the system keeps the runner from changing its mounts."""


def set_up(setup: dict[str, Any], *, has_rights: bool) -> list[str]:
    """Verify and finish the mounts; return the caches that could not be made writable.

    `has_rights`: the mounts are those of this process alone, and it may change them.

    Raises:
        SetupError: a mount is not the intended one.
        OSError: the kernel refused something.
    """
    if not has_rights:
        if setup["masks"]:
            raise MissingRightsError("sockets of other programs cannot be covered")
        if uncovered := verify(setup["mounts"], setup["host"]):
            raise SetupError(f"`{uncovered[0]}` can be written")
        return setup["overlays"]
    # What is mounted on the machine later does not appear here.
    kernel.mount("none", "/", None, kernel.RECURSIVE | kernel.PRIVATE)
    for path in verify(setup["mounts"], setup["host"]):
        kernel.mount("tmpfs", path, "tmpfs", kernel.READ_ONLY, "size=4k,mode=0555")
    failed = _add_overlays(setup["overlays"], setup["scratch_bytes"])
    for path in setup["masks"]:
        _mask(path)
    return failed


def verify(mounts: list[dict[str, Any]], host: list[str]) -> list[str]:
    """Compare every mount with the intended one; return the paths that have to be covered.

    `host`: the lines of the host's `mountinfo` from before the mounts were made.

    Raises:
        SetupError: a mount is missing, leads elsewhere or can be written.
    """
    with open("/proc/self/mountinfo", "rb") as file:
        found = parse_mounts(file)
    intended = {each["path"]: each for each in mounts}
    for path, each in intended.items():
        _verify_intended(each, found.get(path))
    earlier = parse_mounts(map(os.fsencode, host))
    uncovered = list[str]()
    for path, mounted in found.items():
        is_known = path in intended or path in ("/dev", "/proc") or path.startswith("/dev/")
        if is_known or "rw" not in mounted.options or not _is_visible(path, mounted):
            continue
        was_there = path in earlier and earlier[path].device == mounted.device
        if was_there and _is_volume(path, intended):
            continue
        # bubblewrap leaves a mount as it is that this user may not use.
        if not mounted.kind.startswith("fuse"):
            raise SetupError(f"`{path}` can be written")
        uncovered.append(path)
    return uncovered


def _verify_intended(intended: dict[str, Any], found: Mounted | None) -> None:
    path = intended["path"]
    if found is None:
        raise SetupError(f"`{path}` is not mounted")
    status = os.lstat(path)
    if intended["inode"] is None:
        if found.kind != "tmpfs":
            raise SetupError(f"`{path}` is not private")
    elif [status.st_dev, status.st_ino] != [intended["device"], intended["inode"]]:
        raise SetupError(f"another file is at `{path}`")
    elif "rw" in found.options and not intended["is_writable"]:
        raise SetupError(f"`{path}` is mounted with other rights")


def _is_volume(path: str, intended: dict[str, dict[str, Any]]) -> bool:
    """Return whether a directory that is meant to be written contains the mount."""
    parent = os.path.dirname(path)
    while parent not in intended and parent != "/":
        parent = os.path.dirname(parent)
    outer = intended.get(parent)
    return outer is not None and outer["is_writable"] and outer["inode"] is not None


def _is_visible(path: str, mounted: Mounted) -> bool:
    """Return whether the path leads to this mount; another one may cover a parent."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    try:
        with open(f"/proc/self/fdinfo/{descriptor}") as file:
            return f"mnt_id:\t{mounted.number}\n" in file
    finally:
        os.close(descriptor)


def parse_mounts(lines: Iterable[bytes]) -> dict[str, Mounted]:
    """Return the uppermost mount at each path.

    https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
    """
    found = dict[str, Mounted]()
    for line in lines:
        fields = line.split(b" ")
        path = fields[4].decode("unicode_escape").encode("latin-1")
        number, device, kind = fields[0], fields[2], fields[fields.index(b"-") + 1]
        options = fields[5].decode().split(",")
        found[os.fsdecode(path)] = Mounted(number.decode(), device.decode(), options, kind.decode())
    return found


def _add_overlays(paths: list[str], size: int) -> list[str]:
    """Let caches be written without changing them; what is written ends with the enclosure."""
    if not paths:
        return []
    failed, flags = list[str](), kernel.NO_SUID | kernel.NO_DEVICES
    kernel.mount("tmpfs", _SCRATCH, "tmpfs", flags, f"size={size},mode=0755")
    try:
        for number, path in enumerate(paths):
            upper, work = f"{_SCRATCH}/u{number}", f"{_SCRATCH}/w{number}"
            os.mkdir(upper, stat.S_IMODE(os.stat(path).st_mode))
            os.mkdir(work)
            lower = path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")
            data = f"lowerdir={lower},upperdir={upper},workdir={work},userxattr"
            try:
                kernel.mount("overlay", path, "overlay", flags, data)
            except OSError:
                failed.append(path)  # an older kernel
    finally:
        kernel.detach(_SCRATCH)
    return failed


def _mask(path: str) -> None:
    """Cover a socket of another program; one that is gone needs no cover."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            kernel.mount(os.devnull, f"/proc/self/fd/{descriptor}", None, kernel.BIND)
    finally:
        os.close(descriptor)
