"""First command of an enclosure."""

import os
from collections.abc import Callable

import kernel
from mounts import SetupError

_OWN_PROCESSES, _ALL_PROCESSES = 2, 6
"""The first process of the call, and the command; with those of bubblewrap and the runner."""


def inspect(closed: list[str], *, has_namespaces: bool) -> None:
    """Compare what this process can do with what a command should be able to do.

    Raises:
        SetupError: it can do more; the first finding.
    """
    with open("/proc/self/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        if int(fields[name], 16) != 0:
            raise SetupError(f"a command has rights ({name})")
    if int(fields["NoNewPrivs"]) != 1 or int(fields["Seccomp"]) != kernel.FILTER_MODE:
        raise SetupError("the system calls of a command are not filtered")
    most = _OWN_PROCESSES if has_namespaces else _ALL_PROCESSES
    if sum(each.isdigit() for each in os.listdir("/proc")) > most:
        raise SetupError("a command sees other processes")
    with open("/proc/self/net/dev", encoding="ascii") as file:
        if [line.partition(":")[0].strip() for line in file][2:] != ["lo"]:
            raise SetupError("a command has a network")
    for path in closed:
        if os.access(path, os.W_OK):
            raise SetupError(f"a command can write to `{path}`")
    _require_refusal("trace the process that ends it", _open_memory_of_parent)
    _require_refusal("make a user namespace", lambda: kernel.unshare(kernel.NEW_USER))
    if not has_namespaces:
        _require_refusal("stop the process that ends it", lambda: os.kill(os.getppid(), 0))
    _require_refusal("change its mounts", lambda: kernel.mount("none", "/", None, kernel.BIND))


def _open_memory_of_parent() -> None:
    with open(f"/proc/{os.getppid()}/mem", "rb"):  # the kernel asks what it asks of a tracer
        pass


def _require_refusal(what: str, attempt: Callable[[], None]) -> None:
    try:
        attempt()
    except OSError:
        return
    raise SetupError(f"a command can {what}")
