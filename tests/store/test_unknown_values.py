"""An unknown value of any enumeration of an export is reported and stays with the session."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.agent.harness import Bench, Checked, play
from tests.store.turns import FactBuilder
from yourtool.errors import UsageError
from yourtool.events.codec import STORED_FACT
from yourtool.providers.scripted import Scripted, says
from yourtool.store.export_lines import import_warnings
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.forks import import_session

pytestmark = pytest.mark.req("R-CAN-01")
UNKNOWN = "canary-value"
EXAMPLES = Path(__file__).parents[1] / "events/stored_facts.jsonl"
FORMS = [json.loads(json.loads(line)["exported"]) for line in EXAMPLES.read_bytes().splitlines()]


def places(value, path=()):
    """Yield the place of every text in JSON."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from places(each, (*path, key))


def with_unknown(raw, place):
    changed = json.loads(json.dumps(raw))
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = UNKNOWN
    return changed


def is_enumerated(raw, place):
    """Whether the decoder of facts accepts only certain texts in a place."""
    try:
        msgspec.convert(with_unknown(raw, place), STORED_FACT)
    except msgspec.ValidationError as error:
        return str(error).startswith(("Invalid enum value", "Invalid value"))
    return False


def enumerated(lines):
    """Return a line and a place of each enumerated value, by type and place."""
    found = {}
    for at, raw in enumerate(lines):
        for place in places(raw):
            if is_enumerated(raw, place):
                found.setdefault((raw["type"], *place), (at, place))
    return found


def session_lines():
    builder = FactBuilder()
    facts = [builder.session_start(), *builder.turn(), *builder.turn()]
    return [json.loads(line) for line in to_jsonl(facts, str)]


def encode(lines):
    return [json.dumps(line).encode() for line in lines]


IN_FORMS = enumerated(FORMS)
SESSION = session_lines()
IN_SESSION = {
    name: found for name, found in enumerated(SESSION[1:]).items() if name[0] != "session.created"
}


def asking(call_id):
    """Return a reply with a call."""
    lines = json.loads(json.dumps(SESSION))
    reply = next(line for line in lines if line["type"] == "llm.call_completed")
    [call] = [each for each in reply["message"]["content"] if each["type"] == "tool_use"]
    call["id"] = call_id
    return reply | {"id": "0" * 25 + "1"}


def named(cases):
    return [pytest.param(*found, id=".".join(map(str, name))) for name, found in cases.items()]


def test_examples_have_every_enumeration_of_a_message():
    ends = {name[1:] for name in IN_FORMS if name[1] == "message"}
    assert {("message", "role"), ("message", "content", 0, "type")} <= ends
    assert {("message", "metadata", each) for each in ("status", "audience", "stop_reason")} <= ends
    assert len(IN_FORMS) > 150


@pytest.mark.parametrize(("at", "place"), named(IN_FORMS))
def test_unknown_value_of_any_event_is_reported_and_exported_again(at, place, tmp_path):
    start = SESSION[1] | {"id": "0" * 26}
    changed = with_unknown(FORMS[at], place)
    calls = [asking(changed["tool_use_id"])] if "tool_use_id" in changed else []
    facts = from_jsonl(encode([SESSION[0], start, *calls, changed]), tmp_path)
    assert any(UNKNOWN in warning for warning in import_warnings(facts))
    lines = list(to_jsonl(facts, str))
    assert UNKNOWN.encode() in lines[-1]
    assert from_jsonl(lines, tmp_path) == facts


@pytest.mark.parametrize(("at", "place"), named(IN_SESSION))
async def test_session_with_an_unknown_value_is_imported_without_problems(at, place, tmp_path):
    lines = SESSION.copy()
    lines[at + 1] = with_unknown(lines[at + 1], place)
    bench = Bench(tmp_path)
    facts = from_jsonl(encode(lines), tmp_path)
    session_id = await import_session(bench.store, facts, bench.workspace)
    stored = await bench.store.read(session_id)
    assert any(UNKNOWN in warning for warning in import_warnings(stored))
    assert UNKNOWN.encode() in b"".join(to_jsonl(stored, str))
    adapter = Checked(Scripted([says("Go on.")]))
    session = await bench.session(adapter, resume=session_id)
    await play(session.send("and now?"))
    assert adapter.requests[-1].messages[-1].text == "and now?"
    await session.close()
    checks = pytest.importorskip("yourtool.extensions.repair.checks")
    assert [*checks.find_problems(await bench.store.read(session_id), tmp_path)] == []


@pytest.mark.parametrize("value", [7, None, ["a"], {"a": 1}])
def test_value_of_another_type_than_text_is_refused(value, tmp_path):
    lines = session_lines()
    end = next(line for line in lines if line["type"] == "turn.completed")
    end["stop_reason"] = value
    with pytest.raises(UsageError):
        from_jsonl(encode(lines), tmp_path)
