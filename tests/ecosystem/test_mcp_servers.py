"""MCP servers by others: every tool is offered, and called with valid and invalid arguments."""

import asyncio
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.ecosystem.parts import NODE, find_program, find_script
from tests.tools.servers.configured import started
from yourtool.errors import ToolError
from yourtool.tools.servers.server import ServerState
from yourtool.tools.servers.tool import read_texts

pytestmark = [pytest.mark.ecosystem, pytest.mark.needs("tools/mcp")]

EVERYTHING = {
    "echo": {"message": "tide"},
    "get-sum": {"a": 2, "b": 3},
    "get-annotated-message": {"messageType": "success"},
    "get-resource-links": {"count": 2},
    "get-resource-reference": {"resourceType": "Text", "resourceId": 1},
    "get-structured-content": {"location": "New York"},
    "trigger-long-running-operation": {"duration": 1, "steps": 2},
    "gzip-file-as-resource": {"name": "a.gz", "data": "data:text/plain,tide"},
    "simulate-research-query": {"topic": "tide"},
    "trigger-url-elicitation": {"url": "https://example.org/login"},
}
"""Valid arguments; tools that are not named get none."""
FILES = {
    "read_file": {"path": "a.txt"}, "read_text_file": {"path": "a.txt"},
    "read_media_file": {"path": "a.png"}, "read_multiple_files": {"paths": ["a.txt"]},
    "write_file": {"path": "b.txt", "content": "b"},
    "edit_file": {"path": "a.txt", "edits": [{"oldText": "tide", "newText": "ebb"}]},
    "create_directory": {"path": "d"}, "list_directory": {"path": "."},
    "list_directory_with_sizes": {"path": "."}, "directory_tree": {"path": "."},
    "move_file": {"source": "c.txt", "destination": "e.txt"},
    "search_files": {"path": ".", "pattern": "*.txt"}, "get_file_info": {"path": "a.txt"},
}  # fmt: skip
GIT = {
    "git_status": {}, "git_diff_unstaged": {}, "git_diff_staged": {}, "git_log": {},
    "git_diff": {"target": "HEAD"}, "git_add": {"files": ["a.txt"]},
    "git_commit": {"message": "Add c"}, "git_reset": {},
    "git_create_branch": {"branch_name": "other"}, "git_checkout": {"branch_name": "other"},
    "git_show": {"revision": "HEAD"}, "git_branch": {"branch_type": "local"},
}  # fmt: skip
TIME = {
    "get_current_time": {"timezone": "UTC"},
    "convert_time": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
}
UNSUPPORTED = {
    "trigger-sampling-request": "servers do not use the model, ADR 63",
    "trigger-sampling-request-async": "servers do not use the model, ADR 63",
    "simulate-research-query": "it only runs as a task, an experiment of the protocol",
}
"""Tools that the server offers and a call of which fails, with the reason."""


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    for name in ("a.txt", "c.txt"):
        (path / name).write_text("tide\n")
    (path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return path


async def call_all(root, entry, valid, figures, row, *, fixed=None):
    """Call each tool with valid arguments, then with wrong ones, and print what was reached."""
    async with started(root, {"it": entry}, connect_seconds=30) as servers:
        [server] = servers.servers
        assert server.state is ServerState.CONNECTED, server.reason
        offered = {each.foreign.name for each in server.tools}
        assert {each.name for each in servers.current().definitions} >= {
            each.definition.name for each in server.tools
        }
        failed, accepted = dict[str, str](), list[str]()
        for each in server.tools:
            name = each.foreign.name
            try:
                result = await server.call(each, {**(fixed or {}), **valid.get(name, {})})
                if result.is_error and name not in UNSUPPORTED:
                    failed[name] = " ".join(read_texts(result))[:200]
            except ToolError as error:
                if name not in UNSUPPORTED:
                    failed[name] = str(error)[:200]
            if not (each.foreign.input_schema or {}).get("required"):
                continue
            with suppress(ToolError):
                wrong = await server.call(each, {"no such field": [{}]})
                if not wrong.is_error:
                    accepted.append(name)
        assert (await server.call(server.tools[0], {"no such field": 1})) is not None
        losses = [f"{each.foreign.name}: {loss}" for each in server.tools for loss in each.losses]
        refused = sum(name in UNSUPPORTED for name in offered)
        answered = len(offered) - len(failed) - refused
        text = f"{len(offered)} offered, {answered} answered, {len(losses)} losses"
        figures(row, text + (f"; {refused} need what we refuse" if refused else ""))
        assert (failed, accepted) == ({}, [])
        return offered


async def test_server_everything_over_stdio(root, figures):
    program, script = find_script("@modelcontextprotocol/server-everything")
    entry = {"command": program, "args": [script, "stdio"]}
    offered = await call_all(root, entry, EVERYTHING, figures, "everything")
    assert len(offered) >= 12


@pytest.mark.blocks_loop("it waits for a server")
async def test_server_everything_over_http(root, figures):
    command = find_script("@modelcontextprotocol/server-everything")
    with _serving([*command, "streamableHttp"]) as port:
        entry = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}
        await call_all(root, entry, EVERYTHING, figures, "everything http")


async def test_server_filesystem(root, figures):
    program, script = find_script("@modelcontextprotocol/server-filesystem")
    entry = {"command": program, "args": [script, str(root)]}
    names = {name: _with_root(fields, root) for name, fields in FILES.items()}
    assert len(await call_all(root, entry, names, figures, "filesystem")) >= 13


async def test_server_git(root, figures):
    program = find_program("mcp-server-git")
    for line in ("init -q -b main", "add a.txt", "commit -q -m first"):
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        await asyncio.to_thread(subprocess.run, ["git", *who, *line.split()], cwd=root, check=True)
    (root / "a.txt").write_text("ebb\n")
    await asyncio.to_thread(subprocess.run, ["git", "add", "a.txt"], cwd=root, check=True)
    for name, value in (("name", "n"), ("email", "e@example.org")):
        git = ["git", "config", f"user.{name}", value]
        await asyncio.to_thread(subprocess.run, git, cwd=root, check=True)
    entry = {"command": program, "args": ["--repository", str(root)]}
    fixed = {"repo_path": str(root)}
    assert len(await call_all(root, entry, GIT, figures, "git", fixed=fixed)) == 12


async def test_server_time(root, figures):
    entry = {"command": find_program("mcp-server-time")}
    assert len(await call_all(root, entry, TIME, figures, "time")) == 2


async def test_server_fetch(root, figures):
    entry = {"command": find_program("mcp-server-fetch"), "args": ["--allow-private-ips"]}
    with _page() as url:
        assert len(await call_all(root, entry, {"fetch": {"url": url}}, figures, "fetch")) == 1


def _with_root(fields, root):
    def place(value):
        return str(root / value)

    changed = dict(fields)
    for name in ("path", "source", "destination"):
        if name in changed:
            changed[name] = place(changed[name])
    if "paths" in changed:
        changed["paths"] = [place(each) for each in changed["paths"]]
    return changed


@contextmanager
def _serving(command: list[str]) -> Iterator[int]:
    """Run a server on a free port, and yield the port when it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {"PORT": str(port), "PATH": str(NODE.parent)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(400):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.05):
                    break
                threading.Event().wait(0.05)
            yield port
        finally:
            process.kill()


@contextmanager
def _page() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html><body><article><p>The tide tables.</p></article></body></html>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
