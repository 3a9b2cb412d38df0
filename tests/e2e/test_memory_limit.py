"""Under a memory limit the program prints one sentence and restores the terminal."""

import re
import shlex
import subprocess
import sys

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal

pytestmark = [
    pytest.mark.remaining,
    pytest.mark.skipif(sys.platform != "linux", reason="`ulimit -v` is kept on Linux"),
]
soak = pytest.mark.soak
SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")
MODES = (b"1000", b"1003", b"1004", b"1006", b"1049")


def sizes(*quick, every):
    """Return sizes in KiB: a few in each test run, and a sweep for `soak`."""
    return [*quick, *(pytest.param(size, marks=soak) for size in range(20_000, 400_001, every))]


@pytest.mark.parametrize("size", sizes(20_000, 89_000, every=5_000))
def test_a_headless_run_ends_with_a_sentence(home, tmp_path, size):
    line = f"ulimit -v {size}; exec {shlex.join(YOURTOOL)} -p hi -m demo:tour"
    done = subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **home},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stdout + done.stderr
    if done.returncode == 1:
        limit = re.escape(f"{size:,} KB (`ulimit -v`)")
        assert re.search(rf"^yourtool: there is not enough memory.*{limit}$", done.stderr, re.M)


@pytest.mark.parametrize("size", sizes(20_000, 57_000, 89_000, every=5_000))
def test_the_interface_leaves_the_terminal_as_it_was(home, tmp_path, size):
    env = {**home, "PS1": "shell> ", "HISTFILE": "/dev/null"}
    with Terminal(SHELL, cwd=tmp_path, env=env) as terminal:
        terminal.wait("shell>")
        line = f"(ulimit -v {size}; {shlex.join(YOURTOOL)} -m demo:tour; echo left with $?)"
        terminal.send(f"stty -a > before; {line}; stty -a > after; echo all done\r")
        terminal.wait(r"left with \d|Ctrl\+D quits|demo:tour +ask")
        shown = terminal.text
        if "left with" not in shown:
            terminal.send("\x04")
        shown += terminal.wait(r"(?m)^all done")
        output = bytes(terminal.output)
    assert b"Traceback" not in output and b"internal error" not in output
    assert "left with 0" in shown or f"{size:,} KB" in shown
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    for mode in MODES:
        on, off = (output.rfind(b"\x1b[?%s%s" % (mode, end)) for end in (b"h", b"l"))
        assert on <= off, f"mode {mode} was left on"
