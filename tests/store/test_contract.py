"""What the program needs of a store, for every implementation of the port."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tests.agent.harness import Bench, Checked, play
from tests.store.memory import MemoryStore
from tests.store.turns import Story, call, changed
from yourtool.amounts import Spending
from yourtool.errors import (
    InvalidMessageError,
    SessionBusyError,
    SessionNotFoundError,
    StoreError,
)
from yourtool.events.sessions import SessionModelSelected
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.store.base import SessionStore, resolve_id
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.forks import fork, import_session
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
    story, replayed = Story(), []
    facts = (story.created(), *story.turn(), *story.turn())
    await store.append(*facts)
    assert await store.read(story.session_id) == facts
    await store.replay(story.session_id, replayed.append)
    assert tuple(replayed) == facts


async def test_ids_after_a_read_are_greater_than_every_id_of_the_session(store):
    story = Story()
    await store.append(story.created(), *story.turn())
    assert new_id() > (await store.read(story.session_id))[-1].id


async def test_unknown_session_is_reported(store):
    with pytest.raises(SessionNotFoundError):
        await store.read("sess_01AAAAAAAAAAAAAAAAAAAAAAAA")
    with pytest.raises(SessionNotFoundError):
        await store.append(Story().asked())


async def test_invalid_facts_store_nothing(store):
    story, use = Story(), call()
    await store.append(story.created(), story.asked(), story.answered(use))
    before = await store.read(story.session_id)
    done, empty = story.completed(use), story.asked()
    with pytest.raises(InvalidMessageError, match="M1"):
        await store.append(done, changed(empty, message=changed(empty.message, content=())))
    with pytest.raises(StoreError, match="does not exist or"):
        await store.append(story.completed(call()))
    with pytest.raises(StoreError, match="`estimated_input_tokens`"):
        await store.append(changed(story.calling(), estimated_input_tokens=-1))
    assert await store.read(story.session_id) == before


async def test_call_has_one_result_and_a_provider_id(store):
    story, first, second = Story(), call(), call()
    await store.append(story.created(), story.asked(), story.answered(first, second))
    await store.append(story.completed(first))
    with pytest.raises(StoreError):
        await store.append(story.failed(first))
    assert await store.provider_call_ids(story.session_id) == tuple(
        (use.id, "anthropic", f"toolu_{use.id[-6:]}") for use in (first, second)
    )


async def test_unencodable_text_is_replaced(store):
    story = Story()
    await store.append(story.created(), story.asked("caf\udce9"))
    assert (await store.read(story.session_id))[-1].message.text == "caf\ufffd"


async def test_summary_has_title_model_turns_and_cost(store):
    story, silent = Story(workspace="/work/here"), Story()
    facts = (story.created(), *story.turn())
    chosen = story._fact(SessionModelSelected, model="openai:gpt-5")
    await store.append(*facts, chosen)
    await store.append(silent.created())
    [summary] = await store.list()
    assert (summary.id, summary.active_model) == (story.session_id, "openai:gpt-5")
    assert (summary.title, summary.turn_count) == ("please read the secret plan", 1)
    assert (summary.workspace_path, summary.cost_usd) == ("/work/here", Decimal("0.02"))
    assert (summary.created_at, summary.updated_at) == (facts[0].timestamp, chosen.timestamp)
    assert (await store.list("/elsewhere", "/x"), await store.list(limit=0)) == ((), ())
    assert await store.last_used("/elsewhere", "/work/here") == story.session_id
    assert await store.last_used("/elsewhere") is None


async def test_message_with_every_word_is_found_newest_first(store):
    story = Story()
    prompts = ("The café is closed", "a tea room", "a CAFE that closed")
    first, other, second = map(story.asked, prompts)
    await store.append(story.created(), first, other, second)
    hits = await store.search("cafe clos")
    assert [hit.message_id for hit in hits] == [second.message.id, first.message.id]
    assert hits[0].snippet == "a CAFE that closed"
    assert hits[0].title == "The café is closed"
    assert await store.search("cafe", "/elsewhere") == await store.search("!") == ()
    assert len(await store.search("cafe", limit=1)) == 1


async def test_silent_reply_is_read_and_paid_but_not_found(store):
    story = Story()
    created, asked = story.created(), story.asked("hello")
    reply = story.answered(TextBlock("greetings"))
    title = changed(story.answered(TextBlock("greetings in short")), purpose="title")
    await store.append(created, asked, reply, title)
    assert (await store.read(story.session_id))[-1] == title
    assert [hit.message_id for hit in await store.search("greetings")] == [reply.message.id]
    assert [each.cost_usd for each in await store.list()] == [Decimal("0.02")]
    spent = Spending(cost_usd=Decimal("0.02"), requests=2)
    assert await store.spending_since(YEAR_2000) == spent


async def test_session_is_found_by_a_prefix_of_its_id(store):
    one, other = "sess_01AAAAAAAAAAAAAAAAAAAAAAAA", "sess_01AAAAAAAAAAAAAAAAAAAAAAAB"
    await store.append(Story(one).created())
    await store.append(Story(other).created())
    assert await store.find_ids("sess_01A") == (other, one)
    assert await resolve_id(store, one.lower().removeprefix("sess_")) == one
    with pytest.raises(StoreError, match="matches 2 sessions"):
        await resolve_id(store, "01a")


async def test_copies_have_their_own_ids_and_cost_nothing(store, tmp_path):
    story = Story()
    await store.append(story.created(), *story.turn())
    facts = await store.read(story.session_id)
    fork_id = await fork(store, story.session_id)
    lines = to_jsonl(facts, str, tmp_path)
    imported = await import_session(store, from_jsonl(lines, tmp_path), tmp_path)
    assert len({story.session_id, fork_id, imported}) == 3
    for copy in (fork_id, imported):
        copied = await store.read(copy)
        assert len(copied) == len(facts) + 1
        assert {fact.id for fact in copied}.isdisjoint(fact.id for fact in facts)
    assert await store.has_any((facts[0].id,), "sess_other")
    assert await store.has_any((), fork_id)
    assert not await store.has_any((new_id(),), "sess_other")
    costs = {each.id: each.cost_usd for each in await store.list()}
    assert costs == {story.session_id: Decimal("0.02"), fork_id: 0, imported: 0}
    spent = Spending(cost_usd=Decimal("0.02"), requests=2)
    assert await store.spending_since(YEAR_2000) == spent
    assert await store.spending_since(datetime.now(UTC) + timedelta(days=1)) == Spending()
    assert {hit.session_id for hit in await store.search("secret")} == {story.session_id, imported}


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


async def test_session_runs_is_resumed_and_forked(store, tmp_path):
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
