"""Before the first message nothing is sent, and nothing is created in the workspace."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.tools.servers.configured import hostile

pytestmark = pytest.mark.remaining

HTTP_CLIENT = "httpx2"
NEEDED_LATER = {
    HTTP_CLIENT,
    "pygments",
    "tree_sitter_bash",
    "yourtool.agent.commands.table",
    "yourtool.agent.turn.loop",
    "yourtool.permissions.shell.lines.syntax",
    "yourtool.providers.wire",
    "yourtool.store.exports",
    "yourtool.tools.sandbox.confinement",
    "yourtool.tools.servers.servers",
    "yourtool.tui.diff.rows",
    "yourtool.tui.markdown.stream",
    "yourtool.tui.screens.picker",
}
WATCH = """
import sys

def _watch(event, arguments):
    if event == "import":
        with open({imported!r}, "a") as log:
            log.write(arguments[0] + "\\n")
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        if event == "socket.getaddrinfo" or isinstance(arguments[1], tuple):
            with open({log!r}, "a") as log:
                log.write(f"{{event}} {{arguments!r}}\\n")
            raise OSError("there is no network")

sys.addaudithook(_watch)
"""


@pytest.mark.req("R-QLT-01")
def test_prompt_is_usable_without_the_network(home, tmp_path):
    hook, log, work = tmp_path / "hook", tmp_path / "calls", tmp_path / "work"
    imported = tmp_path / "imported"
    hook.mkdir()
    work.mkdir()
    (work / "a.txt").write_text("x")
    (hook / "sitecustomize.py").write_text(WATCH.format(log=str(log), imported=str(imported)))
    settings = Path(home["YOURTOOL_HOME"], "config.toml")
    settings.parent.mkdir(mode=0o700)
    settings.write_text("[limits]\nmax_retries = 0\n")
    keys = {"ANTHROPIC_API_KEY": "sk-ant-test-00000000", "OPENAI_API_KEY": "sk-test-00000000"}
    env = {**home, **keys, "PYTHONPATH": f"{hook}:{ROOT}"}
    with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
        terminal.wait("anthropic:")
        assert not NEEDED_LATER & {*imported.read_text().split()}
        terminal.send("a draft that is not sent")
        terminal.wait(
            "a draft that is not sent", lambda _: HTTP_CLIENT in imported.read_text().split()
        )
        terminal.send("\x03")
        terminal.wait(lambda screen: "a draft that" not in screen)
        assert not log.exists(), log.read_text()
        terminal.say("/models")
        terminal.wait("in use")
        terminal.send("\x1b")
        terminal.wait(lambda screen: "in use" not in screen)
        terminal.say("/quit")
        assert terminal.end() == 0
    assert "mcp" not in imported.read_text().split(), "no server is configured"
    assert not {"acp", "yourtool.extensions.editors"} & {*imported.read_text().split()}, (
        "no editor is served"
    )
    asked = log.read_text().splitlines()
    assert asked and all("('127.0.0.1', " in call for call in asked), "`/models` asks this machine"
    assert [path.name for path in work.iterdir()] == ["a.txt"]
    with Terminal((*YOURTOOL, "-p", "hi"), cwd=work, env=env) as terminal:
        assert terminal.end() == 75
    assert "getaddrinfo" in log.read_text(), "the watch works: a message does go out"


@pytest.mark.parametrize(
    "argv",
    [("--help",), ("-p", "hello", "-m", "demo:tour"), ("mcp", "list"), ("acp", "--help")],
    ids=" ".join,
)
def test_runs_without_editors_and_servers_import_no_library_for_them(home, tmp_path, argv):
    hook, imported = tmp_path / "hook", tmp_path / "imported"
    hook.mkdir()
    watch = WATCH.format(log=str(tmp_path / "calls"), imported=str(imported))
    (hook / "sitecustomize.py").write_text(watch)
    env = {**os.environ, **home, "PYTHONPATH": f"{hook}:{ROOT}", "YOURTOOL_DEMO_PACE": "0"}
    done = subprocess.run((*YOURTOOL, *argv), cwd=tmp_path, env=env, capture_output=True)
    assert done.returncode == 0, done.stderr
    found = {name.partition(".")[0] for name in imported.read_text().split()}
    assert "yourtool" in found and not {"acp", "mcp", "mcp_types", "pydantic", "httpx2"} & found


@pytest.mark.req("R-TOOL-19")
@pytest.mark.needs("tools/mcp")
def test_dead_tool_servers_delay_neither_the_first_paint_nor_a_prompt(home, tmp_path):
    hook, imported, work = tmp_path / "hook", tmp_path / "imported", tmp_path / "work"
    hook.mkdir()
    work.mkdir()
    watch = WATCH.format(log=str(tmp_path / "calls"), imported=str(imported))
    (hook / "sitecustomize.py").write_text(watch)
    folder = Path(home["YOURTOOL_HOME"])
    folder.mkdir(mode=0o700)
    dead = {
        "silent": hostile("silent"),
        "garbage": hostile("garbage"),
        "exits": hostile("exits"),
        "missing": {"command": "no-such-program"},
        "unreachable": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": dead}))
    env = {**home, "ANTHROPIC_API_KEY": "sk-ant-test-00000000", "PYTHONPATH": f"{hook}:{ROOT}"}
    with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
        terminal.wait("anthropic:")
        terminal.send("a draft")
        terminal.wait("a draft", lambda _: "mcp" in imported.read_text().split())
        names = imported.read_text().split()
        after_the_first_paint = names.index("yourtool.agent.session.session")
        assert names.index("mcp") > after_the_first_paint
        terminal.send("\x03")
        terminal.say("/mcp")
        terminal.wait("unreachable", "tokens")
        terminal.send("\x1b")
        terminal.wait(lambda screen: "unreachable" not in screen)
        terminal.say("/quit")
        assert terminal.end() == 0
