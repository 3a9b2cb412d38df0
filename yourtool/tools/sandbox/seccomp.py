"""System call filter.

A process of another architecture and the x32 calls of x86-64 are killed, because the numbers of the
filter would mean other calls there. Calls that reach around the sandbox fail with EPERM: new
namespaces, mounts, kernel keys, io_uring (which makes calls that no filter sees), and input to a
terminal. Tracing fails where a command sees processes that are not its own; the kernel applies the
filter to what a tracer changes (seccomp(2), from 4.8 on). `clone3` fails with ENOSYS, because its
flags are behind a pointer that a filter cannot read; libraries then use `clone`.

https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html
"""

import errno
import platform
import socket
import struct
from collections.abc import Mapping

from msgspec import Struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24
_X32_BIT = 0x40000000
_NAMESPACE_FLAGS = 0x7E020080
"""CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET and -TIME."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""


class _Machine(Struct, frozen=True):
    """The numbers of system calls of one architecture."""

    audit: int
    clone: int
    ioctl: int
    socket: int
    ptrace: int
    denied: tuple[int, ...]
    has_x32: bool = False


_DENIED_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 467)
"""io_uring (425-427) and the newer calls for mounts, the same on all architectures."""
_CLONE3 = 435
_MACHINES: Mapping[str, _Machine] = {
    # https://github.com/torvalds/linux/blob/master/arch/x86/entry/syscalls/syscall_64.tbl
    "x86_64": _Machine(
        0xC000003E, 56, 16, 41, 101,
        # syslog, pivot_root, chroot, acct, mount, umount2, swapon, swapoff, reboot, modules
        (103, 155, 161, 163, 165, 166, 167, 168, 169, 175, 176,
         # quotactl, add_key, request_key, keyctl, unshare, perf_event_open, open_by_handle_at,
         # setns, process_vm_readv and _writev, finit_module, kexec, bpf, userfaultfd
         179, 248, 249, 250, 272, 298, 304, 308, 310, 311, 313, 246, 320, 321, 323),
        has_x32=True,
    ),
    # https://github.com/torvalds/linux/blob/master/include/uapi/asm-generic/unistd.h
    "aarch64": _Machine(
        0xC00000B7, 220, 29, 198, 117,
        (116, 41, 51, 89, 40, 39, 224, 225, 142, 105, 106,
         60, 217, 218, 219, 97, 241, 265, 268, 270, 271, 273, 104, 294, 280, 282),
    ),
}  # fmt: skip

LOCAL_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
"""The sockets that are harmless in a network namespace without a network; 16 is AF_NETLINK."""


def is_supported() -> bool:
    """Whether this machine has a table of system calls."""
    return platform.machine() in _MACHINES


def build_filter(families: tuple[int, ...], *, traces: bool = False) -> bytes:
    """Return the filter for this machine; `families` are the only new sockets that it allows.

    `traces`: commands can trace, as debuggers and leak detectors of compilers do.
    """
    machine = _MACHINES[platform.machine()]
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, machine.audit, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    if machine.has_x32:
        program += [_instruction(_AT_LEAST, _X32_BIT, 0, 1), _instruction(_RETURN, _KILL)]
    untraced = () if traces else (machine.ptrace,)
    for number in (*untraced, *machine.denied, *_DENIED_EVERYWHERE):
        program += [_instruction(_EQUAL, number, 0, 1), _fail(errno.EPERM)]
    program += [_instruction(_EQUAL, _CLONE3, 0, 1), _fail(errno.ENOSYS)]
    program += _on_call(
        machine.clone,
        (_instruction(_LOAD, _ARGUMENT_0), _instruction(_ANY_BIT, _NAMESPACE_FLAGS, 0, 1)),
        (_fail(errno.EPERM),),
    )
    terminal = [_instruction(_LOAD, _ARGUMENT_1)]
    for request in _TERMINAL_INPUT:
        terminal += [_instruction(_EQUAL, request, 0, 1), _fail(errno.EPERM)]
    program += _on_call(machine.ioctl, tuple(terminal))
    allowed = [_instruction(_LOAD, _ARGUMENT_0)]
    for family in families:
        allowed += [_instruction(_EQUAL, family, 0, 1), _instruction(_RETURN, _ALLOW)]
    program += _on_call(machine.socket, (*allowed, _fail(errno.EACCES)))
    return b"".join((*program, _instruction(_RETURN, _ALLOW)))


def _on_call(number: int, *parts: tuple[bytes, ...]) -> list[bytes]:
    """Return the instructions that run `parts` for one call and then allow it."""
    body = [each for part in parts for each in part] + [_instruction(_RETURN, _ALLOW)]
    return [_instruction(_EQUAL, number, 0, len(body)), *body]


def _fail(number: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | number)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one instruction; the jumps are relative to the next one."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
