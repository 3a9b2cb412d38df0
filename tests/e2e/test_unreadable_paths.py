"""Directories and files that the program may not open: each is a fact, in a sentence."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.sandbox_here import get_variables

PLAIN_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Permission bits count for root, too: https://man7.org/linux/man-pages/man7/capabilities.7.html"""
COMMANDS = [
    ("--version",),
    ("config", "path"),
    ("config", "check"),
    ("trust",),
    ("trust", "list"),
    ("permissions", "check", "git status"),
    ("permissions", "list"),
    ("mcp", "list"),
    ("sessions", "list"),
    ("import", "settings"),
    ("doctor",),
]
STEPS = [
    Reply(calls=[("read_file", {"path": "README.md"}), ("grep", {"pattern": "work"})]),
    Reply(calls=[("shell", {"command": "git status --short"})]),
    Reply(calls=[("shell", {"command": "touch made"})]),
    Reply("All done."),
]
pytestmark = [
    pytest.mark.remaining,
    pytest.mark.skipif(
        os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root reads everything"
    ),
]


class Program:
    """The command line of a user whom permission bits stop, in a workspace."""

    def __init__(self, work: Path, home: Path) -> None:
        self.work, self.home = work, home
        self.prefix = PLAIN_USER if os.geteuid() == 0 else ()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
            **get_variables(),
        }

    def __call__(self, *arguments: str, before: str = "") -> tuple[int, str]:
        """Return the exit code and all output; `before` is a command of the shell."""
        start = ["/bin/sh", "-c", f'{before or ":"}; exec "$@"', "sh"]
        done = subprocess.run(
            [*self.prefix, *start, *YOURTOOL, *arguments],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        output = done.stdout + done.stderr
        assert "internal error" not in output and "Traceback" not in output, output
        return done.returncode, output

    def turn(self, *arguments: str) -> tuple[int, str]:
        """Run a turn of a model that reads, looks at the repository and makes a file."""
        with ProviderServer(list(STEPS)) as server:
            self.environment |= server.environment
            return self("-p", "go", *arguments)


@pytest.fixture
def program(work, tmp_path):
    (tmp_path / "user").mkdir()
    yield Program(work, tmp_path / "user")
    subprocess.run(["chmod", "-R", "u+rwX", tmp_path], check=True)


def close(path: Path) -> None:
    path.mkdir(exist_ok=True)
    path.chmod(0)


def make_loop(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.symlink_to(path.name)


@pytest.mark.parametrize("spoil", [close, make_loop])
def test_commands_work_in_a_workspace_with_unreadable_directories(program, spoil):
    for name in (".git", ".github", ".yourtool"):
        spoil(program.work / name)
    assert [(each, 0) for each in COMMANDS] == [(each, program(*each)[0]) for each in COMMANDS]


@pytest.mark.parametrize("spoil", [close, make_loop])
@pytest.mark.parametrize("name", [".git", ".github", "closed"])
def test_turn_works_in_a_workspace_with_an_unreadable_directory(program, name, spoil):
    spoil(program.work / name)
    code, output = program.turn("--mode", "auto")
    assert code == 0 and "All done." in output.splitlines()
    assert (program.work / "made").exists()


@pytest.mark.parametrize("spoil", [close, make_loop])
def test_unreadable_rules_of_a_project_lose_no_denial(program, spoil):
    folder = program.work / ".yourtool"
    folder.mkdir()
    (folder / "permissions.toml").write_text('schema_version = 1\ndeny = ["shell(touch*)"]\n')
    spoil(folder)
    code, output = program.turn("--mode", "auto")
    assert code == 3
    assert "permissions.toml: it cannot be read: " in output
    assert "every call needs an approval" in output
    assert "`.yourtool/config.toml`, `.yourtool/routing.toml` not used: cannot be opened" in output
    assert not (program.work / "made").exists()


def test_turn_names_instructions_that_cannot_be_read(program):
    (program.work / "AGENTS.md").write_text("Be brief.")
    (program.work / "AGENTS.md").chmod(0)
    code, output = program.turn("--mode", "auto")
    assert code == 0
    assert "`AGENTS.md` not used: cannot be opened; correct the owner, the mode" in output


@pytest.mark.parametrize("kind", ["closed", "a loop", "too long", "a file"])
def test_unusable_directory_in_the_search_path_is_passed_over(program, tmp_path, kind):
    places = {
        "closed": tmp_path / "closed",
        "a loop": tmp_path / "loop",
        "too long": tmp_path / ("x" * 300),
        "a file": tmp_path / "file",
    }
    close(places["closed"])
    make_loop(places["a loop"])
    places["a file"].touch()
    program.environment["PATH"] = f"{places[kind]}:{os.environ['PATH']}"
    assert program("trust")[0] == 0
    assert program("permissions", "check", "git status")[1].startswith("allow")
    code, output = program.turn("--allow", "shell(touch*)")
    assert code == 0 and "All done." in output.splitlines()


@pytest.mark.parametrize("name", ["", ".yourtool", ".local/share/yourtool"])
def test_unreadable_own_directory_is_named_with_the_reason(program, name):
    (program.home / name).mkdir(parents=True, exist_ok=True)
    (program.home / name).chmod(0)
    code, output = program.turn()
    assert code == 2
    assert f"{program.home / name}" in output
    assert "Permission denied; " in output
    assert "YOURTOOL_HOME" in output
    code, output = program("doctor")
    assert code == 1
    assert "Permission denied" in output


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("mkdir a && cd a && rmdir ../a", "`.` is not a directory, or was removed"),
        ("mkdir -p a/b && cd a/b && chmod 0 ..", "`.` cannot be reached: Permission denied"),
    ],
)
def test_unusable_working_directory_is_a_usage_error(program, before, reason):
    code, output = program("config", "check", before=before)
    assert (code, output.splitlines()[0]) == (2, f"yourtool: argument --cwd: {reason}")
    subprocess.run(["chmod", "-R", "u+rwX", program.work], check=True)
    assert program("--version", before=before)[0] == 0


def test_closed_workspace_has_no_files_but_can_be_opened(program):
    program.work.chmod(0o311)
    code, output = program.turn("--mode", "auto")
    assert code == 0 and "All done." in output.splitlines()


def test_missing_home_directory_is_a_usage_error(program):
    unknown = "~no-such-user/x"
    program.environment["YOURTOOL_HOME"] = unknown
    code, output = program("config", "path")
    assert code == 2
    assert f"`YOURTOOL_HOME={unknown}` is not a directory" in output
    del program.environment["YOURTOOL_HOME"]
    assert program("trust", unknown) == (2, program("trust", unknown)[1])
    assert f"`{unknown}` is not a directory" in program("trust", unknown)[1]


def test_session_survives_the_removal_of_its_working_directory(program, work, home):
    folder = work / "gone"
    folder.mkdir()
    with (
        ProviderServer([Reply("Hello there.")]) as server,
        Terminal(YOURTOOL, cwd=folder, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait("Say what to do", "sonnet")
        terminal.say("hello")
        terminal.wait("Hello there")
        folder.rmdir()
        terminal.say("/rename Gone")
        terminal.wait(lambda _: "— Gone".encode() in terminal.output)
        terminal.say("/quit")
        assert terminal.end() == 0


def test_message_is_sent_in_a_directory_whose_name_is_not_utf_8(work, home):
    folder = os.fsencode(work) + b"/d\xe9r"
    Path(os.fsdecode(folder)).mkdir()
    with ProviderServer([Reply("First."), Reply("Second.")]) as server:
        env = {**os.environ, **home, **server.environment, "PYTHONPATH": str(ROOT)}
        for options, said in (((), b"First."), (("-c",), b"Second.")):
            command = (*YOURTOOL, *options, "-p", "hello")
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
            assert (done.returncode, done.stdout.strip()) == (0, said), done.stderr
        assert "First." in str(server.requests[-1][1]), "the session was continued"
