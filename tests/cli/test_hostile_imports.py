"""An untrusted file is imported completely or rejected with an error (R-PER-08, R-SEC)."""

import json
import random
from datetime import UTC, datetime

import pytest

from tests.store.turns import FactBuilder, changed, tool_call
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock, ThinkingBlock
from yourtool.paths import resolve_paths
from yourtool.store.exports import to_jsonl

pytestmark = pytest.mark.usefixtures("own_logging")

PIXEL = b"\x89PNG\r\n\x1a\n a dot"
LATER = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> bytes:
    """An exported session of one turn with an image and a tool call."""
    blobs = tmp_path_factory.mktemp("blobs")
    picture = ImageBlock(ImageSource("file_ref", store_blob(blobs, PIXEL)), "image/png")
    builder, use = FactBuilder(), tool_call()
    asked = builder.turn_start()
    asked = changed(asked, message=changed(asked.message, content=(TextBlock("look"), picture)))
    facts = [
        changed(builder.session_start(), id="0" * 26),
        asked,
        builder.route(),
        builder.request(),
        builder.reply(ThinkingBlock("hm", "c2lnbmVk"), TextBlock("re"), use),
        builder.tool_start(use),
        builder.tool_result(use),
        builder.request(),
        builder.reply(TextBlock("done")),
        builder.turn_end(),
    ]
    return b"".join(to_jsonl(facts, str, blobs))


@pytest.fixture
def import_file(line, tmp_path):
    """Import bytes; return the new session's id or the error."""
    file = tmp_path / "from-elsewhere.jsonl"

    def importing(content: bytes) -> tuple[str | None, str]:
        file.write_bytes(content)
        code, out, err = line("sessions", "import", str(file), "--json")
        assert code in (0, 2)
        assert "Traceback" not in err and not {"\x1b", "\x07"} & set(err)
        if code == 0:
            return json.loads(out)["session_id"], ""
        assert f"cannot import `{file}`" in err
        return None, err

    return importing


def use_session(line, session_id):
    """Show, list, search, export, fork and continue a session."""
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
    # The scripted model does not support images, so routing can refuse with an error.
    assert told["result"] == "It goes on." or told["error"]["class"] == "routing_failed"


def is_store_empty(line):
    _, out, _ = line("sessions", "list", "--json")
    blobs = resolve_paths().blobs
    return json.loads(out) == [] and (not blobs.exists() or list(blobs.iterdir()) == [])


def value_paths(value, path=()):
    """Return the paths to everything within a JSON value."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else ()
    for key, inner in entries or (enumerate(value) if isinstance(value, list) else ()):
        yield from value_paths(inner, (*path, key))


def replace_value(lines, number, path, value):
    """Return the lines with one value replaced."""
    lines = json.loads(json.dumps(lines))
    place = lines[number]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return lines


def join_lines(lines):
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


@pytest.mark.parametrize("many", [10, pytest.param(60, marks=pytest.mark.soak)])
@pytest.mark.remaining
def test_flipped_bits_and_truncated_files_are_rejected_or_harmless(
    line, import_file, exported, many
):
    chance = random.Random(5)
    damaged = [exported[: chance.randrange(len(exported))] for _ in range(many // 3)]
    damaged.append(exported + b"\n")
    for _ in range(many):
        flipped = bytearray(exported)
        for _ in range(chance.choice((1, 1, 3))):
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(flipped))
    taken = [session_id for each in damaged if (session_id := import_file(each)[0])]
    for session_id in taken[:2]:
        use_session(line, session_id)
    assert line("sessions", "list")[0] == 0
    assert 0 < len(taken) < len(damaged)


HOSTILE = [
    None, "", -1, 10**30, 10**301, 1e308, "1E+999999999", "NaN", "sNaN", "-Infinity", [], {},
    "../../etc/passwd", "\x1b[2J", "\0", "sess_../x", f"sess_{LATER}", LATER, "\ud800",
    "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59",
]  # fmt: skip


@pytest.mark.parametrize("many", [30, pytest.param(200, marks=pytest.mark.soak)])
@pytest.mark.remaining
def test_hostile_value_in_any_field_is_rejected_or_harmless(
    line, import_file, exported, monkeypatch, many
):
    """Use a time zone east of Greenwich, where the maximum times overflow."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    chance = random.Random(7)
    lines = [json.loads(each) for each in exported.splitlines()]
    every = [(number, path) for number, each in enumerate(lines) for path in value_paths(each)]
    taken = []
    for number, path in chance.sample(every, many):
        content = join_lines(replace_value(lines, number, path, chance.choice(HOSTILE)))
        if (session_id := import_file(content)[0]) is not None:
            taken.append(session_id)
    for session_id in taken[:: 1 + len(taken) // 3]:
        use_session(line, session_id)
    assert 0 < len(taken) < many


@pytest.mark.parametrize(
    "value", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-01-01T00:00:00"]
)
@pytest.mark.parametrize("path", [("timestamp",), ("message", "created_at")])
def test_time_out_of_range_is_rejected(line, import_file, exported, path, value):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "turn.started")
    assert (
        f"line {number + 1} "
        in import_file(join_lines(replace_value(lines, number, path, value)))[1]
    )
    assert is_store_empty(line)


@pytest.mark.parametrize("value", ["NaN", "sNaN", "1E+999999999", "-Infinity"])
def test_amount_out_of_range_is_rejected(line, import_file, exported, value):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "llm.call_completed")
    assert (
        f"line {number + 1} "
        in import_file(join_lines(replace_value(lines, number, ("cost_usd",), value)))[1]
    )
    assert is_store_empty(line)


def test_unordered_or_duplicate_events_are_rejected(line, import_file, exported):
    header, *lines = exported.splitlines(keepends=True)
    for wrong in ([*lines, lines[-1]], [*lines[:-2], lines[-1], lines[-2]], [*lines, *lines]):
        assert import_file(b"".join((header, *wrong)))[0] is None
    late = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(late) if each["type"] == "session.created")
    assert (
        "order of their ids"
        in import_file(join_lines(replace_value(late, number, ("id",), LATER)))[1]
    )
    assert is_store_empty(line)


def test_duplicate_or_foreign_message_rejects_the_file(line, import_file, exported):
    lines = [json.loads(each) for each in exported.splitlines()]
    replies = [i for i, each in enumerate(lines) if each["type"] == "llm.call_completed"]
    again = replace_value(lines, replies[1], ("message", "id"), lines[replies[0]]["message"]["id"])
    other = replace_value(lines, replies[1], ("message", "session_id"), f"sess_{'0' * 26}")
    assert import_file(join_lines(again))[0] is None
    assert "belongs to session" in import_file(join_lines(other))[1]
    _, out, _ = line("sessions", "list", "--json")
    assert json.loads(out) == []


def test_future_ids_and_path_like_names_are_replaced(line, import_file, exported):
    lines = [json.loads(each) for each in exported.splitlines()]
    text = json.dumps(lines).replace(lines[0]["session_id"], "sess_../../x")
    session_id, _ = import_file(join_lines(json.loads(text)))
    assert session_id is not None and session_id.startswith("sess_0")
    use_session(line, session_id)
    late = replace_value(lines, len(lines) - 1, ("id",), LATER)
    session_id, _ = import_file(join_lines(late))
    assert session_id != lines[0]["session_id"]
    use_session(line, session_id)


@pytest.mark.needs("extensions/importers")
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
def test_deeply_nested_json_is_rejected(line, import_file, exported, deep):
    header = exported.splitlines(keepends=True)[0]
    assert "line 2 " in import_file(header + deep)[1]
    assert "its format is unknown" in import_file(deep)[1]
    assert is_store_empty(line)


@pytest.mark.remaining
def test_unterminated_line_is_not_read_completely(line, import_file, exported, tmp_path):
    endless = tmp_path / "endless.jsonl"
    with endless.open("wb") as file:
        file.write(exported)
        file.truncate(2**30)  # a sparse file uses no disk space
    code, _, err = line("sessions", "import", str(endless))
    assert code == 2 and "is longer than 64 MiB" in err
    code, _, err = line("sessions", "import", "/dev/zero")
    assert code == 2 and "is larger than 512 MiB" in err
    code, _, err = line("sessions", "import", str(tmp_path))
    assert code == 2 and "Is a directory" in err
    assert is_store_empty(line)


def test_only_referenced_bytes_are_stored_under_their_hash(line, import_file, exported):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "yourtool.blob")
    lie = replace_value(lines, number, ("data",), "YSBsaWU=")
    session_id, _ = import_file(join_lines(lie))
    blobs = resolve_paths().blobs
    assert not blobs.exists()
    use_session(line, session_id)
    session_id, _ = import_file(join_lines([*lie[:2], lines[number], *lie[2:]]))
    assert [each.read_bytes() for each in blobs.iterdir()] == [PIXEL]
    use_session(line, session_id)


def test_session_of_the_year_8999_is_listed(line, import_file, exported):
    lines = [json.loads(each) for each in exported.splitlines()]
    number = next(i for i, each in enumerate(lines) if each["type"] == "turn.started")
    late = datetime(8999, 12, 31, tzinfo=UTC).isoformat()
    session_id, _ = import_file(join_lines(replace_value(lines, number, ("timestamp",), late)))
    use_session(line, session_id)
