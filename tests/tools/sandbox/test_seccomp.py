"""The filter for system calls, run by a small interpreter of BPF on every machine."""

import errno
import platform
import struct

import pytest

from yourtool.tools.sandbox import seccomp

KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
X86, ARM = 0xC000003E, 0xC00000B7
NUMBERS = {
    "x86_64": {
        "read": 0, "clone": 56, "ioctl": 16, "socket": 41, "socketpair": 53, "ptrace": 101,
        "mount": 165, "umount2": 166, "unshare": 272, "setns": 308, "bpf": 321, "keyctl": 250,
        "userfaultfd": 323, "add_key": 248, "process_vm_writev": 311, "pivot_root": 155,
    },
    "aarch64": {
        "read": 63, "clone": 220, "ioctl": 29, "socket": 198, "socketpair": 199, "ptrace": 117,
        "mount": 40, "umount2": 39, "unshare": 97, "setns": 268, "bpf": 280, "keyctl": 219,
        "userfaultfd": 282, "add_key": 217, "process_vm_writev": 271, "pivot_root": 41,
    },
}  # fmt: skip
COMMON = {"io_uring_setup": 425, "io_uring_enter": 426, "open_tree": 428, "clone3": 435}


def run(program, audit, number, *arguments):
    """Return the verdict of a filter."""
    filled = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, audit, 0, *filled)
    at, value = 0, 0
    for _ in range(len(program)):
        code, if_true, if_false, operand = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case 0x06:
                return operand
    raise AssertionError("the filter does not end")


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return request.param


def audit(machine):
    return X86 if machine == "x86_64" else ARM


def verdict(machine, name, *arguments, families=seccomp.LOCAL_FAMILIES):
    number = {**NUMBERS[machine], **COMMON}[name]
    return run(seccomp.build_filter(families), audit(machine), number, *arguments)


def test_call_of_another_architecture_kills_the_process(machine):
    other = ARM if machine == "x86_64" else X86
    for number in (0, 59, 0x40000001):
        assert run(seccomp.build_filter(()), other, number) == KILL


def test_x32_call_kills_the_process(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    program = seccomp.build_filter(())
    assert run(program, X86, 0x40000000 | 39) == KILL
    assert run(program, X86, 39) == ALLOW


@pytest.mark.parametrize(
    "name",
    ["ptrace", "mount", "umount2", "unshare", "setns", "bpf", "keyctl", "add_key", "userfaultfd",
     "process_vm_writev", "pivot_root", "io_uring_setup", "io_uring_enter", "open_tree"],
)  # fmt: skip
def test_call_that_reaches_around_the_sandbox_fails(name, machine):
    assert verdict(machine, name) == ERRNO | errno.EPERM


def test_tracing_can_be_allowed(machine):
    program = seccomp.build_filter((), traces=True)
    assert run(program, audit(machine), NUMBERS[machine]["ptrace"]) == ALLOW


def test_clone3_is_reported_as_missing_so_that_libraries_use_clone(machine):
    assert verdict(machine, "clone3") == ERRNO | errno.ENOSYS


def test_clone_makes_threads_and_processes_but_no_namespaces(machine):
    assert verdict(machine, "clone", 0x3D0F00) == ALLOW
    assert verdict(machine, "clone", 17) == ALLOW
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, "clone", flag | 17) == ERRNO | errno.EPERM


def test_typing_into_a_terminal_fails_and_other_controls_work(machine):
    for request in (0x5412, 0x541C):
        assert verdict(machine, "ioctl", 0, request) == ERRNO | errno.EPERM
    assert verdict(machine, "ioctl", 0, 0x5401) == ALLOW


def test_only_local_sockets_can_be_opened(machine):
    for family in (1, 2, 10, 16):
        assert verdict(machine, "socket", family) == ALLOW
        assert verdict(machine, "socket", family, families=()) == ERRNO | errno.EACCES
    for family in (17, 38, 40, 44):
        assert verdict(machine, "socket", family) == ERRNO | errno.EACCES
    assert verdict(machine, "socketpair", 1, families=()) == ALLOW
    assert verdict(machine, "read") == ALLOW


def test_unknown_processor_has_no_filter(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert not seccomp.is_supported()
