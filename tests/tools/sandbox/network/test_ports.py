"""Servers in the sandbox that the user's browser reaches."""

import asyncio
import http.client
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from tests.tools.contexts import answer, call
from tests.tools.sandbox.levels import build_sandbox, require
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.commands.process_tools import process_output, process_stop
from yourtool.tools.commands.shell import shell
from yourtool.tools.sandbox.network import ports

FULL = SandboxLevel.FULL
SERVER = f"{sys.executable} -u -m http.server"
LISTEN = "import socket; s = [socket.create_server(('127.0.0.1', {port} + n)) for n in range({n})]"

WAIT = "until [ -e go ]; do sleep .02; done"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(ports, "_OFTEN_SECONDS", 0.02)


@pytest.fixture
async def context(root, contexts, monkeypatch):
    """A context whose processes are in the sandbox; its calls wait shortly for first output."""
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 0.05)
    made = contexts(sandbox=build_sandbox(root, FULL))
    (root / "index.html").write_text("hello\n")
    yield made
    await made.processes.close()
    await made.sandbox.close()


def find_free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def is_reached(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def fetch(port, path="/"):
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        browser.request("GET", path)
        return browser.getresponse().read()
    finally:
        browser.close()


async def start(context, line, name="p1"):
    await call(shell, context, command=line, background=True)
    return context.processes.get(name)


async def wait_for_address(process, pattern=r"http://127\.0\.0\.1:(\d+)"):
    """Wait until a process serves what matches, and return the port of the user."""
    async with asyncio.timeout(20):
        while not (found := re.search(pattern, await process.find_servers())):
            await asyncio.sleep(0.02)
    return int(found[1])


async def wait_until_silent(process):
    async with asyncio.timeout(20):
        while await process.find_servers():
            await asyncio.sleep(0.02)


async def test_browser_reaches_a_server_at_the_same_port(context):
    port = find_free_port()
    process = await start(context, f"{SERVER} {port}")
    assert await wait_for_address(process) == port
    assert await asyncio.to_thread(fetch, port) == b"hello\n"
    said = await answer(process_output, context, id="p1")
    assert f"s, listens on http://127.0.0.1:{port}]" in said


async def test_later_command_reaches_the_server_at_the_same_address(context):
    port = find_free_port()
    process = await start(context, f"{SERVER} {port}")
    await wait_for_address(process)
    assert "hello" in await answer(shell, context, command=f"curl -s http://127.0.0.1:{port}/")


async def test_result_of_the_call_names_the_address(context, monkeypatch):
    monkeypatch.setattr("yourtool.tools.commands.shell.FIRST_OUTPUT_SECONDS", 20)
    port = find_free_port()
    ready = f"{LISTEN.format(port=port, n=1)}; import time; time.sleep(99)"
    running = asyncio.ensure_future(
        answer(shell, context, command=f'{sys.executable} -c "{ready}"', background=True)
    )
    await running_command(context)
    async with asyncio.timeout(20):
        [command] = context.processes._foreground
        while command.servers is None or port not in await listening(command):
            await asyncio.sleep(0.02)
    command.move()
    assert f"; listens on http://127.0.0.1:{port}]" in await running


async def running_command(context):
    async with asyncio.timeout(20):
        while not context.processes._foreground:
            await asyncio.sleep(0.02)


async def listening(command):
    process = command.servers._process
    return () if process is None else await process.find_ports()


async def test_server_of_a_call_that_is_waited_for_is_not_offered(context):
    port = find_free_port()
    fetching = f"until curl -s http://127.0.0.1:{port}/; do sleep .02; done"
    line = f"{SERVER} {port} & {fetching}; {WAIT}"
    running = asyncio.ensure_future(answer(shell, context, command=line))
    await running_command(context)
    [command] = context.processes._foreground
    async with asyncio.timeout(20):
        while "hello" not in command.output.text():
            await asyncio.sleep(0.02)
    assert await command.find_servers() == ""
    assert not is_reached(port)
    (context.workspace.root / "go").touch()
    assert "hello" in await running


async def test_server_that_starts_late_is_offered_and_shown(context):
    shown = []
    context.processes.on_server = lambda process, text: shown.append((process.id, text))
    port = find_free_port()
    process = await start(context, f"{WAIT}; {SERVER} {port}")
    assert await process.find_servers() == ""
    (context.workspace.root / "go").touch()
    async with asyncio.timeout(20):
        while not shown:
            await asyncio.sleep(0.02)
    assert shown == [("p1", f"listens on http://127.0.0.1:{port}")]
    assert await asyncio.to_thread(fetch, port) == b"hello\n"


async def test_server_that_restarts_is_offered_again(context):
    port = find_free_port()
    line = f"{SERVER} {port} & until [ -e stop ]; do sleep .02; done; kill $!; {WAIT}"
    process = await start(context, f"{line}; exec {SERVER} {port}")
    await wait_for_address(process)
    assert await asyncio.to_thread(fetch, port) == b"hello\n"
    (context.workspace.root / "stop").touch()
    await wait_until_silent(process)
    assert not is_reached(port)
    (context.workspace.root / "go").touch()
    assert await wait_for_address(process) == port
    assert await asyncio.to_thread(fetch, port) == b"hello\n"


async def test_two_servers_have_two_addresses_of_their_own_processes(context):
    first, second = find_free_port(), find_free_port()
    one = await start(context, f"{SERVER} {first}")
    two = await start(context, f"{SERVER} {second}", "p2")
    assert await wait_for_address(one) == first
    assert await wait_for_address(two) == second
    assert one.described_servers == f"listens on http://127.0.0.1:{first}"
    await answer(process_stop, context, id="p1")
    assert not is_reached(first)
    assert await asyncio.to_thread(fetch, second) == b"hello\n"


async def test_port_that_another_program_uses_gets_another_number(context):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await start(context, f"{SERVER} {port}")
        outside = await wait_for_address(process)
        assert outside != port
        shown = f"port {port} in the sandbox, http://127.0.0.1:{outside} for the user"
        shown += f", because another program uses {port}"
        assert process.described_servers == f"listens on {shown}"
        assert await asyncio.to_thread(fetch, outside) == b"hello\n"


async def test_port_of_the_system_is_never_used_outside(context, monkeypatch):
    port = find_free_port()
    monkeypatch.setattr(ports, "_FIRST_FREE_PORT", port + 1)
    process = await start(context, f"{SERVER} {port}")
    assert await wait_for_address(process) != port
    assert not is_reached(port)


async def test_further_ports_than_the_limit_are_named(context, monkeypatch):
    monkeypatch.setattr(ports, "_MAX_OFFERS", 2)
    program = f"{LISTEN.format(port=20_000, n=4)}; import time; time.sleep(99)"
    process = await start(context, f'{sys.executable} -c "{program}"')
    await wait_for_address(process)
    assert process.described_servers.endswith("; not offered to the user: the ports 20002, 20003")
    assert process.described_servers.count("http://127.0.0.1:") == 2


async def test_offer_is_on_the_loopback_address_only(context):
    port = find_free_port()
    process = await start(context, f"{SERVER} {port}")
    await wait_for_address(process)
    [offered] = process.servers._offers.values()
    assert [each.getsockname() for each in offered.sockets] == [("127.0.0.1", port)]


async def test_large_bodies_and_half_closed_connections_arrive(context):
    port = find_free_port()
    program = (
        "import socket\n"
        f"s = socket.create_server(('127.0.0.1', {port}))\n"
        "while True:\n"
        "    c, _ = s.accept()\n"
        "    got = b''.join(iter(lambda: c.recv(65536), b''))\n"
        "    c.sendall(got + b'end'); c.close()\n"
    )
    (context.workspace.root / "echo.py").write_text(program)
    process = await start(context, f"{sys.executable} echo.py")
    await wait_for_address(process)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"x" * 5_000_000)
    writer.write_eof()
    assert await reader.read() == b"x" * 5_000_000 + b"end"
    writer.close()


async def test_connections_beyond_the_limit_are_closed(context, monkeypatch):
    monkeypatch.setattr(ports, "_MAX_CONNECTIONS", 2)
    port = find_free_port()
    program = f"{LISTEN.format(port=port, n=1)}; import time; time.sleep(99)"
    process = await start(context, f'{sys.executable} -c "{program}"')
    await wait_for_address(process)
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
    assert await opened[2][0].read() == b""
    assert not opened[0][0].at_eof()
    for _, writer in opened:
        writer.close()


async def test_nothing_listens_after_the_end_of_a_process(context):
    port = find_free_port()
    process = await start(context, f"{SERVER} {port}")
    await wait_for_address(process)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await process.stop()
    assert not is_reached(port)
    assert await reader.read() == b""
    assert process.described_servers == ""
    writer.close()


async def test_stopped_process_that_runs_on_for_a_moment_is_not_offered(context):
    port = find_free_port()
    process = await start(context, f"trap '' TERM; {SERVER} {port}")
    await wait_for_address(process)
    stopping = asyncio.ensure_future(process.stop())
    await asyncio.sleep(0)
    assert process.is_running
    assert not is_reached(port)
    await stopping


async def test_many_connections_at_once_are_answered(context):
    port = find_free_port()
    process = await start(context, f"{SERVER} {port}")
    await wait_for_address(process)

    async def fetch_one():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answered = await reader.read()
        writer.close()
        return answered

    answers = await asyncio.gather(*(fetch_one() for _ in range(100)))
    assert all(each.endswith(b"hello\n") for each in answers)


def test_nothing_listens_after_the_program_was_killed(root):
    require(FULL)
    port = find_free_port()
    script = f"""
import asyncio, os
from pathlib import Path
from yourtool.settings.sandbox_config import SandboxConfig
from yourtool.tools.processes.process import ShellCommand, run_process
from yourtool.tools.sandbox.sandboxes import Sandboxes
class Sink:
    def feed(self, data): os.write(1, data)
    def close(self): pass
async def main():
    box = Sandboxes(SandboxConfig(enabled=True)).build(Path({str(root)!r}))
    line = {SERVER!r} + " {port}"
    command = ShellCommand(("/bin/sh", "-c", line), Path({str(root)!r}), {{"PATH": os.defpath}})
    async with box.enclose(command) as enclosed:
        enclosed.servers.offer(lambda text: print(text, flush=True))
        await run_process(enclosed.command, Sink(), seconds=None)
asyncio.run(main())
"""
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert program.stdout is not None
    expected = f"listens on http://127.0.0.1:{port}\n".encode()
    assert expected in iter(program.stdout.readline, b"")
    assert is_reached(port)
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()
    assert not is_reached(port)
