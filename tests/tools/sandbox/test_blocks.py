"""The probable cause of a failure in the sandbox, from what programs print."""

import pytest

from tests.tools.sandbox.levels import FixedMeter
from yourtool.messages.blocks import TextBlock
from yourtool.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.sandbox.blocks import find_block
from yourtool.tools.sandbox.sandbox import Sandbox

SOCKETS = "the sandbox hides agents, daemons and other servers of this machine"
KEYS = "the sandbox hides your keys and what signs with them"
NETWORK = "the sandbox has no network"
SERVERS = "the sandbox has no network, and reaches no server of this machine"
FILES = "the sandbox protects files outside the workspace, and protected places in it"


@pytest.fixture
def find(tmp_path):
    """Returns the cause of a printed text in a full sandbox, which needs not work here."""
    meter = FixedMeter(SandboxConfig(enabled=True), SandboxLevel.FULL)
    meter.measure()
    sandbox = Sandbox(SandboxConfig(enabled=True), tmp_path, meter)
    return lambda text: find_block(sandbox, [TextBlock(text)], ())


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
         SERVERS),
        ('connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused',
         SERVERS),
        ("Error: connect ECONNREFUSED 127.0.0.1:3000", SERVERS),
        ("mkdir: cannot create directory '/home/me/.cache/x': Read-only file system", FILES),
        ("error: EROFS: read-only file system, open '/home/me/.npmrc'", FILES),
        ("AssertionError: assert 1 == 2", None),
        ("web socket closed; unix time 12; display: none; docker file found", None),
    ],
)  # fmt: skip
def test_cause_of_a_failure_is_found_in_the_output(find, printed, cause):
    assert find(f"$ run\n{printed}\n[exit code 1]") == cause


def test_nothing_is_blocked_without_a_sandbox(tmp_path):
    meter = FixedMeter(SandboxConfig(enabled=True), SandboxLevel.NONE)
    meter.measure()
    sandbox = Sandbox(SandboxConfig(enabled=True), tmp_path, meter)
    assert find_block(sandbox, [TextBlock("Read-only file system")], ()) is None
