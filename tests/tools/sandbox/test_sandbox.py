"""Ordinary commands work in the sandbox, and others are blocked."""

import asyncio
import gc
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.tools.contexts import answer, call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.sandbox_config import SandboxLevel
from yourtool.tools.shell import shell

FULL, LANDLOCK, NONE = SandboxLevel.FULL, SandboxLevel.LANDLOCK, SandboxLevel.NONE


def git(root, *arguments):
    return subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


@pytest.fixture
def repository(root):
    git(root, "init", "-q")
    git(root, "config", "user.name", "n")
    git(root, "config", "user.email", "e@example.org")
    (root / "AGENTS.md").write_text("be kind\n")
    return root


async def test_everyday_commands_work_in_the_full_sandbox(repository, contexts):
    context = contexts(sandbox=build_sandbox(repository, FULL))
    python = sys.executable
    (repository / "test_it.py").write_text(
        "import multiprocessing, socket, tempfile\n"
        "def test_it():\n"
        "    multiprocessing.Lock(); tempfile.TemporaryFile()\n"
        "    server = socket.create_server(('127.0.0.1', 0))\n"
        "    socket.create_connection(server.getsockname()).close()\n"
    )
    (repository / "Makefile").write_text("out:\n\tmkdir -p build && echo made > build/out\n")
    for line in (
        f"{python} -m pytest -q -p no:cacheprovider test_it.py",
        "make out && cat build/out",
        "git add -A && git commit -qm one && git log --oneline",
        "git switch -qc other && git stash list && git status --short",
        "git tag v1 && git branch -f third && git gc -q && git worktree list",
        "echo x > /tmp/x && mktemp && (sleep 0.01 & wait)",
        "sed -i s/made/done/ build/out && mv build/out here && rm here",
    ):
        said = await answer(shell, context, command=line)
        assert said.rpartition("\n")[2].startswith("[exit code 0"), (line, said)
    assert await answer(shell, context, command="cat /tmp/x") == "x\n[exit code 0]"


async def test_git_has_no_traces_of_the_sandbox_after_a_command(repository, contexts):
    context = contexts(sandbox=build_sandbox(repository, FULL))
    before = sorted(path.name for path in repository.iterdir())
    parts = sorted(path.name for path in (repository / ".git").iterdir())
    await call(shell, context, command="git status --short; ls -A")
    assert sorted(path.name for path in repository.iterdir()) == before
    assert sorted(path.name for path in (repository / ".git").iterdir()) == parts


@pytest.mark.parametrize(
    "line",
    [
        "echo x > .git/hooks/pre-commit",
        "git config core.pager evil",
        "mv .git .git2 && mkdir -p .git/hooks",
        "mkdir .claude/commands",
        "echo x >> AGENTS.md",
        "rm AGENTS.md",
        "echo ../evil > .git/commondir",
        "echo x > $HOME/.profile",
        r"printf -- '--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-be kind\n+x\n' | git apply",
        r"printf -- '--- /dev/null\n+++ b/.claude/a\n@@ -0,0 +1 @@\n+x\n' | git apply",
        "mkdir a; echo x > a/AGENTS.md; tar cf a.tar -C a AGENTS.md; tar xf a.tar --overwrite",
    ],
)
async def test_change_of_a_protected_place_fails_and_reports_the_sandbox(
    line, repository, contexts
):
    context = contexts(sandbox=build_sandbox(repository, FULL))
    hooks = sorted((repository / ".git/hooks").iterdir())
    output = await call(shell, context, command=line)
    assert not output.success
    assert output.blocked is not None
    assert sorted((repository / ".git/hooks").iterdir()) == hooks
    assert (repository / "AGENTS.md").read_text() == "be kind\n"
    assert not (repository / ".claude").exists()
    assert not (repository / ".git2").exists()


@pytest.fixture
def nested(repository):
    """A repository with others in it."""
    (repository / ".github/workflows").mkdir(parents=True)
    for name in ("inner", "vendor/deep/lib"):
        (repository / name).mkdir(parents=True)
        git(repository / name, "init", "-q")
    return repository


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_directory_with_a_protected_place_cannot_be_replaced(level, nested, contexts):
    context = contexts(sandbox=build_sandbox(nested, level))
    protected = [nested / "inner/.git/hooks", nested / "vendor/deep/lib/.git/hooks"]
    before = [sorted(each.iterdir()) for each in protected]
    for name in (".github", "inner", "vendor", "vendor/deep"):
        line = f"mv {name} moved && mkdir {name}"
        assert not (await call(shell, context, command=line)).success
        assert [sorted(each.iterdir()) for each in protected] == before
        assert name == "vendor/deep" or not (nested / "moved").exists()  # `mv` copies it
    assert (nested / ".github/workflows").is_dir()
    if level is FULL:
        line = "touch .github/dependabot.yml && echo x > inner/file && rm inner/file"
        assert (await call(shell, context, command=line)).success


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_directory_with_a_protected_place_cannot_be_deleted(level, nested, contexts):
    context = contexts(sandbox=build_sandbox(nested, level))
    for name in ("inner", "vendor"):
        assert not (await call(shell, context, command=f"rm -rf {name}")).success
    assert list((nested / "inner/.git/hooks").iterdir())
    assert list((nested / "vendor/deep/lib/.git/hooks").iterdir())


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_settings_of_the_kernel_cannot_be_opened(level, root, contexts):
    opening = "import os; os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)"
    context = contexts(sandbox=build_sandbox(root, level))
    assert not (await call(shell, context, command=f'{sys.executable} -c "{opening}"')).success


async def test_landlock_makes_git_read_only_and_reports_it(repository, contexts):
    context = contexts(sandbox=build_sandbox(repository, LANDLOCK))
    (repository / "src").mkdir()
    said = await answer(shell, context, command="echo x > src/new && cat src/new && git status -s")
    assert "[exit code 0]" in said
    for line in ("git add -A", "echo x > new", "echo x >> AGENTS.md"):
        output = await call(shell, context, command=line)
        assert not output.success
        assert output.blocked is not None
    assert sorted(path.name for path in repository.iterdir()) == [".git", "AGENTS.md", "src"]


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_network_is_missing_and_the_result_names_the_sandbox(level, root, contexts):
    context = contexts(sandbox=build_sandbox(root, level))
    line = f"{sys.executable} -c 'import urllib.request as u; u.urlopen(\"http://example.org\")'"
    output = await call(shell, context, command=line)
    assert not output.success
    if level is FULL:
        assert output.blocked == "the sandbox has no network"


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_writable_directories_of_the_settings_are_writable(level, root, contexts, tmp_path):
    extra, other = tmp_path / "extra", tmp_path / "other"
    extra.mkdir()
    other.mkdir()
    context = contexts(sandbox=build_sandbox(root, level, writable=(str(extra), "/none")))
    assert (await call(shell, context, command=f"echo x > {extra}/x")).success
    assert (extra / "x").exists()
    assert not (await call(shell, context, command=f"echo x > {other}/x")).success
    assert not (other / "x").exists()


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_long_output_of_a_session_stays_readable(level, root, contexts, tmp_path):
    own = tmp_path / "state"
    spill = own / "spill"
    spill.mkdir(parents=True)
    (own / "sessions.db").write_text("secret")
    (spill / "long.txt").write_text("long")
    context = contexts(sandbox=build_sandbox(root, level, own=(own,), readable=(spill,)))
    assert "long" in await answer(shell, context, command=f"cat {spill}/long.txt")
    said = await answer(shell, context, command=f"cat {own}/sessions.db")
    assert "secret" not in said


@pytest.mark.parametrize("level", [FULL, LANDLOCK, NONE])
async def test_command_has_no_variables_of_agents_and_daemons(level, root, contexts, monkeypatch):
    for name in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "DOCKER_HOST"):
        monkeypatch.setenv(name, "canary")
    context = contexts(sandbox=build_sandbox(root, level))
    assert "canary" not in await answer(shell, context, command="env")


async def test_command_that_the_sandbox_cannot_protect_is_not_run(root, contexts, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (root / ".git").symlink_to(tmp_path / "elsewhere")
    context = contexts(sandbox=build_sandbox(root, FULL))
    output = await call(shell, context, command="touch ran")
    assert not output.success
    cause = "the sandbox could not be built: `.git` is a symbolic link, so it cannot be protected"
    assert output.blocked == cause
    assert cause in output.content[0].text
    assert not (root / "ran").exists()


async def test_two_commands_share_the_masks_of_missing_names(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    line = "touch started; until [ -e go ]; do sleep .01; done; mkdir .claude/x"
    first = asyncio.create_task(call(shell, context, command=line))
    while not (root / "started").exists():
        await asyncio.sleep(0.01)
    assert (await call(shell, context, command="true")).success
    (root / "go").touch()
    assert not (await first).success
    assert sorted(path.name for path in root.iterdir()) == ["go", "started"]


async def test_daemon_without_a_trace_ends_with_its_command(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    (root / "sub").mkdir()
    line = "setsid env -i sh -c 'while :; do echo >> sub/alive; sleep .01; done' >/dev/null 2>&1 &"
    await call(shell, context, command=f"{line} until [ -s sub/alive ]; do sleep .01; done")
    size = (root / "sub/alive").stat().st_size
    await asyncio.sleep(0.05)
    assert (root / "sub/alive").stat().st_size == size


async def test_command_in_the_sandbox_gets_a_signal_before_it_is_killed(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    line = "trap 'echo stopped > sign; exit 3' TERM; touch up; while :; do sleep 0.01; done"
    running = asyncio.create_task(call(shell, context, command=line))
    while not (root / "up").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (root / "sign").read_text() == "stopped\n"


def test_temporary_directory_of_a_session_is_removed_with_it(root, contexts):
    name, sandbox = secrets.token_hex(8), build_sandbox(root, FULL)
    asyncio.run(call(shell, contexts(sandbox=sandbox), command=f"touch /tmp/{name}"))
    [temporary] = set(Path(tempfile.gettempdir()).glob(f"yourtool-*/{name}"))
    assert not Path("/tmp", name).exists()
    assert temporary.parent.stat().st_mode & 0o777 == 0o700
    del sandbox
    for _ in range(100):  # a thread that ends can refer to it for a moment
        gc.collect()
        if not temporary.parent.exists():
            break
        time.sleep(0.02)
    assert not temporary.parent.exists()


async def test_process_in_the_background_names_who_cannot_connect_to_it(
    root, contexts, monkeypatch
):
    monkeypatch.setattr("yourtool.tools.shell.FIRST_OUTPUT_SECONDS", 0.05)
    for level, is_named in ((FULL, True), (NONE, False)):
        context = contexts(sandbox=build_sandbox(root, level))
        said = await answer(shell, context, command="echo up; sleep 100", background=True)
        assert ("neither other commands nor a browser can connect to it]" in said) is is_named
        await context.processes.close()


async def test_without_any_sandbox_commands_run_as_before(root, contexts):
    context = contexts(sandbox=build_sandbox(root, NONE))
    output = await call(shell, context, command="echo x > new; exit 3")
    assert output.details["exit_code"] == 3
    assert output.blocked is None
    assert (root / "new").exists()
