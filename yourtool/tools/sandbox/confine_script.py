"""A script, `confine_script.py POLICY_FD COMMAND…`, that confines itself and runs the command.

It applies Landlock and a filter for system calls, which a command cannot remove. It runs in its own
process, because both apply to all threads of a process that continue. It imports no `yourtool`, so
that it starts fast. The policy comes from `landlock.build_policy`.
"""

import ctypes
import os
import struct
import sys

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_DROP_BOUNDING, _CAPABILITY_VERSION, _LAST_CAPABILITY = 24, 0x20080522, 63
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_SCOPES = 3
"""Abstract sockets and signals stay inside; ABI 6."""
_FAILED = 126

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Confine this process and replace it with the command."""
    policy = _read_all(int(sys.argv[1]))
    (size,) = struct.unpack_from("=I", policy)
    program, rules = policy[4 : 4 + size], policy[4 + size :].split(b"\0")
    _drop_capabilities()
    _call("prctl", _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _restrict_files(rules)
    _restrict_calls(program)
    os.execvp(sys.argv[2], sys.argv[2:])


def _drop_capabilities() -> None:
    """Drop what root can do besides its own files, such as reading the memory of processes."""
    for each in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_DROP_BOUNDING, each, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _call("capset", _libc.capset(header, struct.pack("=6I", *[0] * 6)))


def _restrict_files(rules: list[bytes]) -> None:
    abi = _libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    handled = (1 << 13) - 1
    handled |= _REFER if abi >= 2 else 0
    handled |= _TRUNCATE if abi >= 3 else 0
    handled |= _IOCTL_DEVICE if abi >= 5 else 0
    attributes = struct.pack("=Q", handled)
    if abi >= 6:
        attributes = struct.pack("=QQQ", handled, 0, _SCOPES)
    ruleset = _libc.syscall(
        _CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)
    )
    _call("landlock_create_ruleset", ruleset)
    reading = _EXECUTE | _READ_FILE | _READ_DIRECTORY
    rights = {
        ord("r"): reading,
        ord("l"): _READ_DIRECTORY,
        ord("w"): handled & ~_IOCTL_DEVICE,
        ord("d"): _READ_FILE | _WRITE_FILE | _IOCTL_DEVICE,
    }
    for rule in rules:
        _grant(ruleset, rule[1:], rights[rule[0]] & handled)
    _call("landlock_restrict_self", _libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)


def _grant(ruleset: int, path: bytes, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # it was removed just now
        return
    if not os.path.isdir(path):
        rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
    rule = struct.pack("=Qi", rights, descriptor)
    added = _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0))
    _call("landlock_add_rule", added)
    os.close(descriptor)


def _restrict_calls(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _call("seccomp", _libc.prctl(_SET_SECCOMP, _FILTER_MODE, head, 0, 0))


def _call(name: str, result: int) -> None:
    if result < 0:
        reason = os.strerror(ctypes.get_errno())
        sys.stderr.write(f"the command was not run: {name}: {reason}\n")
        sys.exit(_FAILED)


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


main()
