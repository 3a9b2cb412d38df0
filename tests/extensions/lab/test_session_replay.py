"""`yourtool sessions replay FILE | ID`: the same transcript, offline, without keys."""

import asyncio
import base64
import json
import sys
from functools import partial

import pytest

from tests.agent.harness import Bench, play
from tests.cli.command_line import CommandLine
from yourtool.agent.session.known_secrets import mask_secrets
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.store.exports import to_jsonl, write_export
from yourtool.store.markdown import to_markdown

pytestmark = pytest.mark.usefixtures("own_logging")

CANARY = "sk-canary-4471-Zq9-not-in-any-bundle"
TURNS = 50
COUNTED = """
import sys
opened = []
def hear(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        opened.append(event)
sys.addaudithook(hear)
from yourtool.cli import main
code = main(sys.argv[1:])
sys.stderr.write(f"{len(opened)} connections")
sys.exit(code)
"""
"""Runs the program and counts what it connects to."""


@pytest.fixture
async def bundle(tmp_path):
    """An exported session of 50 turns with a key in its prompts and its results."""
    bench = Bench(tmp_path)
    (bench.workspace / "notes.txt").write_text(f"the key is {CANARY}\n")
    replies = [calls("read_file", path="notes.txt"), says("read it")] * TURNS
    session = await bench.session(Scripted(replies))
    for number in range(TURNS):
        await play(session.send(f"turn {number} with {CANARY}"))
    facts = await bench.store.read(session.id)
    await session.close()
    mask = partial(mask_secrets, secrets=(CANARY,))
    write_export(tmp_path / "bundle.jsonl", to_jsonl(facts, mask, tmp_path / "blobs"))
    return tmp_path / "bundle.jsonl", b"".join(to_markdown(facts, mask))


async def run_counted(*argv):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COUNTED, *argv, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode, out, err


@pytest.mark.remaining
async def test_fifty_turns_have_the_same_transcript_without_connections_and_keys(bundle):
    await check_replay(*bundle)


@pytest.mark.reliability
async def test_replay_of_fifty_turns_is_the_same_in_every_byte(bundle, figures):
    await check_replay(*bundle)
    figures("replay", f"{TURNS} turns, the same bytes, 0 connections, 0 canary bytes")


async def check_replay(file, transcript):
    """Check that a replay prints the transcript, connects to nothing and has no key."""
    content = file.read_bytes()
    encoded = [base64.b64encode(b"x" * at + CANARY.encode())[4:-4] for at in range(3)]
    assert not any(spelling in content for spelling in (CANARY.encode(), *encoded))
    code, out, err = await run_counted("sessions", "replay", str(file))
    assert code == 0
    same, counted = err.decode().splitlines()
    assert same == "The replay is the same: 50 turns, 100 requests, 50 tool calls."
    assert counted == "0 connections"
    assert out == transcript
    assert out.count(b"## You") == TURNS


def test_a_stored_session_is_played_by_its_id(line: CommandLine):
    line.script([{"call": "list_dir", "input": {"path": "."}}], [{"say": "empty"}])
    session_id = line.result("-p", "look")["session_id"]
    same = "The replay is the same: 1 turn, 2 requests, 1 tool call.\n"
    assert line("sessions", "replay", session_id)[2] == same
    code, out, err = line("sessions", "replay", session_id, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "same": True, "turns": 1, "requests": 2, "tool_calls": 1, "difference": None
    }  # fmt: skip


def test_a_difference_is_named_and_fails(line: CommandLine, tmp_path):
    line.script([{"say": "one"}])
    session_id = line.result("-p", "look")["session_id"]
    exported = line("sessions", "export", session_id, "--json")[1].splitlines()
    replies = [each for each in exported if '"llm.call_completed"' in each]
    later = json.loads(replies[0])
    for owner in (later, later["message"]):
        owner["id"] = f"{owner['id'][:-6]}ZZZZZZ"  # the next id of the same millisecond may be Z
    at = exported.index(replies[0]) + 1
    (tmp_path / "a.jsonl").write_text(
        "\n".join([*exported[:at], json.dumps(later), *exported[at:]])
    )
    code, out, err = line("sessions", "replay", str(tmp_path / "a.jsonl"))
    assert code == 1, err
    assert "one" in out
    assert "differs from the recording in line" in err


@pytest.mark.parametrize("source", ["missing.jsonl", "sess_01AAAAAAAAAAAAAAAAAAAAAAAA"])
def test_a_source_that_does_not_exist_is_named(line: CommandLine, source):
    code, out, err = line("sessions", "replay", source)
    assert code in (1, 2)
    assert out == ""
    assert source in err


def test_a_file_that_is_no_session_is_refused(line: CommandLine, tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n")
    code, _, err = line("sessions", "replay", str(tmp_path / "a.jsonl"))
    assert code == 2
    assert "cannot replay" in err
