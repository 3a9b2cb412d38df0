"""A file that somebody else wrote is imported whole, or refused in words (R-PER-08, R-SEC)."""

import json
import random
from datetime import UTC, datetime

import pytest

from tests.store.turns import Story, call, changed
from yourtool.blobs import store_blob
from yourtool.messages import ImageBlock, ImageSource, TextBlock, ThinkingBlock
from yourtool.paths import resolve_paths
from yourtool.store.exports import to_jsonl

pytestmark = pytest.mark.usefixtures("own_logging")

PIXEL = b"\x89PNG\r\n\x1a\n a dot"
LATER = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> bytes:
    """A session of one turn with a picture and a tool call."""
    blobs = tmp_path_factory.mktemp("blobs")
    picture = ImageBlock(ImageSource("file_ref", store_blob(blobs, PIXEL)), "image/png")
    story, use = Story(), call()
    asked = story.asked()
    asked = changed(asked, message=changed(asked.message, content=(TextBlock("look"), picture)))
    facts = [
        changed(story.created(), id="0" * 26),
        asked,
        story.routed(),
        story.calling(),
        story.answered(ThinkingBlock("hm", "c2lnbmVk"), TextBlock("re"), use),
        story.started(use),
        story.completed(use),
        story.calling(),
        story.answered(TextBlock("done")),
        story.ended(),
    ]
    return b"".join(to_jsonl(facts, str, blobs))


@pytest.fixture
def take(line, tmp_path):
    """Import bytes; return the new session's id or, if there is none, what was said."""
    file = tmp_path / "from-elsewhere.jsonl"

    def importing(content: bytes) -> tuple[str | None, str]:
        file.write_bytes(content)
        code, out, err = line("sessions", "import", str(file), "--json")
        assert code in (0, 2)
        assert "Traceback" not in err and not {"\x1b", "\x07"} & set(err)
        if code == 0:
            return json.loads(out)["session_id"], ""
        assert f"`{file}` cannot be imported" in err
        return None, err

    return importing


def everything_can_be_done(line, session_id):
    """Show, list, find, export and copy a session, and say something in it."""
    for argv in (
        ("show", session_id),
        ("show", session_id, "--json"),
        ("list",),
        ("search", "look"),
        ("export", session_id),
        ("export", session_id, "--format", "jsonl"),
        ("fork", session_id),
    ):
        code, _, err = line("sessions", *argv)
        assert (code, err) == (0, ""), argv
    line.script([{"say": "It goes on."}])
    told = line.result("-p", "go on", "-r", session_id)
    # The scripted model takes no pictures, so routing may refuse, in words.
    assert told["result"] == "It goes on." or told["error"]["class"] == "routing_failed"


def nothing_is_kept(line):
    _, out, _ = line("sessions", "list", "--json")
    blobs = resolve_paths().blobs
    return json.loads(out) == [] and (not blobs.exists() or list(blobs.iterdir()) == [])


def places(value, path=()):
    """Return the paths to everything within a JSON value."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else ()
    for key, inner in entries or (enumerate(value) if isinstance(value, list) else ()):
        yield from places(inner, (*path, key))


def put(lines, number, path, value):
    """Return the lines with something else in one place."""
    lines = json.loads(json.dumps(lines))
    place = lines[number]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return lines


def joined(lines):
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


@pytest.mark.parametrize("many", [10, pytest.param(60, marks=pytest.mark.soak)])
def test_flipped_bits_and_cut_files_are_refused_or_harmless(line, take, exported, many):
    chance = random.Random(5)
    damaged = [exported[: chance.randrange(len(exported))] for _ in range(many // 3)]
    for _ in range(many):
        flipped = bytearray(exported)
        for _ in range(chance.choice((1, 1, 3))):
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(flipped))
    taken = [session_id for each in damaged if (session_id := take(each)[0])]
    for session_id in taken[:2]:
        everything_can_be_done(line, session_id)
    assert line("sessions", "list")[0] == 0
    assert 0 < len(taken) < len(damaged)


HOSTILE = [
    None, "", -1, 10**30, 10**301, 1e308, "1E+999999999", "NaN", "sNaN", "-Infinity", [], {},
    "../../etc/passwd", "\x1b[2J", "\0", "sess_../x", f"sess_{LATER}", LATER, "\ud800",
    "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59",
]  # fmt: skip


@pytest.mark.parametrize("many", [30, pytest.param(200, marks=pytest.mark.soak)])
def test_a_hostile_value_in_any_place_is_refused_or_harmless(
    line, take, exported, monkeypatch, many
):
    """In a zone east of Greenwich, where the last times of all cannot be told."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    chance = random.Random(7)
    lines = [json.loads(each) for each in exported.splitlines()]
    every = [(number, path) for number, each in enumerate(lines) for path in places(each)]
    taken = []
    for number, path in chance.sample(every, many):
        content = joined(put(lines, number, path, chance.choice(HOSTILE)))
        if (session_id := take(content)[0]) is not None:
            taken.append(session_id)
    for session_id in taken[:: 1 + len(taken) // 3]:
        everything_can_be_done(line, session_id)
    assert 0 < len(taken) < many


@pytest.mark.parametrize(
    "value", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-01-01T00:00:00"]
)
@pytest.mark.parametrize("path", [("timestamp",), ("message", "created_at")])
def test_a_time_that_cannot_be_told_everywhere_is_refused(line, take, exported, path, value):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "turn.started")
    assert f"line {number + 1} " in take(joined(put(lines, number, path, value)))[1]
    assert nothing_is_kept(line)


@pytest.mark.parametrize("value", ["NaN", "sNaN", "1E+999999999", "-Infinity"])
def test_an_amount_that_cannot_be_added_is_refused(line, take, exported, value):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "llm.call_completed")
    assert f"line {number + 1} " in take(joined(put(lines, number, ("cost_usd",), value)))[1]
    assert nothing_is_kept(line)


def test_events_out_of_order_or_twice_are_refused(line, take, exported):
    header, *lines = exported.splitlines(keepends=True)
    for wrong in ([*lines, lines[-1]], [*lines[:-2], lines[-1], lines[-2]], [*lines, *lines]):
        assert take(b"".join((header, *wrong)))[0] is None
    late = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(late) if each["type"] == "session.created")
    assert "order of their ids" in take(joined(put(late, number, ("id",), LATER)))[1]
    assert nothing_is_kept(line)


def test_a_message_twice_or_of_another_session_is_refused_whole(line, take, exported):
    lines = [json.loads(each) for each in exported.splitlines()]
    replies = [i for i, each in enumerate(lines) if each["type"] == "llm.call_completed"]
    again = put(lines, replies[1], ("message", "id"), lines[replies[0]]["message"]["id"])
    other = put(lines, replies[1], ("message", "session_id"), f"sess_{'0' * 26}")
    assert take(joined(again))[0] is None
    assert "belongs to session" in take(joined(other))[1]
    _, out, _ = line("sessions", "list", "--json")
    assert json.loads(out) == []


def test_ids_of_the_future_and_names_that_lead_elsewhere_get_new_ones(line, take, exported):
    lines = [json.loads(each) for each in exported.splitlines()]
    text = json.dumps(lines).replace(lines[0]["session_id"], "sess_../../x")
    session_id, _ = take(joined(json.loads(text)))
    assert session_id is not None and session_id.startswith("sess_0")
    everything_can_be_done(line, session_id)
    late = put(lines, len(lines) - 1, ("id",), LATER)
    session_id, _ = take(joined(late))
    assert session_id != lines[0]["session_id"]
    everything_can_be_done(line, session_id)


@pytest.mark.parametrize(
    "deep",
    [
        b'{"type":"turn.started","x":' + b"[" * 10**6,
        b'{"x":' * 10**6,
        b"[" * 10**6,
        b'{"type":"llm.call_completed","message":{"content":[{"type":"tool_use","input":'
        + b'{"a":' * 10**6,
    ],
    ids=["unknown", "objects", "lists", "arguments"],
)
def test_json_without_a_floor_is_refused(line, take, exported, deep):
    header = exported.splitlines(keepends=True)[0]
    assert "line 2 " in take(header + deep)[1]
    assert "line 1 " in take(deep)[1]
    assert nothing_is_kept(line)


def test_a_line_without_an_end_is_not_read_to_its_end(line, take, exported, tmp_path):
    endless = tmp_path / "endless.jsonl"
    with endless.open("wb") as file:
        file.write(exported)
        file.truncate(2**30)  # nothing of it takes room
    code, _, err = line("sessions", "import", str(endless))
    assert code == 2 and "is longer than 64 MiB" in err
    code, _, err = line("sessions", "import", "/dev/zero")
    assert code == 2 and "line 1 " in err
    code, _, err = line("sessions", "import", str(tmp_path))
    assert code == 2 and "Is a directory" in err
    assert nothing_is_kept(line)


def test_only_bytes_that_a_message_names_are_kept_and_never_under_another_name(
    line, take, exported
):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "yourtool.blob")
    lie = put(lines, number, ("data",), "YSBsaWU=")
    session_id, _ = take(joined(lie))
    blobs = resolve_paths().blobs
    assert not blobs.exists()
    everything_can_be_done(line, session_id)
    session_id, _ = take(joined([*lie[:2], lines[number], *lie[2:]]))
    assert [each.read_bytes() for each in blobs.iterdir()] == [PIXEL]
    everything_can_be_done(line, session_id)


def test_a_session_of_the_year_8999_is_listed_with_the_others(line, take, exported):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "turn.started")
    late = datetime(8999, 12, 31, tzinfo=UTC).isoformat()
    session_id, _ = take(joined(put(lines, number, ("timestamp",), late)))
    everything_can_be_done(line, session_id)
