"""Sessions as files: exports can be imported and contain no keys."""

import json
import stat

import pytest
from hypothesis import given

from tests.store.test_forks import every_string, messages_of, store_conversation, texts
from tests.store.turns import PROMPT, FactBuilder, changed, tool_call
from tests.strategies import few, histories
from yourtool.agent.history.state import State
from yourtool.errors import UsageError
from yourtool.events.branches import BranchSelected
from yourtool.events.sessions import EntryImported, SessionImported
from yourtool.messages.blobs import read_blob, store_blob
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock, ThinkingBlock
from yourtool.store.export_lines import import_warnings
from yourtool.store.exports import from_jsonl, to_jsonl, write_export
from yourtool.store.forks import import_session
from yourtool.store.markdown import to_markdown
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore


def plain(text):
    return text


def markdown(facts, mask=plain):
    return b"".join(to_markdown(facts, mask)).decode()


@pytest.mark.req("R-PER-08")
async def test_import_into_another_store_reproduces_equal_messages(store, tmp_path):
    session_id, facts = await store_conversation(store, "one", "two")
    blobs = tmp_path / "blobs"
    lines = list(to_jsonl(await store.read(session_id), plain, blobs))
    elsewhere = Database(tmp_path / "elsewhere" / "sessions.db")
    other = SqliteStore(elsewhere)
    assert await import_session(other, from_jsonl(lines, blobs), tmp_path) == session_id
    copy = await other.read(session_id)
    assert messages_of(copy) == messages_of(facts)
    assert [fact.id for fact in copy[:-1]] == [fact.id for fact in facts]
    assert isinstance(copy[-1], SessionImported)
    assert copy[0].workspace_path == str(tmp_path)
    assert await other.provider_call_ids(session_id) == await store.provider_call_ids(session_id)
    await elsewhere.close()


@pytest.mark.req("R-PER-08", "D10")
async def test_branches_are_exported_and_imported_into_the_same_store(store, tmp_path):
    builder = FactBuilder()
    start, first, second = builder.session_start(), builder.turn(), builder.turn()
    leaf, left = first[-2].message.id, second[-2].message.id
    selected = builder.fact(BranchSelected, leaf=leaf, left=left)
    other = (builder.turn_start("another way"), builder.turn_end())
    await store.append(start, *first, *second, selected, *other)
    lines = list(to_jsonl(await store.read(builder.session_id), plain, tmp_path))
    copy = await import_session(store, from_jsonl(lines, tmp_path), tmp_path)
    folded = State()
    await store.replay(copy, folded.apply)
    assert [each.text for each in folded.prompts] == [PROMPT, "another way"]


async def test_import_into_the_same_store_has_new_ids(store, tmp_path):
    session_id, facts = await store_conversation(store, "one")
    lines = list(to_jsonl(facts, plain, tmp_path))
    first, second = [
        await import_session(store, from_jsonl(lines, tmp_path), tmp_path) for _ in range(2)
    ]
    assert len({session_id, first, second}) == 3
    assert texts(await store.read(first)) == texts(await store.read(second)) == texts(facts)
    assert await store.read(session_id) == tuple(facts)


@pytest.mark.parametrize(
    "foreign_metadata",
    [
        {"compaction_hint": {"keep": [1, True, None]}, "note": "mine"},
        {"model": "a:b", "usage": {"tokens": "many"}, "details": {"exit_code": 1}},
    ],
    ids=["of-another-program", "of-another-role"],
)
async def test_unknown_metadata_is_imported_and_exported_unchanged(
    store, tmp_path, foreign_metadata
):
    _, facts = await store_conversation(store, "one")
    lines = [json.loads(line) for line in to_jsonl(facts, plain, tmp_path)]
    [asked, *_] = [line["message"] for line in lines if line.get("message")]
    asked["metadata"] = foreign_metadata
    foreign = [json.dumps(line).encode() for line in lines]
    session_id = await import_session(store, from_jsonl(foreign, tmp_path), tmp_path)
    kept = messages_of(await store.read(session_id))[0].metadata.import_source
    assert kept.extra == foreign_metadata
    again = list(to_jsonl(await store.read(session_id), plain, tmp_path))
    copy = messages_of(list(from_jsonl(again, tmp_path)))[0]
    assert copy.metadata.import_source == kept
    assert hash(copy.metadata) == hash(copy.metadata)


@pytest.mark.req("R-SEED-06")
async def test_unknown_blocks_and_newer_messages_are_kept(store, tmp_path):
    builder, use = FactBuilder(), tool_call()
    facts = [
        builder.session_start(),
        builder.turn_start(),
        builder.reply(TextBlock("I look"), use),
        builder.tool_result(use, "fine"),
    ]
    lines = [json.loads(line) for line in to_jsonl(facts, plain, tmp_path)]
    hologram, sound = {"type": "hologram", "depth": 3}, {"type": "sound"}
    lines[3]["message"]["content"].insert(1, hologram)
    lines[3]["message"]["schema_version"] = 2
    lines[4]["message"]["content"][0]["content"].append(sound)
    foreign = [json.dumps(line).encode() for line in lines]
    session_id = await import_session(store, from_jsonl(foreign, tmp_path), tmp_path)
    _, reply, result = messages_of(await store.read(session_id))
    assert [type(block) for block in reply.content] == [TextBlock, TextBlock, type(use)]
    assert reply.schema_version == 2
    assert reply.metadata.import_source.extra == {"unknown_blocks": [hologram]}
    assert result.metadata.import_source.extra == {"unknown_blocks": [sound]}
    assert result.result.content[-1] == TextBlock("[unknown block `sound`]")
    assert import_warnings(await store.read(session_id)) == (
        "unknown block `hologram`",
        "unknown block `sound`",
    )


@pytest.mark.req("R-CAN-01")
async def test_unknown_events_and_stop_reasons_are_kept_and_reported(store, tmp_path):
    builder = FactBuilder()
    facts = [builder.session_start(), builder.turn_start(), builder.reply(TextBlock("Yes."))]
    facts += [builder.turn_end(), builder.turn_end()]
    lines = [json.loads(line) for line in to_jsonl(facts, plain, tmp_path)]
    lines[3]["message"]["metadata"]["stop_reason"] = lines[3]["stop_reason"] = "sleepy"
    lines[4]["stop_reason"] = "sleepy"
    lines[5] |= {"type": "quantum.leaped", "depth": 3}
    foreign = [json.dumps(line).encode() for line in lines]
    session_id = await import_session(store, from_jsonl(foreign, tmp_path), tmp_path)
    stored = await store.read(session_id)
    assert import_warnings(stored) == (
        "unknown stop reason `sleepy`",
        "unknown stop reason `sleepy`",
        "unknown event `quantum.leaped`",
    )
    [kept] = [each for each in stored if isinstance(each, EntryImported)]
    assert json.loads(kept.text)["depth"] == 3
    *_, answer = messages_of(stored)
    assert answer.text == "Yes."
    assert answer.metadata.import_source.extra == {"stop_reason": "sleepy"}
    exported = b"".join(to_jsonl(stored, plain, tmp_path))
    assert b"quantum.leaped" in exported and b"sleepy" in exported


@few
@given(histories())
@pytest.mark.req("R-CAN-01")
@pytest.mark.remaining
def test_any_conversation_is_read_back_from_its_export_unchanged(messages):
    builder = FactBuilder()
    facts = [builder.session_start()]
    facts += [builder.fact_with(message) for message in messages]
    lines = list(to_jsonl(facts, plain, None))
    assert all(line.endswith(b"\n") and b"\n" not in line[:-1] for line in lines)
    assert list(from_jsonl(lines, None)) == facts


def test_attachments_are_exported_once_and_restored(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    reference = store_blob(here, b"\x89PNG...")
    builder = FactBuilder()
    picture = ImageBlock(ImageSource("file_ref", reference), "image/png")
    facts = [builder.session_start()]
    for _ in range(2):
        asked = builder.turn_start()
        content = (TextBlock("look"), picture)
        facts.append(changed(asked, message=changed(asked.message, content=content)))
    lines = list(to_jsonl(facts, plain, here))
    assert sum(b"yourtool.blob" in line for line in lines) == 1
    assert list(from_jsonl(lines, there)) == facts
    assert read_blob(there, reference) == b"\x89PNG..."
    assert len(list(to_jsonl(facts, plain, tmp_path / "gone"))) == len(facts) + 1


@pytest.mark.req("R-CRD-02")
def test_exports_contain_no_keys():
    canary = 'sk-"canary"\\4711'
    builder, use = FactBuilder(), tool_call("shell", command=f"echo {canary}", **{canary: 1})
    facts = [
        builder.session_start(),
        builder.turn_start(canary),
        builder.reply(TextBlock(f"it is {canary}"), use),
        builder.tool_result(use, canary),
    ]

    def mask(text):
        return text.replace(canary, "***")

    lines = list(to_jsonl(facts, mask, None))
    assert not any(canary in text for line in lines for text in every_string(json.loads(line)))
    assert len(from_jsonl(lines, None)) == len(facts)
    assert canary not in markdown(facts, mask)
    assert markdown(facts, mask).count("***") > 3


def test_reasoning_with_a_removed_key_loses_its_signature():
    builder = FactBuilder()
    whole, masked = ThinkingBlock("I use no key.", "c2ln"), ThinkingBlock("I use key-4711.", "c2ln")
    facts = [builder.session_start(), builder.turn_start(), builder.reply(whole, masked)]
    lines = list(to_jsonl(facts, lambda text: text.replace("key-4711", "***"), None))
    assert from_jsonl(lines, None)[-1].message.content == (whole, ThinkingBlock("I use ***."))


@pytest.mark.req("R-PER-08")
async def test_markdown_labels_the_author_of_each_message(store):
    _, facts = await store_conversation(store, "what is `x`?")
    text = markdown(facts)
    assert text.startswith("# what is `x`?\n")
    assert "## You · " in text and "## Assistant · `anthropic:claude-sonnet-4-6` · " in text
    assert "**Tool call** `read_file`" in text
    assert "> hm" in text


def test_markdown_contains_no_terminal_sequences_and_no_text_escapes_its_fence():
    builder, use = FactBuilder(), tool_call("evil`\n# name", text="x")
    output = "\x1b]0;pwned\x07 ```\n# not a heading\n````"
    facts = [
        builder.session_start(),
        builder.turn_start("\x1b[2J\u202ehi"),
        builder.reply(use),
        builder.tool_result(use, output),
    ]
    text = markdown(facts)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "`````\n" in text
    assert "**Tool call** `evil' # name`" in text


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([b"not json\n"], "line 1"),
        ([b'{"type": "session"}\n'], "line 1"),
        ([b'{"type":"yourtool.session","version":2,"session_id":"s"}\n'], "newer yourtool"),
        ([b"HEADER", b'{"type":"nothing.known"}\n'], "line 2"),
        ([b"HEADER", b'{"type":"session.created"}\n'], "line 2"),
        ([b"HEADER", b'{"type":"yourtool.blob","data":"!"}\n'], "line 2"),
        ([b"HEADER", b'{"x":' * 5_000], "line 2"),
        ([b"HEADER", b"\xff\xfe"], "line 2"),
        (
            [
                b"HEADER",
                b'{"type":"session.created","workspace_path":"/","workspace_hash":"",'
                b'"timestamp":"2026-01-01T00:00:00"}',
            ],
            "without a time zone",
        ),
    ],
)
def test_invalid_export_is_rejected_with_the_line(lines, words, tmp_path):
    header = b'{"type":"yourtool.session","version":1,"session_id":"s"}\n'
    with pytest.raises(UsageError, match=words):
        from_jsonl([header if line == b"HEADER" else line for line in lines], tmp_path)


def test_export_file_is_private_and_overwrites_nothing(tmp_path):
    path = tmp_path / "a.md"
    write_export(path, [b"one\n"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="exists"):
        write_export(path, [b"two\n"])
    assert path.read_bytes() == b"one\n"
    write_export(path, [b"two\n"], overwrite=True)
    assert path.read_bytes() == b"two\n"
    with pytest.raises(UsageError, match="cannot be written"):
        write_export(tmp_path / "none" / "a.md", [b""])
    dangling = tmp_path / "link"
    dangling.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="exists"):
        write_export(dangling, [b"three\n"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.md", "link"]
