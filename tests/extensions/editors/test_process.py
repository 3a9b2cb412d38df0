"""`yourtool acp` as an editor starts it: a process, with the demo as its model."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from acp import spawn_agent_process, text_block

from tests.extensions.editors.editor import Editor
from tests.sandbox_here import get_variables

pytestmark = pytest.mark.remaining
COMMAND = (sys.executable, "-m", "yourtool", "acp")


@pytest.fixture
def environment(tmp_path):
    return {
        "YOURTOOL_HOME": str(tmp_path / "home"),
        "YOURTOOL_DEMO_PACE": "0",
        **get_variables(),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
    }


def exchange(environment, work, *messages, end="\n", **options):
    """Return the finished process that got these messages as its whole input."""
    lines = "\n".join(
        each if isinstance(each, str) else json.dumps({"jsonrpc": "2.0", **each})
        for each in messages
    )
    return subprocess.run(
        COMMAND,
        input=lines + end,
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


async def test_tour_of_the_demo_runs_without_a_key(environment, work):
    editor = Editor("once", "deny")
    async with spawn_agent_process(editor, *COMMAND, env=environment) as (conn, process):
        answer = await conn.initialize(protocol_version=2)
        assert answer.protocol_version == 1, "another version is answered with ours"
        session = await conn.new_session(cwd=str(work), mcp_servers=[])
        for _ in range(3):
            answer = await conn.prompt(session_id=session.session_id, prompt=[text_block("go on")])
            assert answer.stop_reason == "end_turn"
    assert process.returncode == 0
    assert [each["kind"] for each in editor.asked] == ["edit", "execute"]
    assert editor.of("plan") and "Welcome" in editor.text
    assert {path.name for path in work.iterdir()} == {"a.txt"}, "the demo works in a copy"


def test_output_has_messages_only_and_the_input_ends_with_0(environment, work):
    new = {"id": 1, "method": "session/new", "params": {"cwd": str(work), "mcpServers": []}}
    done = exchange(environment, work, INITIALIZE, "no message", new, end="")
    assert done.returncode == 0 and done.stderr == ""
    messages = map(json.loads, done.stdout.splitlines())
    answers = {each["id"]: each for each in messages if "method" not in each}
    assert answers[0]["result"]["agentInfo"]["name"] == "yourtool"
    assert answers[1]["result"]["sessionId"].startswith("sess_")
    assert answers[None]["error"]["code"] == -32700


def test_files_can_be_input_and_output(environment, work, tmp_path):
    (tmp_path / "in").write_text(json.dumps({"jsonrpc": "2.0", **INITIALIZE}))
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as target:
        done = subprocess.run(
            COMMAND, stdin=source, stdout=target, cwd=work, env=environment, check=True, timeout=60
        )
    assert done.returncode == 0
    assert json.loads((tmp_path / "out").read_text())["id"] == 0
    with Path(os.devnull).open() as nothing:
        assert subprocess.run(COMMAND, stdin=nothing, env=environment, timeout=60).returncode == 0


def test_client_that_reads_nothing_does_not_keep_the_process(environment, work):
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=work, env=environment
    )
    assert process.stdin is not None and process.stdout is not None
    unknown = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 2_000}).encode() + b"\n"
    process.stdin.write(unknown * 200)
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def test_signal_ends_the_process_with_130(environment, work):
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=work, env=environment
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **INITIALIZE}).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 130
    process.stdin.close()
    process.stdout.close()
