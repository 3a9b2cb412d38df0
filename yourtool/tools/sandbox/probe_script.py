"""Script of sandbox escape attempts.

It prints one line for each probe that reached its aim. Every probe is harmless outside a sandbox as
well: calls that would change the system have invalid arguments, and their error is compared. The
arguments are `name=value`, as in `probes.py`. It imports no `yourtool`, so that it starts fast.
"""

import ctypes
import errno
import fcntl
import os
import signal
import socket
import sys
import termios
from collections.abc import Callable

GIVEN = dict(each.split("=", 1) for each in sys.argv[1:])
OUT, HOME, OWN, CANARY = (GIVEN[name] for name in ("outside", "home", "own", "canary"))
PARENT, PORT, UDP_PORT = (int(GIVEN[name]) for name in ("parent", "port", "udp_port"))
SOCKET, ABSTRACT = GIVEN["socket"], GIVEN["abstract"]
X86 = os.uname().machine == "x86_64"
_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
_NUMBERS = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "setns": (308, 268), "ptrace": (101, 117), "process_vm_readv": (310, 270), "bpf": (321, 280),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217),
    "perf_event_open": (298, 241), "open_by_handle_at": (304, 265), "kexec_load": (246, 104),
    "finit_module": (313, 273), "io_uring_setup": (425, 425), "open_tree": (428, 428),
    "fsopen": (430, 430), "clone3": (435, 435), "acct": (163, 89), "swapon": (167, 224),
}  # fmt: skip
_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int) -> bool:
    """Whether the kernel looked at a call, instead of refusing it for this process."""
    number = _NUMBERS[name][0 if X86 else 1]
    filled = [ctypes.c_long(each) for each in (*arguments, *[0] * (6 - len(arguments)))]
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *filled)
    return result >= 0 or ctypes.get_errno() not in _REFUSED


def write(path: str, flags: int = os.O_CREAT) -> bool:
    """Write into a file."""
    descriptor = os.open(path, os.O_WRONLY | flags, 0o600)
    try:
        return os.write(descriptor, b"reached") > 0
    finally:
        os.close(descriptor)


def read(path: str) -> bool:
    """Whether a file has the text that only the outside has."""
    return b"canary" in content(path)


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(4096)


def unseen(_: object) -> bool:
    """Only the outside sees whether this probe reached its aim."""
    return False


def connect(family: int, kind: int, address: object) -> bool:
    with socket.socket(family, kind) as client:
        client.settimeout(1)
        client.connect(address)  # pyright: ignore[reportArgumentType] - one address per family
        return client.send(b"canary") > 0


def new_socket(family: int, kind: int) -> bool:
    socket.socket(family, kind, 0).close()
    return True


def in_child(run: Callable[[], bool]) -> bool:
    """Run a probe that may be killed or change its process."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if run() else 1)
        except BaseException:  # noqa: BLE001 - the child has no other way out
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def start_program() -> bool:
    os.execv("/bin/sh", ("/bin/sh", "-c", "exit 0"))


def unshare(flags: int) -> bool:
    return in_child(lambda: _libc.unshare(flags) == 0)


def clone(flags: int) -> bool:
    """Clone a process into a new namespace."""
    number, arguments = (56 if X86 else 220), [ctypes.c_long(0)] * 4
    child = _libc.syscall(ctypes.c_long(number), ctypes.c_long(flags | signal.SIGCHLD), *arguments)
    if child == 0:
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
    return child > 0


def trace(process: int) -> bool:
    """Trace a process, without stopping it, until this one ends."""
    seize = 0x4206
    number = ctypes.c_long(_NUMBERS["ptrace"][0 if X86 else 1])
    return _libc.syscall(number, ctypes.c_long(seize), ctypes.c_long(process), None, None) == 0


def x32() -> bool:
    """Make a call with the numbers of x32, which a filter may have forgotten."""
    return X86 and in_child(lambda: _libc.syscall(ctypes.c_long(0x40000000 | 39)) >= -1)


def type_into_terminal(request: int) -> bool:
    main, terminal = os.openpty()
    try:
        fcntl.ioctl(terminal, request, b"x" if request == termios.TIOCSTI else b"\3" + b"\0" * 15)
    except OSError as error:
        return error.errno not in (*_REFUSED, errno.ENOTTY, errno.EINVAL)
    finally:
        os.close(main)
        os.close(terminal)
    return True


def status_field(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        values = dict(line.split(":", 1) for line in file)
    return int(values[name], 16)


def replace(path: str) -> bool:
    """Put another file in the place of one."""
    write("other")
    os.rename("other", path)
    return True


def rename_and_back(path: str) -> bool:
    os.rename(path, "renamed")
    os.rename("renamed", path)
    return True


def done(_: object) -> bool:
    return True


def link_through(target: str, name: str) -> str:
    os.symlink(target, name)
    return name


PROBES: tuple[tuple[str, Callable[[], bool]], ...] = (
    ("create a file outside", lambda: write(f"{OUT}/new")),
    ("overwrite a file outside", lambda: write(f"{OUT}/file", 0)),
    ("append to a file outside", lambda: write(f"{OUT}/file", os.O_APPEND)),
    ("truncate a file outside", lambda: done(os.truncate(f"{OUT}/file", 3))),
    ("delete a file outside", lambda: done(os.unlink(f"{OUT}/gone"))),
    ("rename a file outside", lambda: done(os.rename(f"{OUT}/file", f"{OUT}/name"))),
    ("move a file outside", lambda: write("own") and done(os.rename("own", f"{OUT}/own"))),
    ("move a file in from outside", lambda: done(os.rename(f"{OUT}/file", "taken"))),
    ("create a directory outside", lambda: done(os.mkdir(f"{OUT}/directory"))),
    ("delete a directory outside", lambda: done(os.rmdir(f"{OUT}/empty"))),
    ("create a link outside", lambda: done(os.symlink("/etc", f"{OUT}/link"))),
    ("hard link a file from outside", lambda: done(os.link(f"{OUT}/file", "sub/hard"))),
    ("hard link a file to outside", lambda: write("sub/a") and done(os.link("sub/a", f"{OUT}/a"))),
    ("change a mode outside", lambda: done(os.chmod(f"{OUT}/file", 0o640))),
    ("change a time outside", lambda: done(os.utime(f"{OUT}/file", (1, 1)))),
    ("create a pipe outside", lambda: done(os.mkfifo(f"{OUT}/pipe"))),
    ("write outside through a link", lambda: write(link_through(f"{OUT}/file", "sub/l1"), 0)),
    ("write outside through /proc/self/root", lambda: write(f"/proc/self/root{OUT}/file", 0)),
    ("write outside through the parent", lambda: write(f"/proc/{PARENT}/root{OUT}/file", 0)),
    ("write outside through a directory", lambda: write(f"sub/../../outside/{CANARY}")),
    ("write in /etc of the machine", lambda: write(f"/etc/{CANARY}")),
    ("write in /var/tmp of the machine", lambda: unseen(write(f"/var/tmp/{CANARY}"))),  # noqa: S108
    ("write in /tmp of the machine", lambda: unseen(write(f"/tmp/{CANARY}"))),  # noqa: S108
    ("write in /dev/shm of the machine", lambda: unseen(write(f"/dev/shm/{CANARY}"))),  # noqa: S108
    ("create a hook of git", lambda: write(".git/hooks/pre-commit")),
    ("change the configuration of git", lambda: write(".git/config", os.O_APPEND)),
    ("delete the configuration of git", lambda: done(os.unlink(".git/config"))),
    ("replace the configuration of git", lambda: replace(".git/config")),
    ("rename .git", lambda: done(os.rename(".git", "git"))),
    ("rename the hooks of git", lambda: done(os.rename(".git/hooks", ".git/old"))),
    ("delete the hooks of git", lambda: done(os.rmdir(".git/hooks"))),
    ("create another configuration of git", lambda: write(".git/config.worktree")),
    ("redirect the configuration of git", lambda: write(".git/commondir", 0)),
    ("create the attributes of git", lambda: write(".git/info/attributes")),
    ("change a missing place", lambda: write(".vscode/tasks.json")),
    ("create a missing place", lambda: done(os.mkdir(".claude")) and write(".claude/hooks")),
    ("create a missing file", lambda: write(".mcp.json")),
    ("change instructions", lambda: write("AGENTS.md", 0)),
    ("delete instructions", lambda: done(os.unlink("AGENTS.md"))),
    ("replace instructions", lambda: replace("AGENTS.md")),
    ("create a workflow", lambda: write(".github/workflows/new.yml")),
    ("rename the workflows", lambda: done(os.rename(".github/workflows", ".github/old"))),
    ("rename the directory of the workflows", lambda: rename_and_back(".github")),
    ("rename an inner repository", lambda: rename_and_back("inner")),
    ("open a setting of the kernel",
     lambda: done(os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)))),
    ("create a hook of an inner repository", lambda: write("inner/.git/hooks/pre-commit")),
    ("read a credential file", lambda: read(f"{HOME}/.ssh/id_ed25519")),
    ("read a credential file through a link",
     lambda: read(link_through(f"{HOME}/.ssh", "sub/l2") + "/id_ed25519")),
    ("read a credential file through /proc",
     lambda: read(f"/proc/self/root{HOME}/.ssh/id_ed25519")),
    ("read a file of yourtool", lambda: read(f"{OWN}/sessions.db")),
    ("read the environment of the parent", lambda: len(content(f"/proc/{PARENT}/environ")) > 0),
    ("connect over TCP",
     lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT))),
    ("send over UDP",
     lambda: unseen(connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", UDP_PORT)))),
    ("connect over TCP and IPv6",
     lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", PORT))),
    ("connect to a socket outside", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, SOCKET)),
    ("connect to an abstract socket",
     lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + ABSTRACT)),
    ("open a packet socket", lambda: new_socket(17, socket.SOCK_RAW)),
    ("open a vsock", lambda: new_socket(40, socket.SOCK_STREAM)),
    ("open a socket of the kernel's cryptography", lambda: new_socket(38, socket.SOCK_SEQPACKET)),
    ("make a user namespace", lambda: unshare(0x10000000)),
    ("make a mount namespace", lambda: unshare(0x00020000)),
    ("clone into a user namespace", lambda: clone(0x10000000)),
    ("clone3", lambda: call("clone3")),
    ("mount", lambda: call("mount")),
    ("unmount", lambda: call("umount2")),
    ("pivot_root", lambda: call("pivot_root")),
    ("chroot", lambda: call("chroot")),
    ("enter a namespace", lambda: call("setns", -1)),
    ("trace a process", lambda: any(trace(each) for each in (PARENT, 1))),
    ("read the memory of a process", lambda: call("process_vm_readv", PARENT)),
    ("io_uring", lambda: call("io_uring_setup", 0)),
    ("bpf", lambda: call("bpf", 9999)),
    ("userfaultfd", lambda: call("userfaultfd", 1)),
    ("read kernel keys", lambda: call("keyctl", 0, -3)),
    ("add a kernel key", lambda: call("add_key")),
    ("measure other processes", lambda: call("perf_event_open")),
    ("open a file by its handle", lambda: call("open_by_handle_at", -1)),
    ("load a kernel", lambda: call("kexec_load", 0, 0, 0, 0xFFFF)),
    ("load a module", lambda: call("finit_module", -1)),
    ("open a tree of mounts", lambda: call("open_tree", -1)),
    ("open a file system", lambda: call("fsopen")),
    ("account for processes", lambda: call("acct", 1)),
    ("add swap", lambda: call("swapon")),
    ("x32 calls", x32),
    ("type into a terminal", lambda: type_into_terminal(termios.TIOCSTI)),
    ("paste into a terminal", lambda: type_into_terminal(0x541C)),
    ("open the controlling terminal", lambda: write("/dev/tty", 0)),
    ("gain privileges", lambda: status_field("NoNewPrivs") == 0),
    ("have capabilities", lambda: status_field("CapEff") != 0),
    ("signal the parent", lambda: done(os.kill(PARENT, 0))),
    ("see processes of the machine", lambda: done(os.stat(f"/proc/{PARENT}"))),
)  # fmt: skip
NEEDED: tuple[tuple[str, Callable[[], bool]], ...] = (
    ("write in a directory of the workspace", lambda: write("sub/works")),
    ("write in the temporary directory", lambda: write(f"{os.environ['TMPDIR']}/works")),
    ("read a file outside", lambda: read(f"{OUT}/file")),
    ("start a program", lambda: in_child(start_program)),
)
"""What must work; printed if it does."""


def main() -> None:
    """Run all probes."""
    for prefix, probes in (("+", NEEDED), ("-", PROBES)):
        for name, probe in probes:
            try:
                reached = probe()
            except (OSError, ValueError):
                reached = False
            if reached:
                print(prefix, name, sep="", flush=True)  # noqa: T201 - the result


main()
