"""Forks and imports: the same conversation with new ids."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from tests.store.turns import FactBuilder, changed, tool_call
from tests.strategies import few, histories
from yourtool.errors import InvalidMessageError, SessionNotFoundError, UsageError
from yourtool.events.files import FilesChanged, FilesRestoring
from yourtool.events.sessions import SessionForked, SessionImported, SessionModelSelected
from yourtool.events.turns import TurnStarted
from yourtool.foundation.file_images import ABSENT_FILE, FileImage, FileRestore, RecordedChange
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock, ThinkingBlock
from yourtool.messages.invariants import validate_message, validate_session
from yourtool.messages.message import ReplyMessage
from yourtool.store.forks import find_import, fork, import_session, with_new_ids


def messages_of(facts):
    return [fact.message for fact in facts if getattr(fact, "message", None) is not None]


def texts(facts):
    return [message.text for message in messages_of(facts) if message.text]


def every_string(value):
    match value:
        case str():
            yield value
        case dict():
            for key, entry in value.items():
                yield from every_string(key)
                yield from every_string(entry)
        case list():
            for entry in value:
                yield from every_string(entry)


async def store_conversation(store, *prompts):
    """Store a session with one turn and one tool call for each prompt."""
    builder = FactBuilder()
    facts = [builder.session_start()]
    for prompt in prompts:
        use = tool_call()
        facts += [
            builder.turn_start(prompt),
            builder.route(),
            builder.request(),
            builder.reply(ThinkingBlock("hm", "c2lnbmVk"), TextBlock(f"re {prompt}"), use),
            builder.tool_start(use),
            builder.tool_result(use),
            builder.turn_end(),
        ]
    await store.append(*facts)
    return builder.session_id, facts


@pytest.mark.req("R-PER-08")
async def test_complete_fork_has_the_same_conversation_with_new_ids(store, rows):
    session_id, facts = await store_conversation(store, "one", "two")
    before = rows("SELECT * FROM events ORDER BY id"), rows("SELECT * FROM messages ORDER BY id")
    copy = await store.read(await fork(store, session_id))
    assert [type(fact) for fact in copy] == [*map(type, facts), SessionForked]
    assert copy[-1].parent_session_id == session_id
    assert texts(copy) == texts(facts)
    for ours, theirs in zip(messages_of(copy), messages_of(facts), strict=True):
        assert (ours.role, ours.created_at) == (theirs.role, theirs.created_at)
        if isinstance(ours, ReplyMessage):
            assert ours.metadata.usage == theirs.metadata.usage
    assert {fact.session_id for fact in copy} == {copy[0].session_id} != {session_id}
    events = rows("SELECT * FROM events WHERE session_id = ? ORDER BY id", session_id)
    assert events == before[0]
    assert rows("SELECT * FROM messages WHERE session_id = ?", session_id) == before[1]


async def test_fork_refers_to_its_parent_and_has_a_result_for_every_copied_call(store, rows):
    session_id, _ = await store_conversation(store, "one", "two")
    fork_id = await fork(store, session_id)
    [(parent,)] = rows("SELECT parent_session_id FROM sessions WHERE id = ?", fork_id)
    assert parent == session_id
    copy = await store.read(fork_id)
    assert validate_session(messages_of(copy)) == []
    assert await store.pending_call_ids(fork_id) == ()


async def test_fork_preserves_signatures_and_provider_ids(store):
    session_id, _ = await store_conversation(store, "one", "two")
    fork_id = await fork(store, session_id)
    wires = [wire for _, _, wire in await store.provider_call_ids(session_id)]
    assert [wire for _, _, wire in await store.provider_call_ids(fork_id)] == wires
    ours = {ours for ours, _, _ in await store.provider_call_ids(fork_id)}
    assert ours.isdisjoint(ours for ours, _, _ in await store.provider_call_ids(session_id))
    signed = [
        block.signature
        for message in messages_of(await store.read(fork_id))
        for block in message.content
        if isinstance(block, ThinkingBlock)
    ]
    assert signed == ["c2lnbmVk", "c2lnbmVk"]


@pytest.mark.req("R-PER-08")
async def test_fork_at_a_prompt_ends_before_it_and_fork_at_a_reply_ends_after_its_turn(store):
    session_id, facts = await store_conversation(store, "one", "two", "three")
    second = next(fact.message for fact in facts if texts([fact]) == ["two"])
    reply = next(fact.message for fact in facts if texts([fact]) == ["re two"])
    first = next(fact.message for fact in facts if texts([fact]) == ["one"])
    assert texts(await store.read(await fork(store, session_id, second.id))) == ["one", "re one"]
    upto = await store.read(await fork(store, session_id, reply.id))
    assert texts(upto) == ["one", "re one", "two", "re two"]
    assert validate_session(messages_of(upto)) == []
    assert messages_of(await store.read(await fork(store, session_id, first.id))) == []


async def test_unfinished_turn_is_not_copied_into_a_fork(store):
    session_id, facts = await store_conversation(store, "one")
    builder = FactBuilder(session_id)
    use = tool_call()
    asked, answered = builder.turn_start("two"), builder.reply(TextBlock("let me"), use)
    await store.append(asked, answered)
    copy = await store.read(await fork(store, session_id))
    assert texts(copy) == texts(facts)
    with pytest.raises(UsageError, match="unfinished"):
        await fork(store, session_id, answered.message.id)


async def test_fork_copies_the_model_chosen_before_the_fork_point_only(store):
    session_id, facts = await store_conversation(store, "one", "two")
    builder = FactBuilder(session_id)
    await store.append(builder._fact(SessionModelSelected, model="openai:gpt-5"))
    second = next(fact.message for fact in facts if texts([fact]) == ["two"])
    early, late = await fork(store, session_id, second.id), await fork(store, session_id)
    chosen = {
        each: [
            fact.model for fact in await store.read(each) if isinstance(fact, SessionModelSelected)
        ]
        for each in (early, late)
    }
    assert chosen == {early: [], late: ["openai:gpt-5"]}


@pytest.mark.req("R-CST-02")
async def test_costs_of_copied_turns_are_counted_once(store):
    session_id, _ = await store_conversation(store, "one", "two")
    spent = (await store.list())[0].cost_usd
    fork_id = await fork(store, session_id)
    costs = {each.id: each.cost_usd for each in await store.list()}
    assert costs == {session_id: spent, fork_id: 0}
    builder = FactBuilder(fork_id)
    await store.append(
        builder.turn_start("three"), builder.reply(TextBlock("re three"), cost="0.5")
    )
    assert sum(cost.cost_usd for cost in await store.cost_report(fork_id)) == 0.5


async def test_original_and_fork_continue_independently(store):
    session_id, facts = await store_conversation(store, "one")
    fork_id = await fork(store, session_id)
    for each, word in ((session_id, "left"), (fork_id, "right")):
        builder = FactBuilder(each)
        await store.append(*builder.turn(word))
    assert "left" not in str(await store.read(fork_id))
    assert "right" not in str(await store.read(session_id))
    again = await fork(store, fork_id)
    [first, last] = [f for f in await store.read(again) if isinstance(f, SessionForked)]
    assert (first.parent_session_id, last.parent_session_id) == (session_id, fork_id)
    assert len(facts) < len(await store.read(fork_id)) < len(await store.read(again))


async def test_fork_error_names_what_cannot_be_forked(store):
    session_id, _ = await store_conversation(store, "one")
    with pytest.raises(UsageError, match="no message `01NOTHING`"):
        await fork(store, session_id, "01NOTHING")
    with pytest.raises(SessionNotFoundError):
        await fork(store, "sess_nowhere")


@few
@given(histories())
@pytest.mark.req("R-CAN-01")
@pytest.mark.remaining
def test_copy_contains_no_old_id_and_preserves_the_order(messages):
    builder = FactBuilder()
    facts = [
        builder._fact(
            TurnStarted,
            user_message_hash="",
            estimated_input_tokens=0,
            has_images=False,
            has_tool_calls_in_history=False,
            message=changed(message, session_id=builder.session_id),
        )
        for message in messages
    ]
    copies = with_new_ids(facts, "sess_other")
    old = {fact.id for fact in facts} | {message.id for message in messages} | {builder.session_id}
    old |= {use.id for message in messages for use in message.tool_uses}
    assert old.isdisjoint(every_string(msgspec.to_builtins(copies)))
    copied = messages_of(copies)
    assert [each.id for each in copied] == sorted(each.id for each in copied)
    assert [validate_message(each) for each in copied] == [
        validate_message(each) for each in messages
    ]
    assert len(validate_session(copied)) == len(validate_session(messages))


async def test_failed_import_stores_nothing(store, tmp_path):
    builder = FactBuilder()
    use = tool_call()
    facts = [builder.session_start(), builder.turn_start("one"), builder.reply(TextBlock("a"), use)]
    for wrong in ([], facts[1:], [facts[0], facts[0]], [facts[0], facts[0], facts[1]]):
        with pytest.raises(UsageError, match="one session from its start"):
            await import_session(store, wrong, tmp_path)
    wrong = changed(builder.tool_result(use), tool_use_id="tu_of_nobody")
    with pytest.raises(InvalidMessageError, match="not the result"):
        await import_session(store, [*facts, wrong], tmp_path)
    assert await store.list() == ()


async def test_import_replaces_future_ids_so_that_new_ids_are_greater(store, tmp_path):
    builder = FactBuilder("sess_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
    last = "7" + "Z" * 25
    asked = changed(builder.turn_start(), id=last)
    adopted = await import_session(store, [builder.session_start(), asked], tmp_path)
    assert adopted != builder.session_id
    assert (await store.read(adopted))[-1].id < last


@pytest.mark.req("R-PER-08")
async def test_only_the_imported_session_is_found_by_the_hash_of_its_file(store, tmp_path):
    first, forger = FactBuilder(), FactBuilder()
    facts = [first.session_start(), *first.turn()]
    imported = await import_session(store, facts, tmp_path, "a" * 64)
    await fork(store, imported)
    assert await find_import(store, "a" * 64) == imported
    facts = [forger.session_start(), *forger.turn()]
    forged = SessionImported(
        id=new_id(),
        timestamp=facts[0].timestamp,
        session_id=forger.session_id,
        source_session_id="s",
        source_sha256="b" * 64,
    )
    await import_session(store, [*facts, forged], tmp_path, "c" * 64)
    assert await find_import(store, "b" * 64) is None


@pytest.mark.parametrize("known", [False, True], ids=["another store", "same store"])
async def test_copy_of_a_worker_belongs_to_the_user(store, known):
    parent, worker = FactBuilder(), FactBuilder()
    await store.append(parent.session_start(), *parent.turn())
    facts = [worker.session_start(parent.session_id), *worker.turn()]
    if known:
        await store.append(*facts)
        copies = {await fork(store, worker.session_id)}
    else:
        copies = set()
    copies.add(await import_session(store, facts, Path("/work")))
    listed = {each.id for each in await store.list()}
    assert listed == copies | {parent.session_id}
    await store.delete(parent.session_id)
    assert {each.id for each in await store.list()} == copies


@pytest.mark.parametrize("digest", ["../../victim", "/etc/passwd", "F" * 64, "a" * 64 + "\n"])
async def test_import_replaces_paths_in_place_of_digests(store, tmp_path, digest):
    builder, valid = FactBuilder(), FileImage("file", digest="a" * 64, stored=True)
    wrong = FileImage("file", digest=digest, stored=True)
    change = RecordedChange(path="a.txt", before=wrong, after=valid)
    restore = FileRestore(path="a.txt", before=ABSENT_FILE, after=wrong)
    start, turn = builder.session_start(), builder.turn()
    done = builder.fact(FilesChanged, tool_use_id="", changes=(change,))
    undone = FilesRestoring(
        id=new_id(),
        timestamp=done.timestamp,
        session_id=builder.session_id,
        kind="undo",
        turns=(),
        files=(restore,),
    )
    facts = (start, *turn, done, undone)
    stored = await store.read(await import_session(store, facts, tmp_path))
    [changed_files] = [each.changes[0] for each in stored if isinstance(each, FilesChanged)]
    [restored] = [each.files[0] for each in stored if isinstance(each, FilesRestoring)]
    assert changed_files.before == restored.after == FileImage("file")
    assert changed_files.after == valid and not changed_files.is_undoable
