"""`yourtool mcp`: the servers from a shell."""

import json
import sys

import pytest

from tests.tools.servers.configured import HERE, hostile
from tests.trusted_folders import trust
from yourtool.cli import main
from yourtool.paths import resolve_paths

pytestmark = pytest.mark.needs("tools/mcp")


def run(capsys, *words):
    code = main(["mcp", *words])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.fixture
def work(tmp_path, monkeypatch):
    path = tmp_path / "work"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def add(capsys, kind="twice", name="bad"):
    entry = hostile(kind)
    return run(capsys, "add", name, "--", entry["command"], *entry["args"])


@pytest.mark.blocks_loop("a command of the shell has its own loop")
def test_server_is_added_shown_called_and_removed(capsys, work):
    code, out, _ = add(capsys)
    file = resolve_paths().home / "mcp.json"
    assert code == 0 and "Added bad to" in out
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["mcpServers"]["bad"]["command"] == sys.executable
    assert run(capsys, "add", "bad", "--", "x")[0] == 2
    code, out, _ = run(capsys, "list")
    assert code == 0 and out.splitlines()[1].split()[:3] == ["bad", "connected", "2"]
    code, out, _ = run(capsys, "show", "bad")
    assert code == 0 and str(HERE / "hostile_server.py") in out
    assert "lost: $.properties.x.properties.x.$ref: recursive" in out
    assert "\x1b" not in out
    code, out, _ = run(capsys, "call", "bad", "act", "{}")
    assert (code, out) == (0, "did act ␛]52;c;aGk=␇\n")
    code, out, _ = run(capsys, "call", "bad", "act", "--json")
    assert json.loads(out)["is_error"] is False
    code, _, err = run(capsys, "call", "bad", "fly")
    assert code == 2 and "has no tool `fly`; its tools are: act, act!" in err
    assert run(capsys, "call", "bad", "act", "[]")[0] == 2
    assert run(capsys, "remove", "bad")[0] == 0
    assert run(capsys, "remove", "bad")[0] == 2
    assert run(capsys, "list")[1].startswith("There are no MCP servers.")


@pytest.mark.blocks_loop("a command of the shell has its own loop")
def test_tool_that_only_runs_as_a_task_is_shown_as_lost(capsys, work):
    run(capsys, "add", "odd", "--", sys.executable, "-I", str(HERE / "odd_server.py"), "task")
    code, out, _ = run(capsys, "show", "odd")
    assert code == 0
    [lost] = [each for each in out.splitlines() if "lost: calls" in each]
    assert "runs them only as tasks" in lost
    tools = json.loads(run(capsys, "show", "odd", "--json")[1])["tools"]
    assert [bool(each["losses"]) for each in tools] == [True, False]


def test_headers_and_variables_are_added(capsys, work):
    assert run(capsys, "add", "web", "--header", "A: ${B}", "https://example.org/mcp")[0] == 0
    assert run(capsys, "add", "own", "--env", "C=d", "--", "program", "-x")[0] == 0
    servers = json.loads((resolve_paths().home / "mcp.json").read_text())["mcpServers"]
    assert servers == {
        "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"A": "${B}"}},
        "own": {"command": "program", "args": ["-x"], "env": {"C": "d"}},
    }
    assert run(capsys, "add", "bad", "--env", "C", "--", "program")[0] == 2


def test_failed_call_names_the_server_and_its_place(capsys, work):
    add(capsys, "exits")
    code, out, err = run(capsys, "call", "bad", "act")
    assert (code, out) == (1, "")
    assert "mcp.json:3) ended; its last message is: no database. It is tried again" in err
    code, out, err = run(capsys, "show", "bad")
    assert code == 1, "it cannot be used"
    assert (out + err).count("no database") == 1, "its reason is there once"
    assert run(capsys, "show", "bad", "--json")[0] == 1
    code, out, err = run(capsys, "show", "bda")
    assert code == 2 and "there is no MCP server `bda`; did you mean `bad`?" in err


@pytest.mark.blocks_loop("a command of the shell has its own loop")
@pytest.mark.parametrize(("kind", "code"), [("twice", 0), ("exits", 1)])
def test_accepting_a_server_that_fails_names_the_reason(capsys, work, kind, code):
    entry = {**hostile(kind), "hosts": ["example.org"]}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    trust(work)
    found, out, err = run(capsys, "accept", "theirs")
    assert found == code
    assert '"example.org"' in out and "Accepted theirs as it is above." in out
    assert ("its last message is: no database" in err) == bool(code)


def test_added_program_is_said_to_run_outside_the_sandbox(capsys, work):
    outside = "It runs outside the sandbox, with your rights"
    assert outside in run(capsys, "add", "own", "--", "program")[1]
    assert outside not in run(capsys, "add", "web", "https://example.org/mcp")[1]


@pytest.mark.parametrize("words", [("list",), ("show", "bad"), ("accept", "bad")], ids=" ".join)
def test_servers_of_a_folder_without_trust_are_named_with_the_way_out(capsys, work, words):
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"bad": hostile("twice")}}))
    err = run(capsys, *words)[2]
    assert "`.mcp.json` not used: the folder is not trusted; `yourtool trust` trusts it." in err


@pytest.mark.blocks_loop("a command of the shell has its own loop")
def test_nothing_that_a_project_names_is_hidden_or_reaches_the_terminal(
    capsys, tmp_path, monkeypatch
):
    work = tmp_path / "w\u202eork\x1b[2J"
    work.mkdir()
    monkeypatch.chdir(work)
    entry = {"command": "touch\u202e", "args": ["a\u200b"], "env": {"A\x1b[2J": "\u2066b"}}
    names = {"plain": entry, "a\u202eb\x1b]0;x\x07": {}, "c\u200b": entry}
    (work / ".mcp.json").write_text(json.dumps({"mcpServers": names}))
    trust(work)
    for words in (("list",), ("show", "plain"), ("call", "plain", "x"), ("accept", "plain")):
        _, out, err = run(capsys, *words)
        assert not {"\u202e", "\x1b", "\x07", "\u200b", "\u2066"} & {*out, *err}, words
        assert "a name has 1 to 64 printable characters" in err
        if words[0] in ("show", "accept"):
            assert "touch\\u{202e}" in out and "a\\u{200b}" in out


def test_missing_library_is_named_with_the_way_to_install_it(capsys, work, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)  # as if it were not installed
    assert run(capsys, "list") == (0, run(capsys, "list")[1], ""), "no server needs it"
    add(capsys)
    code, out, err = run(capsys, "list")
    assert code == 0 and out.splitlines()[1].split()[:2] == ["bad", "pending"]
    assert "the library for them is not installed; install it with `" in err and "mcp" in err
    assert run(capsys, "call", "bad", "act")[0] == 1
