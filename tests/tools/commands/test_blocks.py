"""The probable cause of a failure in the sandbox, from what programs print."""

from pathlib import Path

import pytest

from yourtool.agent.turn.calls.sandbox_notes import describe_block
from yourtool.messages.blocks import TextBlock
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.commands.blocks import find_block
from yourtool.tools.sandbox.network.refusals import RefusedHost
from yourtool.tools.sandbox.sandbox import Sandbox

SOCKETS = "the sandbox hides agents, daemons and other servers of this machine"
KEYS = "the sandbox hides your keys and what signs with them"
NETWORK = "the sandbox has no network"
HOOKS = "the sandbox protects the hooks of git"
FILES = "the sandbox lets no command write files outside the workspace"
RIGHTS = "the sandbox gives no program more rights"
DEVICES = "the sandbox hides files with credentials, which are devices in it"


class EnclosingSandbox(Sandbox):
    """A sandbox that encloses at a level, which needs not work here."""

    level = SandboxLevel.FULL


def find(text, refused=(), *, level=SandboxLevel.FULL, has_failed=True, **settings):
    sandbox = EnclosingSandbox(SandboxConfig(**settings), Path("/nowhere"), None)
    sandbox.level = level
    return find_block(sandbox, [TextBlock(text)], refused, has_failed=has_failed)


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it", SOCKETS),
        ("failed to connect to the docker API at unix:///var/run/docker.sock; check if", SOCKETS),
        ("dial unix /run/podman/podman.sock: connect: no such file or directory", SOCKETS),
        ("Could not open a connection to your authentication agent.", SOCKETS),
        ("Failed to connect to bus: No medium found", SOCKETS),
        ('connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed', SOCKETS),
        ("Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock'", SOCKETS),
        ("Error: cannot open display: :0", SOCKETS),
        ("error: gpg failed to sign the data\nfatal: failed to write commit object", KEYS),
        ("error: Couldn't load public key /home/me/.ssh/id.pub: No such file or directory?", KEYS),
        ("git@example.org: Permission denied (publickey).", KEYS),
        ("ssh: Could not resolve hostname example.org: Temporary failure in name", NETWORK),
        ("npm error request to https://r.example failed, reason: getaddrinfo EAI_AGAIN", NETWORK),
        ("[6] Could not resolve hostname (Could not resolve host: index.example)", NETWORK),
        ("urlopen error [Errno 101] Network is unreachable", NETWORK),
        ("curl: (7) Failed to connect to localhost port 5432: Couldn't connect to server",
         None),
        ('connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused',
         None),
        ("Error: connect ECONNREFUSED 127.0.0.1:3000", None),
        ("mkdir: cannot create directory '/home/me/.cache/x': Read-only file system", FILES),
        ("error: EROFS: read-only file system, open '/home/me/.npmrc'", FILES),
        ("sh: 1: cannot create /home/me/notes.txt: Read-only file system", FILES),
        ("bash: ../beside.txt: Read-only file system", FILES),
        ("rm: cannot remove '/home/me/hooks/a': Read-only file system", FILES),
        ("bash: .git/hooks/pre-commit: Read-only file system", HOOKS),
        ("rm: cannot remove '/main/.git/modules/a/hooks/b': Read-only file system", HOOKS),
        ('sudo: The "no new privileges" flag is set', RIGHTS),
        ("error: .npmrc: can only add regular files, symbolic links or git-dir", DEVICES),
        ("AssertionError: assert 1 == 2", None),
        ("web socket closed; unix time 12; display: none; docker file found", None),
    ],
)  # fmt: skip
def test_cause_in_the_output_is_a_guess_that_shows_its_line(printed, cause):
    found = find(f"$ run\n{printed}\n[exit code 1]")
    if cause is None:
        assert found is None
        return
    assert found.cause == cause
    assert found.line in printed.split("\n")
    assert not found.is_certain
    note = describe_block(found, has_user=True)
    assert note == f"[Perhaps {cause}; guessed from the line `{found.line}`.]"


def test_hidden_objects_that_a_repository_borrows_are_named(monkeypatch):
    place = Path("/home/me/other/.git/objects")
    monkeypatch.setattr(EnclosingSandbox, "hides", lambda _self, path: path == place)
    found = find(f"error: unable to normalize alternate object path: {place}\nfatal: bad object")
    assert found.cause == (
        f"the sandbox hides `{place}`; `[sandbox] readable` or `writable` would show it"
    )


def test_workspace_that_is_read_only_itself_is_the_cause():
    class ReadOnly(EnclosingSandbox):
        has_read_only_workspace = True

    sandbox = ReadOnly(SandboxConfig(), Path("/nowhere"), None)
    block = find_block(sandbox, [TextBlock("/nowhere/.git: Read-only file system")], ())
    assert block.cause == "the workspace is on a read-only file system"


def test_repository_of_the_workspace_is_named_among_what_can_be_written(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    sandbox = EnclosingSandbox(SandboxConfig(), tmp_path, None)
    found = find_block(sandbox, [TextBlock("bash: ../a: Read-only file system")], ())
    assert found.cause == (
        "the sandbox lets no command write files outside the workspace and its repository"
    )


@pytest.mark.parametrize(
    ("printed", "has_failed", "is_certain"),
    [
        ("", True, True),
        ("getaddrinfo ENOTFOUND r.example", False, True),
        ("3 passed", False, False),
    ],
)
def test_refused_host_matters_to_a_command_that_failed_or_complains(
    printed, has_failed, is_certain
):
    found = find(printed, [RefusedHost("r.example")], has_failed=has_failed)
    assert found.cause == "the command asked for `r.example`, and the sandbox has no network"
    assert found.is_certain is is_certain


def test_refused_host_of_one_of_several_commands_is_a_guess():
    refused = [RefusedHost("r.example", is_certain=False), RefusedHost("s.example", False)]
    assert not find("failed", refused).is_certain
    found = find("getaddrinfo ENOTFOUND r.example", refused)
    assert (found.hosts, found.is_certain) == (("r.example",), True)


def test_refused_hosts_are_named_with_what_did_not_allow_them():
    refused = [RefusedHost(f"h{number}.example") for number in range(5)]
    assert find("failed", refused, hosts=("a.example",)).cause == (
        "the command asked for `h0.example`, `h1.example`, `h2.example` and 2 more, which the"
        " allowed hosts do not have"
    )


def test_allowed_host_that_is_asked_for_without_the_proxy_is_a_note():
    found = find("failed", [RefusedHost("a.example")], hosts=("a.example",))
    assert found.cause == "the command asked for `a.example`, which only the proxy reaches"
    assert not found.is_certain


def test_long_line_is_cut_and_words_far_from_the_end_of_a_success_do_not_count():
    found = find(f"EROFS {'x' * 10_000}")
    assert len(found.line) == 201
    assert find(f"EROFS\n{'x' * 10_000}", has_failed=False) is None


def test_denial_without_a_user_names_who_denied_and_what_to_set():
    note = describe_block(find("failed", [RefusedHost("r.example")]), has_user=False)
    assert "No user is present to answer" in note
    assert "`r.example` in `[sandbox] hosts` of `config.toml`" in note
    assert "`[sandbox] outside`" in note


def test_nothing_is_blocked_without_a_sandbox():
    refused = [RefusedHost("r.example")]
    assert find("Read-only file system", refused, level=SandboxLevel.NONE) is None
