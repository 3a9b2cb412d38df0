import asyncio
import os
import pty
import signal
import stat
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.tools.contexts import answer, call, get_refusal
from tests.tools.sandbox.levels import build_sandbox
from yourtool.effects import Preview
from yourtool.errors import ToolError
from yourtool.foundation.masking import Mask
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.settings.shell_config import EnvironmentConfig
from yourtool.tools.commands.shell import MAX_TIMEOUT_SECONDS, shell
from yourtool.tools.files.files import read_file
from yourtool.tools.processes import output as outputs
from yourtool.tools.processes import process
from yourtool.tools.processes.environments import Environments
from yourtool.tools.processes.output import (
    FAILED_HEAD_BYTES,
    FAILED_TAIL_BYTES,
    HEAD_TAIL_BYTES,
    CommandOutput,
)
from yourtool.tools.processes.process import LiveText, ShellCommand, run_process

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="daemons are found in /proc")


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def started(path, tries=400):
    """Wait for a process to write its id and return it."""
    for _ in range(tries):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        await asyncio.sleep(0.01)
    raise AssertionError(f"{path} was never written")


async def test_command_runs_in_the_workspace(context, root):
    output = await call(shell, context, command="pwd; echo error >&2")
    assert output.content[0].text == f"{root}\nerror\n[exit code 0]"
    assert output.success
    assert output.command_executed == "pwd; echo error >&2"
    assert output.details["exit_code"] == 0


@pytest.mark.req("R-TOOL-02")
async def test_failed_command_is_reported_with_its_output(context):
    output = await call(shell, context, command="echo why; exit 3")
    assert not output.success
    assert output.content[0].text == "why\n[exit code 3]"
    assert output.details["exit_code"] == 3
    assert "[ended by signal 9]" in await answer(shell, context, command="kill -9 $$")
    assert await answer(shell, context, command="true") == "(no output)\n[exit code 0]"


@pytest.mark.req("R-TOOL-02")
async def test_start_failure_of_a_command_reports_the_reason(context, contexts):
    await get_refusal(shell, context, "NUL", command="a\0b")
    await get_refusal(
        shell, context, "could not be started", "`write_file`", command="x" * 3_000_000
    )
    agreed = Preview(kind="command", body="true")
    await get_refusal(shell, contexts(approved=agreed), "that the user approved", command="false")
    assert "code 0" in await answer(shell, contexts(approved=agreed), command="true")


@pytest.mark.req("R-TOOL-06")
async def test_command_does_not_start_in_what_replaced_the_workspace(context, root):
    moved = root.rename(root.with_name("moved"))
    root.symlink_to(root.parent)
    await get_refusal(shell, context, "is not at this path any more", command="touch ran")
    assert not list(moved.iterdir()) and not (root.parent / "ran").exists()
    root.unlink()
    moved.rename(root)
    assert "code 0" in await answer(shell, context, command="touch ran")


@pytest.mark.skipif(sys.platform != "linux", reason="others have no way by descriptor")
@pytest.mark.req("R-TOOL-06")
async def test_directory_that_is_open_decides_where_a_command_starts(root, tmp_path):
    opened = os.open(root, os.O_RDONLY)
    moved = root.rename(root.with_name("moved"))
    root.mkdir()
    try:
        line = replace(command(root, "touch ran"), opened_directory=opened)
        await run_process(line, CommandOutput(tmp_path, str, Mask()), seconds=None)
    finally:
        os.close(opened)
    assert [path.name for path in moved.iterdir()] == ["ran"]
    assert not list(root.iterdir())


async def test_preview_shows_the_complete_command(context):
    args = shell.parse({"command": "a\nb"})
    preview = await shell.preview(args, context)
    assert (preview.kind, preview.body) == ("command", "a\nb")
    assert preview.editable is not None and preview.editable.text == "a\nb"


@pytest.mark.req("R-TOOL-03")
@pytest.mark.parametrize(
    "command", ["apply_patch <<'EOF'\n*** Begin Patch\nEOF", "cd src && apply_patch 'x'"]
)
async def test_patch_as_a_command_is_answered_with_the_tool_before_any_approval(context, command):
    with pytest.raises(ToolError, match="`apply_patch` is a tool and no command"):
        await shell.preview(shell.parse({"command": command}), context)
    other = shell.parse({"command": "grep apply_patch notes; ./apply_patches"})
    assert (await shell.preview(other, context)).kind == "command"


async def test_slow_and_chunked_output_is_complete(context):
    said = await answer(shell, context, command="echo one; sleep .05; printf tw; sleep .05; echo o")
    assert said == "one\ntwo\n[exit code 0]"


@pytest.mark.req("R-TOOL-03")
async def test_output_of_a_background_job_is_complete(context):
    said = await answer(shell, context, command="(sleep .02; echo late) & echo early; wait")
    assert said == "early\nlate\n[exit code 0]"


@pytest.mark.req("R-TOOL-03")
async def test_long_output_shows_both_ends_and_is_complete_in_a_file(context):
    output = await call(shell, context, command="seq 300000")
    said = output.content[0].text
    assert said.startswith("1\n2\n")
    assert said.endswith("\n300000\n[exit code 0]")
    assert len(said) < 2 * HEAD_TAIL_BYTES + 500
    total = output.details["output_bytes"]
    assert f"[{total - 2 * HEAD_TAIL_BYTES:,} of {total:,} bytes are omitted here" in said
    path = Path(output.details["full_output"])
    data = await asyncio.to_thread(path.read_text)
    assert data == "".join(f"{n}\n" for n in range(1, 300001))
    assert stat.S_IMODE((await asyncio.to_thread(path.stat)).st_mode) == 0o600
    part = await answer(read_file, context, path=str(path), offset=150_000, limit=1)
    assert "150000\t150000" in part


@pytest.mark.req("R-TOOL-03")
async def test_failed_command_keeps_more_of_its_end(context):
    output = await call(shell, context, command="seq 300000; exit 3")
    start, _, end = output.content[0].text.partition("\n[")
    assert start.startswith("1\n2\n")
    assert len(start) == FAILED_HEAD_BYTES
    _, _, tail = end.partition("]\n")
    assert tail.endswith("\n300000\n[exit code 3]")
    assert FAILED_TAIL_BYTES <= len(tail) < FAILED_TAIL_BYTES + 100


async def test_command_runs_in_the_directory_of_the_call(context, root):
    (root / "a 'b").mkdir()
    (root / "a 'b" / "file").touch()
    arguments = {"command": "ls; pwd", "directory": "a 'b"}
    args = shell.parse(arguments)
    preview = await shell.preview(args, context)
    assert preview.body == """cd 'a '"'"'b' && ls; pwd"""
    assert preview.editable.build_input("x")["command"] == "x"
    assert "directory" not in preview.editable.build_input("x")
    said = await answer(shell, context, **arguments)
    assert said == f"file\n{root}/a 'b\n[exit code 0]"
    assert await answer(shell, context, command="pwd", directory=".") == f"{root}\n[exit code 0]"


async def test_directory_whose_name_is_an_option_is_entered(context, root):
    (root / "-P").mkdir()
    said = await answer(shell, context, command="pwd", directory="-P")
    assert said == f"{root}/-P\n[exit code 0]"


@pytest.mark.parametrize("directory", ["none", "file", "../.."])
async def test_command_whose_directory_is_none_of_the_workspace_is_not_run(
    context, root, directory
):
    (root / "file").touch()
    args = shell.parse({"command": "touch ran", "directory": directory})
    for start in (shell.preview, shell.run):
        with pytest.raises(ToolError, match=r"is no directory|leaves the workspace"):
            await start(args, context)
    assert not list(root.rglob("ran"))


@pytest.mark.req("R-TOOL-03")
def test_output_is_complete_for_any_chunking(tmp_path):
    data = "é€😀x".encode() * 10_000
    for size in (1, 7, 4096):
        shown = []
        output = CommandOutput(tmp_path, shown.append, Mask())
        for at in range(0, len(data), size):
            output.feed(data[at : at + size])
        output.close()
        assert "".join(shown) == data.decode()
        assert output.spill_path.read_bytes() == data
        assert output.total_bytes == len(data)


@pytest.mark.req("R-TOOL-03")
@pytest.mark.parametrize("terminal", [False, True])
async def test_output_is_what_a_terminal_shows_at_the_end(context, terminal):
    command = (
        r"printf 'a: 0\nb: 0\n\033[2A\033[2Ka: 1\n\033[2Kb: 1\n';"
        r" printf '\033]0;title\007\033[31m10 %%\r90 %%\033[0m\r\033[Kerror\n\r1\r2\n'"
    )
    text = await answer(shell, context, command=command, terminal=terminal)
    assert text.startswith("a: 1\nb: 1\nerror\n2\n[")


@pytest.mark.req("R-TOOL-03")
def test_endless_output_does_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "MAX_SPILL_BYTES", 100_000)
    output = CommandOutput(tmp_path, lambda text: None, Mask())
    for _ in range(40):
        output.feed(b"x" * 5_000)
    output.close()
    assert output.spill_path.stat().st_size == 100_000
    assert "read the first 100,000 bytes in ranges" in output.text()


@pytest.mark.req("R-TOOL-03")
def test_command_succeeds_without_an_output_file_on_a_full_disk(tmp_path):
    output = CommandOutput(tmp_path / "nowhere", lambda text: None, Mask())
    output.feed(b"x" * 100_000)
    output.feed(b"y" * 100_000)
    output.close()
    assert "the full output could not be saved: no such file" in output.text()
    assert output.text().endswith("y")


@pytest.mark.req("R-TOOL-04")
async def test_command_is_stopped_at_its_timeout(context):
    output = await call(shell, context, command="echo before; sleep 60", timeout_seconds=1)
    assert not output.success
    assert output.details["timed_out"]
    text = output.content[0].text
    assert text.startswith("before\n[timed out and stopped after 1 s; set a larger")
    assert text.endswith("or `background` if it keeps running]")


@pytest.mark.req("R-TOOL-04")
async def test_timeout_is_clamped(context, contexts):
    assert shell.timeout_seconds > MAX_TIMEOUT_SECONDS
    assert "code 0" in await answer(shell, context, command="true", timeout_seconds=10**6)


def command(root, line):
    return ShellCommand(("/bin/sh", "-c", line), root, {"PATH": os.environ["PATH"]})


@pytest.mark.req("R-TOOL-04")
async def test_command_that_ignores_termination_is_killed(root, tmp_path):
    output = CommandOutput(tmp_path, lambda text: None, Mask())
    line = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"
    running = asyncio.create_task(run_process(command(root, line), output, seconds=None, grace=0.1))
    pid = await started(root / "pid")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(pid)


@pytest.mark.req("R-TOOL-04")
async def test_command_can_end_by_itself_when_it_is_stopped(root, tmp_path):
    output = CommandOutput(tmp_path, lambda text: None, Mask())
    line = "trap 'touch ended; exit' TERM; echo $$ > pid; while :; do sleep 0.02; done"
    running = asyncio.create_task(run_process(command(root, line), output, seconds=None))
    await started(root / "pid")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (root / "ended").exists()


@linux_only
@pytest.mark.req("R-TOOL-04")
async def test_process_that_ends_just_after_its_command_is_not_left_running(root, tmp_path):
    output = CommandOutput(tmp_path, lambda text: None, Mask())
    line = "(sleep .02; echo late > file) & echo early"
    exited = await run_process(command(root, line), output, seconds=None)
    assert (exited.code, exited.left_processes) == (0, False)
    assert (root / "file").read_text() == "late\n"


@linux_only
@pytest.mark.parametrize(
    "start",
    [
        "sleep 60 & echo $! > pid",
        "(sleep 60 & echo $! > pid)",
        "nohup sleep 60 >/dev/null 2>&1 & echo $! > pid",
        "setsid sh -c 'echo $$ > pid; exec sleep 60' & while ! [ -s pid ]; do sleep .01; done",
        "setsid sh -c '(echo 1; sleep 60) & echo $! > pid' <&- & while ! [ -s pid ]; do :; done",
    ],
)
@pytest.mark.req("R-TOOL-04")
async def test_grandchild_process_ends_with_the_call(context, root, start):
    said = await answer(shell, context, command=start)
    assert said.endswith(
        "[exit code 0; what it left running was ended, so use `background` for it]"
    )
    assert not alive(int((root / "pid").read_text()))


@linux_only
@pytest.mark.req("R-TOOL-17")
@pytest.mark.parametrize(
    ("line", "is_left"),
    [("sleep 60 &", True), ("nohup sleep 60 >&- & echo $!", True), ("true && true", False)],
)
async def test_command_in_the_full_sandbox_names_what_it_left_running(
    contexts, root, line, is_left
):
    context = contexts(sandbox=build_sandbox(root, SandboxLevel.FULL))
    said = await answer(shell, context, command=line)
    assert ("what it left running was ended" in said) == is_left


@linux_only
@pytest.mark.req("R-TOOL-14")
async def test_cancelled_command_ends_with_its_children(context, root):
    line = "echo live; setsid sleep 60 & echo $! > child; echo $$ > pid; sleep 60"
    task = asyncio.ensure_future(call(shell, context, command=line))
    leader = await started(root / "pid")
    child = await started(root / "child")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(leader)
    assert not alive(child)


@pytest.mark.req("R-TOOL-16")
async def test_output_is_shown_while_the_command_runs(contexts, root):
    task = asyncio.ensure_future(
        call(shell, contexts(), command="echo first; while ! [ -e go ]; do sleep .01; done; echo z")
    )
    for _ in range(400):
        if contexts.shown:
            break
        await asyncio.sleep(0.01)
    assert "".join(contexts.shown) == "first\n"
    assert not task.done()
    (root / "go").touch()
    await task
    assert "".join(contexts.shown) == "first\nz\n"


@pytest.mark.req("R-TOOL-16")
async def test_flood_of_output_is_not_queued(tmp_path):
    shown = []
    live = LiveText(shown.append)
    await asyncio.to_thread(lambda: [live("x" * 1000) for _ in range(1000)])
    await asyncio.sleep(0)
    assert len("".join(shown)) < 1_000_000


@pytest.mark.req("R-TOOL-05")
async def test_standard_input_is_empty(context):
    assert await answer(shell, context, command="cat; read x || echo none") == (
        "none\n[exit code 0]"
    )


@pytest.mark.req("R-TOOL-05")
async def test_command_receives_no_keys(context, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "AWS_SESSION_TOKEN", "PGPASS"):
        monkeypatch.setenv(name, "CANARY")
    said = await answer(shell, context, command="env; tr '\\0' '\\n' < /proc/$$/environ")
    assert "CANARY" not in said
    assert "PATH=" in said


@pytest.mark.req("R-TOOL-05")
async def test_only_a_command_that_runs_unasked_to_read_gets_no_code_of_variables(
    contexts, tmp_path, monkeypatch
):
    (tmp_path / "start.sh").write_text("echo LOADED\n")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start.sh"))
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { echo LOADED; }")
    assert (await answer(shell, contexts(), command="ls")).count("LOADED") == 2
    assert "LOADED" not in await answer(shell, contexts(only_reads=True), command="ls")


async def test_settings_change_the_variables_of_commands(contexts, monkeypatch):
    monkeypatch.setenv("WORK_DIRECTORY", "hidden")
    monkeypatch.setenv("MY_TOKEN", "allowed")
    config = EnvironmentConfig(hide=("WORK_*",), allow=("MY_TOKEN",), set={"NODE_ENV": "test"})
    context = contexts(environments=Environments(config))
    said = await answer(shell, context, command="echo ${WORK_DIRECTORY-no} $MY_TOKEN $NODE_ENV")
    assert said.startswith("no allowed test\n")


SESSION = """
import asyncio, sys, pathlib
from tests.tools.contexts import Contexts, answer
from yourtool.tools.commands.shell import shell
root = pathlib.Path(sys.argv[1])
context = Contexts(root, root)()
for line in ("stty -echo", "stty raw < /dev/tty", "cat", "vim -c q", "echo > /dev/tty", "tty"):
    print(asyncio.run(answer(shell, context, command=line, timeout_seconds=5)))
"""


@pytest.mark.req("R-TOOL-05")
def test_command_leaves_the_terminal_unchanged(root):
    controller, terminal = pty.openpty()
    try:
        before = termios.tcgetattr(terminal)
        done = subprocess.run(
            [sys.executable, "-c", SESSION, str(root)],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((".", *sys.path))},
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            start_new_session=True,
        )
        assert done.returncode == 0, done.stdout
        assert "not a tty" in done.stdout
        assert termios.tcgetattr(terminal) == before
        os.set_blocking(controller, False)
        with pytest.raises(BlockingIOError):
            os.read(controller, 1)
    finally:
        os.close(controller)
        os.close(terminal)


def test_a_shell_is_ended_before_its_command(monkeypatch):
    """Otherwise it would start the next command in between."""
    ended = []
    monkeypatch.setattr(process.os, "kill", lambda pid, _number: ended.append(pid))
    process._send_signal({4_096, 7, 65, 33}, signal.SIGTERM)
    assert ended == [7, 33, 65, 4_096]
