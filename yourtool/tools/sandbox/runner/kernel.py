"""Calls of the kernel."""

import ctypes
import os
import stat
import struct

NEW_MOUNTS, NEW_PIDS, NEW_USER = 0x00020000, 0x20000000, 0x10000000
NEW_NETWORK = 0x40000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
CAP_SYS_ADMIN, CAP_SETPCAP = 21, 8
FILTER_MODE = 2
_DETACH = 2
_DROP_BOUNDING, _CLEAR_AMBIENT, _AMBIENT = 24, 4, 47
_SET_SECCOMP, _NO_NEW_PRIVILEGES = 22, 38
_CAPABILITY_VERSION, _LAST_CAPABILITY = 0x20080522, 63
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH, _OLDEST_USED = 1, 1, 2
EXECUTE, WRITE_FILE, READ_FILE, READ_DIRECTORY = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_RIGHTS_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
_SIGNALS, _OLDEST_WITH_SIGNALS = 1 << 1, 6
_SET_DUMPABLE, _SET_SUBREAPER = 4, 36

_libc = ctypes.CDLL(None, use_errno=True)


def _check(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Move this process, or its next children, to new namespaces.

    Raises:
        OSError: the kernel refused it.
    """
    _check("unshare", _libc.unshare(flags))


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount a file system, or change a mount.

    Raises:
        OSError: the kernel refused it.
    """
    kind_ = None if kind is None else kind.encode()
    places = (os.fsencode(source), os.fsencode(target))
    result = _libc.mount(*places, kind_, ctypes.c_ulong(flags), os.fsencode(data))
    _check(f"mount {target}", result)


def detach(target: str) -> None:
    """Remove a mount from its path; what uses it can continue.

    Raises:
        OSError: the kernel refused it.
    """
    _check(f"umount {target}", _libc.umount2(os.fsencode(target), _DETACH))


def keep_rights(kept: tuple[int, ...]) -> None:
    """Keep only some capabilities of this process.

    Raises:
        OSError: the kernel refused it.
    """
    bits = sum(1 << each for each in kept)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("=6I", bits, bits, bits, 0, 0, 0)
    _check("prctl", _libc.prctl(_AMBIENT, _CLEAR_AMBIENT, 0, 0, 0))
    for each in range(_LAST_CAPABILITY + 1):
        if each not in kept:
            _libc.prctl(_DROP_BOUNDING, each, 0, 0, 0)  # fails for those that there are not
    _check("capset", _libc.capset(header, sets))


def adopt_orphans() -> None:
    """Become the parent of the descendants whose own parent ends, and hide the own memory.

    Raises:
        OSError: the kernel refused it.
    """
    _check("prctl", _libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0))
    _check("prctl", _libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0))


def find_landlock_abi() -> int:
    """Return the version of Landlock; negative without it."""
    return _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))


def create_ruleset(handled: int, *, scopes: int = 0) -> int:
    """Return a Landlock ruleset that forbids the handled rights where no rule allows them.

    https://docs.kernel.org/userspace-api/landlock.html

    Raises:
        OSError: the kernel refused it.
    """
    attributes = struct.pack("=QQQ", handled, 0, scopes) if scopes else struct.pack("=Q", handled)
    size = ctypes.c_size_t(len(attributes))
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, size, ctypes.c_uint32(0))
    return _check("landlock_create_ruleset", ruleset)


def add_rule(ruleset: int, descriptor: int, rights: int) -> None:
    """Allow rights at an open path, and below it; closes the descriptor.

    Raises:
        OSError: the kernel refused it.
    """
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _RIGHTS_OF_FILES
    rule = struct.pack("=Qi", rights, descriptor)
    added = _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0))
    os.close(descriptor)
    _check("landlock_add_rule", added)


def build_ruleset(paths: list[str], *, keeps_signals: bool = False) -> int:
    """Return a Landlock ruleset that allows writing below some paths; -1: the kernel has none.

    The mounts are read-only elsewhere, but that does not keep pipes with a name from being written.
    `keeps_signals`: signals reach only processes with the same restriction.

    Raises:
        OSError: a path is gone, or the kernel refused it.
    """
    if find_landlock_abi() < (_OLDEST_WITH_SIGNALS if keeps_signals else _OLDEST_USED):
        return -1
    ruleset = create_ruleset(WRITE_FILE | REFER, scopes=_SIGNALS if keeps_signals else 0)
    for path, rights in (("/", REFER), *((path, WRITE_FILE | REFER) for path in paths)):
        add_rule(ruleset, os.open(path, os.O_PATH), rights)
    return ruleset


def restrict_files(ruleset: int) -> None:
    """Apply a Landlock ruleset to this process, for ever.

    Raises:
        OSError: the kernel refused it.
    """
    _check("prctl", _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check("landlock_restrict_self", _libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))


def restrict_calls(program: bytes) -> None:
    """Apply a filter of system calls to this process, for ever.

    Raises:
        OSError: the kernel refused it.
    """
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _check("prctl", _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check("seccomp", _libc.prctl(_SET_SECCOMP, FILTER_MODE, head, 0, 0))
