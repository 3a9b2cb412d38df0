"""Ordinary commands work in the sandbox as in a shell, and others are blocked or taken back."""

import asyncio
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.contexts import answer, call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.sandbox import bubblewrap

FULL, LANDLOCK, NONE = SandboxLevel.FULL, SandboxLevel.LANDLOCK, SandboxLevel.NONE


def git(root, *arguments):
    return subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


@pytest.fixture
def repository(root):
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "n")
    git(root, "config", "user.email", "e@example.org")
    (root / "AGENTS.md").write_text("be kind\n")
    return root


def snapshot(root):
    """Return the names, kinds and contents of all that is protected."""
    places = [root / ".git/hooks", root / ".git/config", root / "AGENTS.md", root / ".claude"]
    found = {}
    for place in places:
        for path in (place, *sorted(place.rglob("*"))) if place.exists() else ():
            found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_variables_that_load_code_are_set_inside_the_sandbox_only(
    root, contexts, monkeypatch, level
):
    library = str(root / "lib")
    monkeypatch.setenv("LD_LIBRARY_PATH", library)
    sandbox = build_sandbox(root, level)
    command = ShellCommand(("/bin/true",), root, {"PATH": "/bin", "LD_LIBRARY_PATH": library})
    async with sandbox.enclose(command) as enclosed:
        is_inside = enclosed.command.starter is not None  # nothing else gets its environment
        assert is_inside or "LD_LIBRARY_PATH" not in enclosed.command.environment
    said = await answer(shell, contexts(sandbox=sandbox), command="echo $LD_LIBRARY_PATH")
    assert said == f"{library}\n[exit code 0]"


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
        "git config branch.other.description text && git worktree add -q sub -b fourth",
        "git worktree remove sub && git clean -fdxq && git init -q",
        "echo x > /tmp/x && mktemp && (sleep 0.01 & wait)",
        "echo x > /var/tmp/anything && cat /var/tmp/anything",
        "mkdir -p build && echo x > build/out && sed -i s/x/y/ build/out && mv build/out here",
    ):
        said = await answer(shell, context, command=line)
        assert said.rpartition("\n")[2].startswith("[exit code 0"), (line, said)
    assert await answer(shell, context, command="cat /tmp/x") == "x\n[exit code 0]"
    assert context.sandbox.places.take() == ((), ())
    await context.sandbox.close()


async def test_empty_folder_stays_empty_and_becomes_a_repository(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    assert await answer(shell, context, command="ls -A | wc -l") == "0\n[exit code 0]"
    await answer(shell, context, command="git init -q . && git status -s")
    assert await answer(shell, context, command="ls -A") == ".git\n[exit code 0]"
    output = await call(shell, context, command="echo x > .git/hooks/pre-commit")
    assert not output.success, "the new repository is protected from the next command on"
    await context.sandbox.close()
    assert [path.name for path in root.iterdir()] == [".git"]


@pytest.mark.parametrize(
    "line",
    [
        "git config core.pager evil",
        "git config alias.x '!evil'",
        "mkdir -p .claude/commands && echo x > .claude/commands/a.md",
        "echo x >> AGENTS.md",
        "rm AGENTS.md",
        "rm AGENTS.md; ln -s /etc/passwd AGENTS.md",
        "echo ../evil > .git/commondir",
        r"printf -- '--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-be kind\n+x\n' | git apply",
        r"printf -- '--- /dev/null\n+++ b/.claude/a\n@@ -0,0 +1 @@\n+x\n' | git apply",
        "mkdir a; echo x > a/AGENTS.md; tar cf a.tar -C a AGENTS.md; tar xf a.tar --overwrite",
        "echo x > AGENTS.md; git add -A; git commit -qm x; git checkout -qb b; git checkout -q -",
    ],
)
async def test_change_of_a_protected_place_is_taken_back(line, repository, contexts):
    context = contexts(sandbox=build_sandbox(repository, FULL))
    before = snapshot(repository)
    assert (await call(shell, context, command=line)).success
    changes, _ = context.sandbox.places.take()
    assert changes
    assert snapshot(repository) == before
    assert not (repository / ".git/commondir").exists()
    await context.sandbox.places.apply(changes)
    assert snapshot(repository) != before or (repository / ".git/commondir").exists()
    await context.sandbox.close()


@pytest.mark.parametrize(
    "line",
    [
        "echo x > .git/hooks/pre-commit",
        "mv .git/hooks .git/old",
        "mv .git .git2 && mkdir -p .git/hooks",
        "rm -rf .git/hooks",
        "echo x > /etc/profile.d/x.sh",
    ],
)
async def test_hooks_of_git_and_files_outside_are_read_only(line, repository, contexts):
    context = contexts(sandbox=build_sandbox(repository, FULL))
    before = snapshot(repository)
    assert not (await call(shell, context, command=line)).success
    assert snapshot(repository) == before
    assert not (repository / ".git2").exists()
    await context.sandbox.close()


async def test_dangerous_setting_of_git_is_taken_back_while_the_command_runs(repository, contexts):
    context = contexts(sandbox=build_sandbox(repository, FULL))
    (repository / "hidden.sh").write_text("git config core.fsmonitor evil\n")
    line = "sh hidden.sh; until ! grep -q evil .git/config; do sleep .01; done"
    output = await call(shell, context, command=f"{line}; echo gone")
    assert output.content[0].text.startswith("gone")
    assert [each.path for each in context.sandbox.places.take()[0]] == [".git/config"]
    await context.sandbox.close()


async def test_inner_repository_can_be_renamed_and_deleted(repository, contexts):
    (repository / "inner").mkdir()
    git(repository / "inner", "init", "-q")
    context = contexts(sandbox=build_sandbox(repository, FULL))
    assert (await call(shell, context, command="mv inner other && rm -rf other")).success
    assert not (repository / "other").exists()
    await context.sandbox.close()


async def test_secrets_of_the_home_directory_cannot_be_read(root, home, contexts):
    names = (".ssh/id_rsa", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".bash_history",
             "other-project/.env", ".config/new-agent/auth.json", ".local/share/keyrings/x",
             "Documents/wallet.dat", ".npmrc")  # fmt: skip
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("_authToken=canary\n")
    context = contexts(sandbox=build_sandbox(root, FULL))
    said = await answer(shell, context, command="cat " + " ".join(f"~/{name}" for name in names))
    assert "canary" not in said
    assert "canary" not in await answer(shell, context, command="grep -r canary ~ /var/tmp")
    await context.sandbox.close()


async def test_write_that_would_be_lost_fails(root, home, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    for line in ("echo x > ../beside", "echo x > ~/note", "mkdir ~/new", "git worktree add ../w"):
        assert not (await call(shell, context, command=line)).success
    for line in ("echo x > ~/.cache/x", "mkdir -p ~/.config/tool", "echo x > /tmp/x"):
        assert (await call(shell, context, command=line)).success
    await context.sandbox.close()


async def test_hidden_remote_is_named_where_git_does_not_find_it(repository, home, contexts):
    git(home, "init", "-q", "--bare", "remote.git")
    git(repository, "remote", "add", "origin", str(home / "remote.git"))
    context = contexts(sandbox=build_sandbox(repository, FULL))
    for line in ("git fetch", "git fetch 2>&1 | tail -5"):
        output = await call(shell, context, command=line)
        assert output.blocked is not None
        assert output.blocked.cause.startswith(f"the sandbox hides `{home}/remote.git`")
        assert not output.blocked.is_certain
    await context.sandbox.close()


async def test_cache_is_read_and_what_is_written_to_it_stays_in_the_sandbox(root, home, contexts):
    cache = home / ".cargo/registry"
    cache.mkdir(parents=True)
    (cache / "warm").write_text("warm\n")
    context = contexts(sandbox=build_sandbox(root, FULL))
    line = (
        "cat ~/.cargo/registry/warm && echo x > ~/.cargo/registry/new && rm ~/.cargo/registry/warm"
    )
    output = await call(shell, context, command=line)
    if context.sandbox._enclosure.read_only_caches:
        pytest.skip("this kernel has no overlays for ordinary users")
    assert output.content[0].text == "warm\n[exit code 0]"
    assert await answer(shell, context, command="cat ~/.cargo/registry/new") == "x\n[exit code 0]"
    assert [path.name for path in cache.iterdir()] == ["warm"]
    await context.sandbox.close()


async def test_server_of_one_command_is_reached_by_the_next(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    (root / "index.html").write_text("hello\n")
    server = f"{sys.executable} -u -m http.server 8123"
    await call(shell, context, command=server, background=True)
    fetch = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123/').read())"
    line = f'until {sys.executable} -c "{fetch}" 2>/dev/null; do sleep .05; done'
    assert "hello" in await answer(shell, context, command=line)
    await context.processes.close()
    await context.sandbox.close()


async def test_sockets_and_pipes_of_other_programs_are_not_reached(root, contexts):
    place = Path("/var/lib") if os.access("/var/lib", os.W_OK) else None
    names = [root / "inside.sock"]
    names += [place / f"yourtool-test-{secrets.token_hex(4)}.sock"] if place else []
    context = contexts(sandbox=build_sandbox(root, FULL))
    connect = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"
    for name in names:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(name)) if len(str(name)) < 100 else pytest.skip("long path")
            server.listen()
            line = f'{sys.executable} -c "{connect}" {name}'
            assert not (await call(shell, context, command=line)).success
        name.unlink()
        await context.sandbox.close()
    if place is not None:
        pipe = place / f"yourtool-test-{secrets.token_hex(4)}"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            output = await call(shell, context, command=f"echo x > {pipe}")
            if "Permission denied" not in output.content[0].text:
                pytest.skip("this kernel has no Landlock")
            assert os.read(reader, 10) == b""
        finally:
            os.close(reader)
            pipe.unlink()
            await context.sandbox.close()


async def test_socket_that_appears_after_the_start_is_reached(root, contexts):
    """A known limit: sockets are covered when the sandbox is made."""
    context = contexts(sandbox=build_sandbox(root, FULL))
    await call(shell, context, command="true")
    name = root / "s"
    connect = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(name)) if len(str(name)) < 100 else pytest.skip("long path")
        server.listen()
        line = f'{sys.executable} -c "{connect}" {name}'
        assert (await call(shell, context, command=line)).success
    await context.sandbox.close()


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_settings_of_the_kernel_cannot_be_opened(level, root, contexts):
    opening = "import os; os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)"
    context = contexts(sandbox=build_sandbox(root, level))
    assert not (await call(shell, context, command=f'{sys.executable} -c "{opening}"')).success
    await context.sandbox.close()


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
async def test_writable_directories_of_the_settings_are_writable(level, root, contexts, tmp_path):
    extra, other = tmp_path / "extra", tmp_path / "other"
    extra.mkdir()
    other.mkdir()
    context = contexts(sandbox=build_sandbox(root, level, writable=(str(extra), "/none")))
    assert (await call(shell, context, command=f"echo x > {extra}/x")).success
    assert (extra / "x").exists()
    await call(shell, context, command=f"echo x > {other}/x")
    assert not (other / "x").exists()
    await context.sandbox.close()


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
    await context.sandbox.close()


async def test_command_has_the_variables_of_agents_and_daemons_but_not_their_sockets(
    root, contexts, monkeypatch, tmp_path
):
    place = tmp_path / "agent"
    for name in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "DOCKER_HOST"):
        monkeypatch.setenv(name, str(place))
    context = contexts(sandbox=build_sandbox(root, FULL))
    assert (await answer(shell, context, command="env")).count(str(place)) == 4
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(place)) if len(str(place)) < 100 else pytest.skip("long path")
        agent.listen()
        said = await answer(shell, context, command='ls "$SSH_AUTH_SOCK"')
        assert "No such file" in said
    await context.sandbox.close()


async def test_repository_behind_a_link_cannot_be_written_and_commands_run(
    root, contexts, tmp_path
):
    (tmp_path / "elsewhere").mkdir()
    git(tmp_path / "elsewhere", "init", "-q")
    (root / ".git").symlink_to(tmp_path / "elsewhere/.git")
    context = contexts(sandbox=build_sandbox(root, FULL))
    assert (await call(shell, context, command="touch ran")).success
    assert not (await call(shell, context, command="git add ran")).success
    await context.sandbox.close()


async def test_daemon_without_a_trace_ends_with_its_command(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    (root / "sub").mkdir()
    line = "setsid env -i sh -c 'while :; do echo >> sub/alive; sleep .01; done' >/dev/null 2>&1 &"
    said = await answer(
        shell, context, command=f"{line} until [ -s sub/alive ]; do sleep .01; done"
    )
    assert "what it left running was ended" in said
    size = (root / "sub/alive").stat().st_size
    await asyncio.sleep(0.05)
    assert (root / "sub/alive").stat().st_size == size
    await context.sandbox.close()


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
    await context.sandbox.close()


@pytest.mark.parametrize(
    ("line", "code"),
    [("exit 3", 3), ("kill -9 $$", -9), ("kill -9 1; kill -STOP 1; kill -9 -1; exit 4", 4),
     ("nosuchprogram", 127), ("for i in $(seq 200); do sleep 100 & done; exit 5", 5)],
)  # fmt: skip
async def test_exit_code_is_that_of_the_command(line, code, root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    output = await call(shell, context, command=line)
    assert output.details["exit_code"] == code
    await context.sandbox.close()


async def test_processes_of_other_calls_are_neither_seen_nor_signalled(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    await call(shell, context, command="sleep 1000", background=True)
    said = await answer(shell, context, command="ps ax | grep -c 'sleep 100[0]'; pkill sleep")
    assert said.startswith("0\n")
    assert [process.is_running for process in context.processes.background] == [True]
    await context.processes.close()
    await context.sandbox.close()


async def test_without_any_sandbox_commands_run_as_before(root, contexts):
    context = contexts(sandbox=build_sandbox(root, NONE, enabled=False))
    output = await call(shell, context, command="echo x > new; exit 3")
    assert output.details["exit_code"] == 3
    assert output.blocked is None
    assert (root / "new").exists()


async def test_landlock_makes_git_read_only(repository, contexts):
    context = contexts(sandbox=build_sandbox(repository, LANDLOCK))
    (repository / "src").mkdir()
    said = await answer(shell, context, command="echo x > src/new && cat src/new && git status -s")
    assert "[exit code 0]" in said
    for line in ("git add -A", "echo x > new", "echo x >> AGENTS.md"):
        assert not (await call(shell, context, command=line)).success
    assert sorted(path.name for path in repository.iterdir()) == [".git", "AGENTS.md", "src"]


async def test_git_without_a_repository_says_the_same_as_in_a_shell(root, contexts):
    context = contexts(sandbox=build_sandbox(root, FULL))
    done = await call(shell, context, command="git status")
    assert "not a git repository (or any of the parent directories): .git" in done.content[0].text
    await context.sandbox.close()


async def test_full_temporary_directory_is_an_error_of_the_command_only(
    root, contexts, monkeypatch
):
    monkeypatch.setattr(bubblewrap, "MEMORY_BYTES", 2**26)
    context = contexts(sandbox=build_sandbox(root, FULL))
    done = await call(shell, context, command="head -c 20000000 /dev/zero > /tmp/x; ls -s /tmp")
    assert "No space left on device" in done.content[0].text
    assert "16384 x" in done.content[0].text
    assert (await call(shell, context, command="rm /tmp/x; echo x > /tmp/y")).success
    await context.sandbox.close()
