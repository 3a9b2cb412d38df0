"""Full-text search over what was said in all sessions (R-PER-09)."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.turns import Story, call
from tests.strategies import few
from yourtool.messages import Role, TextBlock
from yourtool.store.copies import fork
from yourtool.store.words import query_of, snippet, terms_of


async def said(log, *prompts, workspace="/work"):
    story = Story(workspace=workspace)
    await log.append(story.created(), *(story.asked(prompt) for prompt in prompts))
    return story.session_id


async def test_r_per_09_a_hit_names_session_message_and_passage(log, sessions):
    story = Story(workspace="/work/here")
    asked = story.asked("why is the\nfrobnicator slow?")
    use = call()
    answered = story.answered(TextBlock("It blocks: the Frobnicator waits for a lock."), use)
    await log.append(story.created(), asked, answered, story.started(use))
    await log.append(story.completed(use, "frobnicator.py: 1 match"))
    latest, first = await sessions.search("frobnicator")
    assert (first.session_id, first.message_id) == (story.session_id, asked.message.id)
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
async def test_words_are_found_however_they_are_written(log, sessions, text, words):
    session_id = await said(log, text)
    await said(log, "something else altogether")
    assert [hit.session_id for hit in await sessions.search(words)] == [session_id]


@pytest.mark.parametrize("words", ["", "  ", "!!!", '"', "*", "-- ; --", "\0", "zzz", "fix zzz"])
async def test_what_stands_nowhere_is_not_found(log, sessions, words):
    await said(log, "please fix this")
    assert await sessions.search(words) == ()


async def test_the_latest_come_first_by_workspace_and_up_to_a_limit(log, sessions):
    first = await said(log, "fix one", workspace="/a")
    second = await said(log, "fix two", "fix three", workspace="/b")
    assert [hit.session_id for hit in await sessions.search("fix")] == [second, second, first]
    assert [hit.session_id for hit in await sessions.search("fix", "/a")] == [first]
    assert len(await sessions.search("fix", limit=1)) == 1


async def test_what_a_fork_repeats_is_found_once_and_what_it_adds_too(log, sessions):
    story = Story()
    await log.append(story.created(), *story.turn())
    fork_id = await fork(log, story.session_id)
    assert {hit.session_id for hit in await sessions.search("secret plan")} == {story.session_id}
    await log.append(Story(fork_id).asked("another secret plan"))
    found = [hit.session_id for hit in await sessions.search("secret plan")]
    assert found == [fork_id, story.session_id]


def test_a_snippet_is_one_line_around_the_first_word():
    text = TextBlock("a " * 100 + "needle\n\n" + "b " * 100)
    passage = snippet((text,), ("needle",))
    assert passage.startswith("…") and passage.endswith("…")
    assert "needle b" in passage and "\n" not in passage
    assert len(passage) < 170
    assert snippet((TextBlock("short"),), ("nothing",)) == "short"


@few
@given(st.text(max_size=20))
def test_no_text_is_taken_for_an_operator_of_the_query(text):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE w USING fts5(words)")
    if terms := terms_of(text):
        connection.execute("SELECT * FROM w WHERE words MATCH ?", (query_of(terms),)).fetchall()
    connection.close()
