"""What the program needs of a store, for every implementation of the port."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tests.agent.harness import Bench, Checked, play
from tests.store.memory import MemoryStore
from tests.store.turns import PROMPT, FactBuilder, changed, reply_metadata, tool_call
from yourtool.errors import (
    InvalidMessageError,
    SessionBusyError,
    SessionNotFoundError,
    StoreError,
)
from yourtool.events.branches import BranchSelected
from yourtool.events.catalog import AnyFact
from yourtool.events.sessions import SessionCreated, SessionModelSelected
from yourtool.events.tools import ToolFailed
from yourtool.events.turns import TurnStarted
from yourtool.foundation.amounts import Spending
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.messages.metadata import MessageStatus
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.store.base import SessionStore, resolve_id
from yourtool.store.edits import rename
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.forks import fork, import_session
from yourtool.store.pages import read_page
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

YEAR_2000 = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "memory"])
async def store(request, path):
    """Each implementation of the port."""
    store: SessionStore = (
        SqliteStore(Database(path)) if request.param == "sqlite" else MemoryStore()
    )
    yield store
    await store.close()


async def test_facts_are_read_back_in_the_order_of_their_ids(store):
    builder, replayed = FactBuilder(), []
    facts = (builder.session_start(), *builder.turn(), *builder.turn())
    await store.append(*facts)
    assert await store.read(builder.session_id) == facts
    await store.replay(builder.session_id, replayed.append)
    assert tuple(replayed) == facts


@pytest.mark.parametrize("count", [1, 3, 6, 7, 100])
async def test_end_of_a_session_starts_with_a_turn_and_has_enough_facts(store, count):
    builder = FactBuilder()
    facts = [builder.session_start(), *(fact for _ in range(5) for fact in builder.turn())]
    other = FactBuilder()
    await store.append(*facts, other.session_start(), *other.turn())
    pages, before = list[AnyFact](), ""
    while before != facts[0].id:
        page = await store.read_end(builder.session_id, count, before)
        assert isinstance(page[0], TurnStarted | SessionCreated)
        assert len(page) >= count or page[0] == facts[0]
        assert not any(isinstance(fact, TurnStarted) for fact in page[1 : len(page) - count])
        pages, before = [*page, *pages], page[0].id
    assert pages == facts
    assert list(await store.read_end(builder.session_id, count, before)) == []


@pytest.mark.req("R-PER-08")
async def test_page_has_the_present_branch_only(store):
    builder = FactBuilder()
    old = [builder.session_start(), *builder.turn(), *builder.turn()]
    first = next(fact for fact in old if isinstance(fact, TurnStarted))
    moved = builder._fact(BranchSelected, leaf="", left=first.message.id)
    new = [fact for _ in range(4) for fact in builder.turn()]
    await store.append(*old, moved, *new)
    page = await read_page(store, builder.session_id, count=len(new))
    assert list(page.facts) == new and page.has_earlier
    page = await read_page(store, builder.session_id, page.facts[0].id, count=3)
    assert list(page.facts) == [old[0], moved] and not page.has_earlier


@pytest.mark.req("R-PER-02")
async def test_part_of_a_reply_is_replaced_by_the_next_and_removed_by_the_end(store):
    builder = FactBuilder()
    facts = (builder.session_start(), builder.turn_start(), builder.route(), builder.request())
    await store.append(*facts)
    metadata = replace(reply_metadata(), status=MessageStatus.PARTIAL)
    parts = [
        builder.broken(None, builder.message(Role.ASSISTANT, [TextBlock(text)], metadata))
        for text in ("The", "The tide")
    ]
    assert await store.read_partial(builder.session_id) is None
    for part in parts:
        await store.save_partial(part)
        assert await store.read_partial(builder.session_id) == part
    assert await store.read(builder.session_id) == facts
    await store.append(builder.reply(TextBlock("The tide is high.")))
    assert await store.read_partial(builder.session_id) is None
    await store.save_partial(parts[0])
    await store.delete(builder.session_id)
    assert await store.read_partial(builder.session_id) is None


async def test_facts_of_some_kinds_are_read_session_by_session(store):
    one, other = FactBuilder(), FactBuilder()
    first, second = tool_call(), tool_call()
    await store.append(one.session_start(), one.turn_start(), one.reply(first))
    await store.append(other.session_start(), other.turn_start(), other.reply(second))
    failed = one.tool_failure(first), other.tool_failure(second)
    await store.append(*reversed(failed))
    found = []
    await store.read_kinds((ToolFailed, SessionCreated), found.append)
    assert [type(fact) for fact in found] == [SessionCreated, ToolFailed] * 2
    assert [fact for fact in found if isinstance(fact, ToolFailed)] == sorted(
        failed, key=lambda fact: fact.session_id
    )


async def test_ids_after_a_read_are_greater_than_every_id_of_the_session(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    assert new_id() > (await store.read(builder.session_id))[-1].id


async def test_unknown_session_is_reported(store):
    with pytest.raises(SessionNotFoundError):
        await store.read("sess_01AAAAAAAAAAAAAAAAAAAAAAAA")
    with pytest.raises(SessionNotFoundError):
        await store.append(FactBuilder().turn_start())


async def test_invalid_facts_store_nothing(store):
    builder, use = FactBuilder(), tool_call()
    await store.append(builder.session_start(), builder.turn_start(), builder.reply(use))
    before = await store.read(builder.session_id)
    done, empty = builder.tool_result(use), builder.turn_start()
    with pytest.raises(InvalidMessageError, match="M1"):
        await store.append(done, changed(empty, message=changed(empty.message, content=())))
    with pytest.raises(StoreError, match="does not exist or"):
        await store.append(builder.tool_result(tool_call()))
    with pytest.raises(StoreError, match="`estimated_input_tokens`"):
        await store.append(changed(builder.request(), estimated_input_tokens=-1))
    assert await store.read(builder.session_id) == before


async def test_call_has_one_result_and_a_provider_id(store):
    builder, first, second = FactBuilder(), tool_call(), tool_call()
    await store.append(builder.session_start(), builder.turn_start(), builder.reply(first, second))
    await store.append(builder.tool_result(first))
    with pytest.raises(StoreError):
        await store.append(builder.tool_failure(first))
    assert await store.provider_call_ids(builder.session_id) == tuple(
        (use.id, "anthropic", f"toolu_{use.id[-6:]}") for use in (first, second)
    )


async def test_unencodable_text_is_replaced(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), builder.turn_start("caf\udce9"))
    assert (await store.read(builder.session_id))[-1].message.text == "caf\ufffd"


async def test_summary_has_title_model_turns_and_cost(store):
    builder, silent = FactBuilder(workspace="/work/here"), FactBuilder()
    facts = (builder.session_start(), *builder.turn())
    chosen = builder._fact(SessionModelSelected, model="openai:gpt-5")
    await store.append(*facts, chosen)
    await store.append(silent.session_start())
    [summary] = await store.list()
    assert (summary.id, summary.active_model) == (builder.session_id, "openai:gpt-5")
    assert (summary.title, summary.turn_count) == ("please read the secret plan", 1)
    assert (summary.workspace_path, summary.cost_usd) == ("/work/here", Decimal("0.02"))
    assert (summary.created_at, summary.updated_at) == (facts[0].timestamp, chosen.timestamp)
    assert (await store.list("/elsewhere", "/x"), await store.list(limit=0)) == ((), ())
    assert await store.last_used("/elsewhere", "/work/here") == builder.session_id
    assert await store.last_used("/elsewhere") is None


async def test_pages_of_sessions_contain_each_session_once(store):
    builders = [FactBuilder(workspace=f"/w{number % 2}") for number in range(7)]
    for builder in builders:
        await store.append(builder.session_start(), *builder.turn())
    together = await store.list()
    paged = page = await store.list(limit=3)
    while page := await store.list(limit=3, after=page[-1]):
        paged += page
    assert paged == together
    assert len(together) == 7
    in_one = await store.list("/w1")
    assert await store.list("/w1", limit=2, after=in_one[0]) == in_one[1:3]


async def test_message_with_every_word_is_found_newest_first(store):
    builder = FactBuilder()
    prompts = ("The café is closed", "a tea room", "a CAFE that closed")
    first, other, second = map(builder.turn_start, prompts)
    await store.append(builder.session_start(), first, other, second)
    hits = await store.search("cafe clos")
    assert [hit.message_id for hit in hits] == [second.message.id, first.message.id]
    assert hits[0].snippet == "a CAFE that closed"
    assert hits[0].title == "The café is closed"
    assert await store.search("cafe", "/elsewhere") == await store.search("!") == ()
    assert len(await store.search("cafe", limit=1)) == 1


async def test_silent_reply_is_stored_and_counted_but_not_searched(store):
    builder = FactBuilder()
    created, asked = builder.session_start(), builder.turn_start("hello")
    reply = builder.reply(TextBlock("greetings"))
    title = changed(builder.reply(TextBlock("greetings in short")), purpose="title")
    await store.append(created, asked, reply, title)
    assert (await store.read(builder.session_id))[-1] == title
    assert [hit.message_id for hit in await store.search("greetings")] == [reply.message.id]
    assert [each.cost_usd for each in await store.list()] == [Decimal("0.02")]
    spent = Spending(cost_usd=Decimal("0.02"), requests=2)
    assert await store.spending_since(YEAR_2000) == spent


async def test_last_prompts_and_replies_with_text_are_returned_oldest_first(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    call = tool_call()
    silent = changed(builder.reply(TextBlock("a title")), purpose="title")
    last = builder.turn_start("and   now\nthis " + "long " * 1_000)
    await store.append(silent, last, builder.reply(call), builder.reply(TextBlock("Done.")))
    texts = await store.last_texts(builder.session_id)
    assert [each.text[:13] for each in texts[-2:]] == ["and now this ", "Done."]
    assert [str(each.role) for each in texts[-2:]] == ["user", "assistant"]
    assert "a title" not in {each.text for each in texts}
    assert max(len(each.text) for each in texts) == 400
    assert await store.last_texts(builder.session_id, limit=1) == texts[-1:]
    assert await store.last_texts("sess_nobody") == ()


async def test_last_texts_are_those_of_the_branch_that_the_conversation_is_on(store):
    builder = FactBuilder()
    first, left = builder.turn(), builder.turn()
    leaf = first[-2].message.id
    await store.append(builder.session_start(), *first, *left)
    selected = builder.fact(BranchSelected, leaf=leaf, left=left[-2].message.id)
    aside = builder.turn_start("an aside")
    again = builder.fact(BranchSelected, leaf=leaf, left=aside.message.id)
    await store.append(selected, aside, again, builder.turn_start("another way"))
    texts = [each.text for each in await store.last_texts(builder.session_id)]
    assert texts == [PROMPT, "let me see", "done", "another way"]


async def test_session_is_found_by_a_prefix_of_its_id(store):
    one, other = "sess_01AAAAAAAAAAAAAAAAAAAAAAAA", "sess_01AAAAAAAAAAAAAAAAAAAAAAAB"
    await store.append(FactBuilder(one).session_start())
    await store.append(FactBuilder(other).session_start())
    assert await store.find_ids("sess_01A") == (other, one)
    assert await resolve_id(store, one.lower().removeprefix("sess_")) == one
    with pytest.raises(StoreError, match="matches 2 sessions"):
        await resolve_id(store, "01a")


async def test_copies_have_their_own_ids_and_cost_nothing(store, tmp_path):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    facts = await store.read(builder.session_id)
    fork_id = await fork(store, builder.session_id)
    lines = to_jsonl(facts, str, tmp_path)
    imported = await import_session(store, from_jsonl(lines, tmp_path), tmp_path)
    assert len({builder.session_id, fork_id, imported}) == 3
    for copy in (fork_id, imported):
        copied = await store.read(copy)
        assert len(copied) == len(facts) + 1
        assert {fact.id for fact in copied}.isdisjoint(fact.id for fact in facts)
    assert await store.has_any((facts[0].id,), "sess_other")
    assert await store.has_any((), fork_id)
    assert not await store.has_any((new_id(),), "sess_other")
    costs = {each.id: each.cost_usd for each in await store.list()}
    assert costs == {builder.session_id: Decimal("0.02"), fork_id: 0, imported: 0}
    spent = Spending(cost_usd=Decimal("0.02"), requests=2)
    assert await store.spending_since(YEAR_2000) == spent
    assert await store.spending_since(datetime.now(UTC) + timedelta(days=1)) == Spending()
    assert {hit.session_id for hit in await store.search("secret")} == {
        builder.session_id,
        imported,
    }


async def test_renamed_session_has_its_title_and_keeps_its_place(store):
    first, second = FactBuilder(), FactBuilder()
    for builder in (first, second):
        await store.append(builder.session_start(), *builder.turn())
    before = await store.list()
    await rename(store, first.session_id, "  The *frobnicator*\nsecond line ")
    found = {each.id: each for each in await store.list()}
    assert found[first.session_id].title == "The *frobnicator*"
    assert [each.id for each in await store.list()] == [each.id for each in before]
    assert {i: each.updated_at for i, each in found.items()} == {
        each.id: each.updated_at for each in before
    }
    await rename(store, first.session_id, "")
    assert {each.title for each in await store.list()} == {each.title for each in before}
    with pytest.raises(SessionNotFoundError):
        await rename(store, "sess_01AAAAAAAAAAAAAAAAAAAAAAAA", "x")


async def test_directory_of_a_session_is_found_without_its_facts(store):
    builder = FactBuilder()
    await store.append(created := builder.session_start(), *builder.turn())
    assert await store.find_workspace(builder.session_id) == created.workspace_path
    with pytest.raises(SessionNotFoundError, match="no session `sess_0`"):
        await store.find_workspace("sess_0")


async def test_deleted_session_leaves_nothing_and_its_fork_stays(store):
    builder, other = FactBuilder(), FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    await store.append(other.session_start(), *other.turn())
    forked = await fork(store, builder.session_id, None)
    copied = await store.read(forked)
    ids = [fact.id for fact in await store.read(builder.session_id)]
    await store.delete(builder.session_id)
    with pytest.raises(SessionNotFoundError):
        await store.read(builder.session_id)
    assert not await store.has_any(ids, builder.session_id)
    assert {each.id for each in await store.list()} == {forked, other.session_id}
    assert await store.read(forked) == copied
    assert {hit.session_id for hit in await store.search("hello")} <= {forked, other.session_id}
    with pytest.raises(SessionNotFoundError):
        await store.delete(builder.session_id)


async def test_open_session_is_neither_deleted_nor_renamed_by_others(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    facts = await store.read(builder.session_id)
    lease = store.lease(builder.session_id)
    with pytest.raises(SessionBusyError):
        await store.delete(builder.session_id)
    with pytest.raises(SessionBusyError):
        await rename(store, builder.session_id, "x")
    assert await store.read(builder.session_id) == facts
    lease.release()
    await store.delete(builder.session_id)


async def store_family(store):
    """Store a session, a worker of it, and a worker of that one; return their ids."""
    builders = [FactBuilder(), FactBuilder(), FactBuilder()]
    for parent, builder in zip([None, *builders], builders, strict=False):
        start = builder.session_start(UNSET if parent is None else parent.session_id)
        await store.append(start, *builder.turn())
    return [each.session_id for each in builders]


async def test_workers_are_hidden_and_deleted_with_the_session_that_started_them(store):
    family = await store_family(store)
    assert await store.find_workers(family[0]) == tuple(family[1:])
    assert [each.id for each in await store.list()] == family[:1]
    assert {each.id for each in await store.list(workers=True)} == set(family)
    await store.delete(family[0])
    for each in family:
        with pytest.raises(SessionNotFoundError):
            await store.read(each)


@pytest.mark.parametrize("open_one", [0, 1, 2])
async def test_session_stays_with_its_workers_while_one_of_them_is_open(store, open_one):
    family = await store_family(store)
    lease = store.lease(family[open_one])
    with pytest.raises(SessionBusyError, match=family[open_one]):
        await store.delete(family[0])
    assert {each.id for each in await store.list(workers=True)} == set(family)
    lease.release()
    for each in family:
        store.lease(each).release()
    await store.delete(family[0])


async def test_session_has_one_lease_at_a_time(store):
    lease = store.lease("sess_1")
    with pytest.raises(SessionBusyError):
        store.lease("sess_1")
    store.lease("sess_2").release()
    lease.release()
    lease.release()
    store.lease("sess_1").release()
    with pytest.raises(SessionNotFoundError):
        store.lease("../sess_1")


async def test_session_can_be_run_resumed_and_forked(store, tmp_path):
    bench = Bench(tmp_path, store)
    (bench.workspace / "a.txt").write_text("a cat\n")
    read, replies = calls("read_file", path="a.txt"), [says("A cat."), says("Still a cat.")]
    session = await bench.session(Checked(Scripted([read, *replies])))
    await play(session.send("what is in a.txt?"))
    assert tuple(session.state.facts) == await store.read(session.id)
    await session.close()
    for session_id in (session.id, await fork(store, session.id)):
        resumed = await bench.session(Checked(Scripted(replies[1:])), resume=session_id)
        await play(resumed.send("and now?"))
        assert resumed.state.messages[-1].text == "Still a cat."
        assert validate_session(resumed.state.messages) == []
        await resumed.close()
    assert {each.title for each in await store.list()} == {"what is in a.txt?"}
