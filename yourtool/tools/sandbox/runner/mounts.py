"""The mounts of an enclosure: the last ones are made here, and all are compared with the plan."""

import os
import stat
from typing import Any

import kernel

_SCRATCH = "/run"
"""Where the memory for caches is for a moment; it is empty."""


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
        verify(setup["mounts"])
        return setup["overlays"]
    # What is mounted on the machine later does not appear here.
    kernel.mount("none", "/", None, kernel.RECURSIVE | kernel.PRIVATE)
    verify(setup["mounts"])
    failed = _add_overlays(setup["overlays"], setup["scratch_bytes"])
    for path in setup["masks"]:
        _mask(path)
    return failed


def verify(mounts: list[dict[str, Any]]) -> None:
    """Compare every mount with the intended one.

    Raises:
        SetupError: a mount is missing, leads elsewhere or can be written.
    """
    found = read_mounts()
    intended = {each["path"]: each for each in mounts}
    for path, each in intended.items():
        if path not in found:
            raise SetupError(f"`{path}` is not mounted")
        options, kind = found[path]
        status = os.lstat(path)
        if each["inode"] is None:
            if kind != "tmpfs":
                raise SetupError(f"`{path}` is not private")
        elif [status.st_dev, status.st_ino] != [each["device"], each["inode"]]:
            raise SetupError(f"another file is at `{path}`")
        elif "rw" in options and not each["is_writable"]:
            raise SetupError(f"`{path}` is mounted with other rights")
    for path, (options, _) in found.items():
        is_known = path in intended or path in ("/dev", "/proc") or path.startswith("/dev/")
        if "rw" in options and not is_known:
            raise SetupError(f"`{path}` can be written")


def read_mounts() -> dict[str, tuple[list[str], str]]:
    """Return the options and the file system of the uppermost mount at each path.

    https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
    """
    found = dict[str, tuple[list[str], str]]()
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            fields = line.split(b" ")
            path = fields[4].decode("unicode_escape").encode("latin-1")
            kind = fields[fields.index(b"-") + 1].decode()
            found[os.fsdecode(path)] = (fields[5].decode().split(","), kind)
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
