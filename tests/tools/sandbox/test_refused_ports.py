"""Services of this machine that commands in the sandbox do not reach."""

import asyncio
import socket
import sys

import msgspec
import pytest

from tests.tools.contexts import call
from tests.tools.sandbox.levels import build_sandbox
from yourtool.agent.turn.calls.sandbox_notes import describe_block
from yourtool.settings.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.network.listening import find_listening
from yourtool.tools.sandbox.network.loopback_answers import PortAnswer, parse_packet

CONNECT = "import socket; socket.create_connection(('127.0.0.1', {}), 5)"


@pytest.fixture
async def service():
    """The port of a server of this machine, in a separate process."""
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0));"
        "print(s.getsockname()[1], flush=True); s.settimeout(60)\n"
        "while True:\n c = s.accept()[0]; c.sendall(b'service'); c.close()"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    yield int(await process.stdout.readline())
    process.kill()
    await process.wait()


def find_free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


async def run(root, contexts, line, **settings):
    sandbox = build_sandbox(root, SandboxLevel.FULL, **settings)
    try:
        return await call(shell, contexts(sandbox=sandbox), command=line)
    finally:
        await sandbox.close()


def connect(port):
    return f'{sys.executable} -c "{CONNECT.format(port)}"'


async def test_port_of_a_service_of_this_machine_is_named_when_it_is_refused(
    root, contexts, service
):
    output = await run(root, contexts, connect(service))
    assert not output.success
    assert describe_block(output.blocked, has_user=True) == (
        f"[The sandbox has a loopback address of its own, so port {service} of this machine is not"
        " reachable in it. Ask with `outside` to run the command outside of it; the user can name"
        " the port in `[sandbox] ports` of `config.toml`.]"
    )
    assert output.blocked.hosts == ()


async def test_port_is_named_although_the_output_and_the_exit_code_hide_it(root, contexts, service):
    output = await run(root, contexts, f"{connect(service)} 2>/dev/null | tail -1")
    assert output.success
    assert f"port {service} of this machine" in output.blocked.cause


async def test_port_on_which_nothing_listens_anywhere_is_not_named(root, contexts):
    assert (await run(root, contexts, connect(find_free_port()))).blocked is None


async def test_port_that_a_server_in_the_sandbox_took_later_is_not_named(root, contexts, service):
    serve = f"import socket; s = socket.create_server(('127.0.0.1', {service})); s.accept()"
    line = (
        f'{connect(service)}; {sys.executable} -c "{serve}" &'
        f" until {connect(service)}; do sleep .05; done 2>/dev/null; exit 3"
    )
    assert (await run(root, contexts, line)).blocked is None


async def test_refused_port_of_one_of_several_commands_is_a_guess(root, contexts, service):
    sandbox = build_sandbox(root, SandboxLevel.FULL)
    context = contexts(sandbox=sandbox)
    other = asyncio.ensure_future(call(shell, context, command="touch on; sleep 30"))
    while not (root / "on").exists():
        await asyncio.sleep(0.02)
    output = await call(shell, context, command=connect(service))
    note = describe_block(output.blocked, has_user=True)
    assert note.startswith("[Perhaps the sandbox has a loopback address of its own, so port")
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    await sandbox.close()


async def test_own_listeners_are_no_services_of_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as found:
        assert found.getsockname()[1] not in await asyncio.to_thread(find_listening)


async def test_listeners_on_other_addresses_are_not_on_the_loopback(tmp_path):
    row = "   0: {} 00000000:0000 {} 00000000:00000000 00:00000000 00000000 0 0 {}\n"
    loopback6 = "0000000000000000000000000" + "1000000"
    mapped = "0000000000000000FFFF00000100007F"
    rows = (
        ("0100007F:1538", "0A", 1), ("00000000:1539", "0A", 2), ("0101A8C0:153A", "0A", 3),
        ("0100007F:153B", "01", 4), (f"{loopback6}:153C", "0A", 5), (f"{'0' * 32}:153D", "0A", 6),
        (f"{mapped}:153E", "0A", 7), (f"{'1' * 32}:153F", "0A", 8), ("", "", ""),
    )  # fmt: skip
    table = tmp_path / "tcp"
    table.write_text("head\n" + "".join(row.format(*each) for each in rows))
    found = await asyncio.to_thread(find_listening, (str(table), str(tmp_path / "none")))
    assert found == {0x1538, 0x1539, 0x153C, 0x153D, 0x153E}


READ = (
    "import socket; s = socket.create_connection(('127.0.0.1', {}), 20); print(s.recv(20).decode())"
)


async def test_port_of_the_settings_is_reached_at_the_same_address(root, contexts, service):
    line = f'{sys.executable} -c "{READ.format(service)}"'
    output = await run(root, contexts, line, ports=(service,))
    assert output.success
    assert "service" in output.content[0].text
    assert output.blocked is None


async def test_port_of_the_settings_is_the_only_one_that_is_reached(root, contexts, service):
    output = await run(root, contexts, connect(service), ports=(find_free_port(),))
    assert f"port {service} of this machine" in output.blocked.cause


async def test_connection_to_a_port_without_a_service_is_reset(root, contexts):
    port = find_free_port()
    line = f'{sys.executable} -c "{READ.format(port)}"'
    output = await run(root, contexts, line, ports=(port,))
    assert "ConnectionResetError" in output.content[0].text


async def test_sandbox_with_ports_of_this_machine_counts_as_one_with_a_network(root):
    sandbox = build_sandbox(root, SandboxLevel.FULL, ports=(5432,), auto_allow=True)
    await sandbox.measure()
    assert not sandbox.allows_commands
    assert sandbox.describe() == "full sandbox; network: 127.0.0.1:5432"
    await sandbox.close()


async def test_port_of_the_settings_can_be_that_of_the_proxy(root, contexts):
    output = await run(root, contexts, "echo $http_proxy", ports=(8118,), hosts=("a.example",))
    assert output.content[0].text.startswith("http://127.0.0.1:8119\n")


@pytest.mark.parametrize("port", [0, 80, 65_536, -1, "5432"])
def test_port_of_the_settings_is_one_that_is_not_of_the_system(port):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"ports": [port]}, SandboxConfig)


@pytest.mark.parametrize(
    ("packet", "answer"),
    [
        ("450000280000400040063cce7f0000017f00000115388c2a00000000604a5f585014000050c90000",
         PortAnswer(5432, is_refused=True)),
        ("4500003c0000400040063cba7f0000017f000001177093b89b91da9795dd9cd3a012ffcbfe300000",
         PortAnswer(6000, is_refused=False)),
        ("450000280000400040063cce7f0000017f00000115388c2a00000001604a5f585014000050c90000", None),
        ("4f00", None),
        ("", None),
    ],
)  # fmt: skip
def test_only_answers_to_attempts_to_connect_count(packet, answer):
    assert parse_packet(bytes.fromhex(packet)) == answer
