"""Commands that try to exhaust or to change what they run in."""

import os
from shutil import which

import pytest

from tests.tools.contexts import call
from tests.tools.sandbox.levels import FixedMeter, build_sandbox, count_processes, write_restricted
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox import bubblewrap
from yourtool.tools.sandbox.confinement import Means, find_means
from yourtool.tools.sandbox.sandbox import Sandbox

FULL = SandboxLevel.FULL
FLEES = """
import os, sys
sys.stdout.write("up\\n"); sys.stdout.flush()
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
"""
"""Is always another process, so that a list of processes is old at once."""

TRACES = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
TRACE_ME, CONTINUE, SEIZE = 0, 7, 0x4206
if (child := os.fork()) == 0:
    libc.ptrace(TRACE_ME, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(5)
assert os.WIFSTOPPED(os.waitpid(child, 0)[1])
libc.ptrace(CONTINUE, child, None, None)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
others = {int(each) for each in os.listdir("/proc") if each.isdigit()} - {os.getpid()}
mine = {os.getsid(0)}
seized = [each for each in others - mine if libc.ptrace(SEIZE, each, None, None) == 0]
print("others", len(others - mine) > 0, seized)
"""
"""A debugger of its child that also tries the other processes."""


@pytest.fixture(params=["usual", "restricted"])
async def made(request, root, tmp_path):
    """The sandbox of a usual machine, and of one whose AppArmor takes all rights."""
    if request.param == "usual":
        made = build_sandbox(root, FULL)
    else:
        config = SandboxConfig(enabled=True)
        meter = FixedMeter(config, FULL)
        meter.means = Means(str(write_restricted(tmp_path)), None, find_means().landlock_abi)
        made = Sandbox(config, root, meter)
    yield made
    await made.close()


@pytest.fixture
def context(made, contexts):
    return contexts(sandbox=made)


@pytest.mark.parametrize("count", [1, 8])
async def test_processes_that_flee_by_forking_end_with_their_command(count, root, context):
    name = f"flees-{os.getpid()}"
    (root / "flee.py").write_text(FLEES)
    line = f"for each in $(seq {count}); do (exec -a {name} python3 flee.py) & done; sleep .3"
    await call(shell, context, command=line, timeout_seconds=10)
    assert count_processes(name) == 0
    again = await call(shell, context, command="echo works")
    assert again.content[0].text.startswith("works")


async def test_debuggers_trace_their_own_programs_and_nothing_else(root, context):
    (root / "trace.py").write_text(TRACES)
    done = await call(shell, context, command="python3 trace.py")
    lines = done.content[0].text.splitlines()
    assert lines[:2] == ["child 5", "others True []"], lines


@pytest.mark.skipif(which("gcc") is None, reason="there is no C compiler")
async def test_leaks_are_found_in_programs_of_a_compiler(root, context):
    (root / "leak.c").write_text("#include <stdlib.h>\nint main(void) { malloc(7); return 0; }\n")
    line = "gcc -fsanitize=address leak.c -o leak && ASAN_OPTIONS=exitcode=5 ./leak"
    done = await call(shell, context, command=line)
    assert "7 byte(s) leaked in 1 allocation(s)" in done.content[0].text


async def test_command_that_opens_ten_thousand_files_costs_only_itself(root, context):
    line = (
        'python3 -c "import resource as r; n = r.getrlimit(r.RLIMIT_NOFILE)[1];'
        " r.setrlimit(r.RLIMIT_NOFILE, (n, n));"
        " kept = [open('/dev/null') for _ in range(min(n - 20, 10_000))]; print(len(kept))\""
    )
    found = await call(shell, context, command=line)
    assert int(found.content[0].text.split()[0]) > 900
    assert (await call(shell, context, command="echo works")).success


async def test_private_directories_have_a_limit(context, monkeypatch):
    monkeypatch.setattr(bubblewrap, "MEMORY_BYTES", 64 * 2**20)
    line = "for at in /tmp /var/tmp /dev/shm; do head -c 1G /dev/zero > $at/large; done"
    found = await call(shell, context, command=line)
    assert found.content[0].text.count("No space left on device") == 3
    found = await call(shell, context, command="echo x > /dev/large; echo x > /dev/null && tty")
    assert "/dev/large: Read-only file system" in found.content[0].text
    assert "not a tty" in found.content[0].text
    again = await call(shell, context, command="rm /tmp/large; echo works > /tmp/x && cat /tmp/x")
    assert again.content[0].text.startswith("works")


async def test_command_cannot_change_its_mounts_or_names(root, context):
    (root / "kept").write_text("kept\n")
    line = (
        "mount -t tmpfs none . ; umount -l /tmp; umount -l . ; mount --bind / /mnt;"
        " unshare -m true; unshare -Ur true; chroot / true; mv /tmp /tmp2; mv $PWD $PWD.moved;"
        " mv .git/hooks .git/other; mkdir .git/hooks && echo x > .git/hooks/pre-commit; cat kept"
    )
    (root / ".git/hooks").mkdir(parents=True)
    found = await call(shell, context, command=line)
    assert found.content[0].text.rstrip().endswith("kept\n[exit code 0]")
    assert not (root / ".git/hooks/pre-commit").exists()
    assert (await call(shell, context, command="cat kept")).content[0].text.startswith("kept")


async def test_terminals_and_shared_memory_can_be_made(context):
    line = (
        "python3 -c \"import pty; pty.spawn(['echo', 'in a terminal'])\"; python3 -c \"from"
        " multiprocessing import Lock, shared_memory as m; Lock(); s = m.SharedMemory(create=True,"
        " size=9); s.close(); s.unlink(); print('shared')\""
    )
    text = (await call(shell, context, command=line)).content[0].text
    assert "in a terminal" in text and "shared" in text
