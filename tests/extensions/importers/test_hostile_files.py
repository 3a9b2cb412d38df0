"""Files with any value in any place are imported or refused, in linear time."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubling import LINEAR, growth
from tests.store.memory import MemoryStore
from yourtool.agent.history.state import State
from yourtool.errors import UsageError
from yourtool.events.tools import ShellRan
from yourtool.extensions.importers.detection import read_transcript
from yourtool.extensions.importers.importing import import_foreign
from yourtool.extensions.importers.source import Source
from yourtool.extensions.importers.transcript import Reply
from yourtool.messages.message import ReplyMessage

FILES = Path(__file__).parent / "files"
AT = "2026-01-01T00:00:00Z"
HUGE = 10**400
VALUES = (
    *(None, True, False, 0, -1, 2**63, HUGE, 1.5, 1e308, "", "\x1b]52;c;AA\x07", "\ud800", "a\0b"),
    *([], {}, [[]], [None], {"type": "text"}, {"type": "text", "text": None}, {"total": True}),
    *({"type": "image", "data": "iVBORw0KGgo="}, "9999-12-31T23:59:59-23:59", 1e18, "[" * 5_000),
)


def to_lines(values):
    return b"\n".join(json.dumps(each).encode() for each in values)


def pi(message):
    header = {"type": "session", "version": 3, "id": "s", "timestamp": AT}
    return to_lines([header, {"type": "message", "id": "a", "message": message}])


def reply(**fields):
    return {"role": "assistant", "content": "x", "provider": "p", "model": "m", **fields}


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))


def spoil(objects, random_source):
    """Replace values anywhere in lines of a file."""
    objects = copy.deepcopy(objects)
    for _ in range(random_source.choice((1, 2, 5))):
        *way, last = random_source.choice(list(places(objects)))
        inner = objects
        for key in way:
            inner = inner[key]
        inner[last] = copy.deepcopy(random_source.choice(VALUES))
    return objects


def read_values(path):
    lines = [path.read_bytes()] if path.suffix == ".json" else path.read_bytes().splitlines()
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # half written
    return found


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.name)
async def test_values_of_any_type_in_any_place_are_imported_or_refused(path, tmp_path):
    values, random_source = read_values(path), random.Random(path.name)
    for _ in range(60):
        content = to_lines(spoil(values, random_source))
        store = MemoryStore()
        try:
            found = await import_foreign(store, Source(content), "n", tmp_path, tmp_path / "blobs")
        except UsageError:
            continue
        assert await store.replay(found.session_id, State().apply) == ()


@pytest.mark.parametrize("cost", [True, -1, HUGE, "1"], ids=lambda cost: str(cost)[:5])
async def test_cost_that_is_no_price_counts_as_none(cost, tmp_path):
    content = pi(reply(usage={"input": HUGE, "output": True, "cost": {"total": cost}}))
    store = MemoryStore()
    found = await import_foreign(store, Source(content), "n", tmp_path, tmp_path)
    state = State()
    await store.replay(found.session_id, state.apply)
    [message] = state.messages
    assert isinstance(message, ReplyMessage) and message.metadata.usage is not None
    assert message.metadata.usage.input_tokens == 0
    assert message.metadata.usage_extra is not None
    assert message.metadata.usage_extra.reported_cost_usd is None


async def test_exit_code_that_is_no_number_is_none(tmp_path):
    content = pi({"role": "bashExecution", "command": "c", "output": "o", "exitCode": True})
    store = MemoryStore()
    found = await import_foreign(store, Source(content), "n", tmp_path, tmp_path)
    [ran] = [each for each in await store.read(found.session_id) if isinstance(each, ShellRan)]
    assert ran.exit_code is None


def claude_line(number, kind, message):
    return {
        "type": kind,
        "sessionId": "s",
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "message": message,
    }


def reply_of_many_lines(size):
    block = {"type": "text", "text": "x"}
    message = {"id": "m", "content": [block]}
    return to_lines(claude_line(number, "assistant", message) for number in range(size))


def results_of_one_reply(size):
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "x", "input": {}} for n in range(size)]
    results = (
        {"content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "y"}]}
        for n in range(size)
    )
    first = claude_line(0, "assistant", {"id": "m", "content": calls})
    rest = (claude_line(n, "user", each) for n, each in enumerate(results, 1))
    return to_lines([first, *rest])


def rows_with_usage_only(size):
    row = {"thread_id": "t", "is_llm_message": True, "type": "user", "content": "hi"}
    rows = [{**row, "message_id": f"a{number}"} for number in range(size)]
    usage = {**row, "type": "llm_response_end", "content": {"usage": {}}, "created_at": AT}
    return json.dumps([*rows, *({**usage, "message_id": f"b{n}"} for n in range(size))]).encode()


def test_reply_of_many_lines_has_all_their_blocks_in_order():
    transcript = read_transcript(Source(reply_of_many_lines(2_000)), "n")
    [entry] = transcript.entries
    assert isinstance(entry.what, Reply) and len(entry.what.content) == 2_000
    assert entry.id == "u1999"


@pytest.mark.parametrize("build", [reply_of_many_lines, results_of_one_reply, rows_with_usage_only])
@pytest.mark.sample(3)
def test_file_is_read_in_time_that_grows_with_its_size(build):
    def read(source):
        return read_transcript(source, "n")

    assert growth(read, lambda size: Source(build(size)), start=1_000) < LINEAR
