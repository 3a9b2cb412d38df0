"""Full-text search over the messages of all sessions (R-PER-09)."""

import asyncio
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.store.sqlite.test_crashes import indexed, sound, to_first_version, writer
from tests.store.turns import FactBuilder, tool_call
from tests.strategies import few
from yourtool.errors import StoreError
from yourtool.events.catalog import message_of
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Role
from yourtool.store.forks import fork, import_session
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.fulltext import fts_query
from yourtool.store.sqlite.store import SqliteStore
from yourtool.store.texts import search_terms, snippet


async def store_prompts(store, *prompts, workspace="/work"):
    builder = FactBuilder(workspace=workspace)
    await store.append(builder.session_start(), *(builder.turn_start(prompt) for prompt in prompts))
    return builder.session_id


@pytest.mark.req("R-PER-09")
async def test_hit_contains_session_message_and_snippet(store):
    builder = FactBuilder(workspace="/work/here")
    asked = builder.turn_start("why is the\nfrobnicator slow?")
    use = tool_call()
    answered = builder.reply(TextBlock("It blocks: the Frobnicator waits for a lock."), use)
    await store.append(builder.session_start(), asked, answered, builder.tool_start(use))
    await store.append(builder.tool_result(use, "frobnicator.py: 1 match"))
    latest, first = await store.search("frobnicator")
    assert (first.session_id, first.message_id) == (builder.session_id, asked.message.id)
    assert (first.role, first.snippet) == (Role.USER, "why is the frobnicator slow?")
    assert (first.title, first.workspace_path) == ("why is the", "/work/here")
    assert first.created_at == asked.message.created_at
    assert latest.message_id == answered.message.id


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Authentication fails", "auth FAIL"),
        ("the café is closed", "cafe"),
        ("call read_file_at now", "read_file"),
        ("設定ファイルを読む", "ファイル"),
        ("修正一下登录的错误", "登录"),
        ("서버가 느립니다", "서버"),
        ("see https://example.org/a?b=c", "example.org/a"),
        ('say "quoted" AND (more) NOT less*', '"quoted" AND (more'),
        ("it's NEAR(the) end", "it's near"),
    ],
)
async def test_words_of_any_script_case_and_punctuation_are_found(store, text, words):
    session_id = await store_prompts(store, text)
    await store_prompts(store, "something else altogether")
    assert [hit.session_id for hit in await store.search(words)] == [session_id]


@pytest.mark.parametrize("words", ["", "  ", "!!!", '"', "*", "-- ; --", "\0", "zzz", "fix zzz"])
async def test_absent_words_are_not_found(store, words):
    await store_prompts(store, "please fix this")
    assert await store.search(words) == ()


async def test_hits_are_sorted_newest_first_and_filtered_by_workspace_and_limit(store):
    first = await store_prompts(store, "fix one", workspace="/a")
    second = await store_prompts(store, "fix two", "fix three", workspace="/b")
    assert [hit.session_id for hit in await store.search("fix")] == [second, second, first]
    assert [hit.session_id for hit in await store.search("fix", "/a")] == [first]
    assert len(await store.search("fix", limit=1)) == 1


async def test_messages_copied_by_a_fork_are_found_once(store):
    builder = FactBuilder()
    await store.append(builder.session_start(), *builder.turn())
    fork_id = await fork(store, builder.session_id)
    assert {hit.session_id for hit in await store.search("secret plan")} == {builder.session_id}
    await store.append(FactBuilder(fork_id).turn_start("another secret plan"))
    found = [hit.session_id for hit in await store.search("secret plan")]
    assert found == [fork_id, builder.session_id]


DEEDS = st.lists(
    st.tuples(
        st.sampled_from(["say", "answer", "fork", "import", "save", "upgrade", "fail"]),
        st.text(max_size=30),
        st.integers(0, 99),
    ),
    max_size=8,
)


async def done(path, deeds):
    """Return a database after a sequence of operations."""
    store, ids = SqliteStore(Database(path)), []
    for deed, text, which in [("begin", "", 0), *deeds]:
        chosen = ids[which % len(ids)] if ids else ""
        match deed:
            case "say":
                await store.append(FactBuilder(chosen).turn_start(text))
            case "answer":
                use, builder = tool_call(), FactBuilder(chosen)
                await store.append(
                    builder.reply(TextBlock(f"re {text}"), use), builder.tool_start(use)
                )
                await store.append(builder.tool_result(use, text))
            case "fork":
                ids.append(await fork(store, chosen))
            case "import":
                ids.append(await import_session(store, await store.read(chosen), path.parent))
            case "save":
                messages = [each.message for each in await store.read(chosen) if message_of(each)]
                users = [each for each in messages if each.role is Role.USER]
                texts = (TextBlock(text),)
                await store.update_messages(*(replace(each, content=texts) for each in users))
            case "upgrade":
                await store.database.close()
                to_first_version(path)
                store = SqliteStore(Database(path))
                await store.read(chosen)
            case "fail":
                builder = FactBuilder(chosen)
                with pytest.raises(StoreError):
                    await store.append(builder.turn_start(text), builder.tool_result(tool_call()))
            case _:
                builder = FactBuilder()
                await store.append(builder.session_start())
                ids.append(builder.session_id)
    return store.database


@few
@given(DEEDS)
@pytest.mark.req("R-PER-09")
@pytest.mark.remaining
def test_index_matches_the_messages_after_any_operations(tmp_path_factory, deeds):
    async def check():
        database = await done(tmp_path_factory.mktemp("db") / "sessions.db", deeds)
        await indexed(database)
        await database.close()

    asyncio.run(check())


@pytest.mark.req("R-PER-06")
@pytest.mark.remaining
async def test_fork_search_and_read_work_during_writes(path):
    database, builder = Database(path), FactBuilder()
    store = SqliteStore(database)
    await store.append(builder.session_start(), *builder.turn())
    processes = [writer("turns", path, 15) for _ in range(2)]
    forks = 0
    while any(process.poll() is None for process in processes):
        await fork(store, builder.session_id)
        forks += 1
        found = await store.search("secret plan", limit=10_000)
        originals = {hit.session_id for hit in found}
        assert builder.session_id in originals and len(originals) <= 3
        assert len(await store.read(builder.session_id)) == 10
    assert [process.communicate()[0] != "" for process in processes] == [True, True]
    assert forks > 0
    assert len(await store.search("secret plan", limit=10_000)) == 31
    await indexed(database)
    await sound(database)
    await database.close()


def test_snippet_is_one_line_around_the_first_match():
    text = TextBlock("a " * 100 + "needle\n\n" + "b " * 100)
    passage = snippet((text,), ("needle",))
    assert passage.startswith("…") and passage.endswith("…")
    assert "needle b" in passage and "\n" not in passage
    assert len(passage) < 170
    assert snippet((TextBlock("short"),), ("nothing",)) == "short"


@few
@given(st.text(max_size=20))
def test_query_text_is_never_parsed_as_an_operator(text):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE w USING fts5(words)")
    if terms := search_terms(text):
        connection.execute("SELECT * FROM w WHERE words MATCH ?", (fts_query(terms),)).fetchall()
    connection.close()
