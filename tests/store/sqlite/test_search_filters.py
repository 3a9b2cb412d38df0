"""Searches are limited to sessions by model, file, failure, time and cost (R-PER-09)."""

from datetime import timedelta
from decimal import Decimal

import pytest

from tests.store.turns import MODEL, PROMPT, FactBuilder, tool_call
from yourtool.events.files import FilesChanged
from yourtool.foundation.file_images import FileImage, RecordedChange
from yourtool.messages.blocks import TextBlock
from yourtool.store.base import SearchFilter

pytestmark = pytest.mark.req("R-PER-09")


async def store_session(store, *, model=MODEL, cost="0.01", path="", fails=False):
    """Store a session and return its id; `path`: a file that its call changed."""
    builder, use = FactBuilder(), tool_call()
    facts = [
        builder.session_start(),
        builder.turn_start(),
        builder.reply(TextBlock("I see"), use, model=model, cost=cost),
    ]
    if path:
        change = RecordedChange(path=path, before=FileImage("absent"), after=FileImage("other"))
        facts.append(builder.fact(FilesChanged, tool_use_id=use.id, changes=(change,)))
    facts.append(builder.tool_failure(use) if fails else builder.tool_result(use, "x"))
    facts.append(builder.turn_end())
    await store.append(*facts)
    return builder.session_id


async def found(store, words=PROMPT, **wanted):
    return [hit.session_id for hit in await store.search(words, wanted=SearchFilter(**wanted))]


async def test_sessions_are_found_by_what_happened_in_them(store):
    plain = await store_session(store)
    model = await store_session(store, model="openai:gpt-5")
    cost = await store_session(store, cost="2.50")
    file = await store_session(store, path="src/app/main.py")
    failed = await store_session(store, fails=True)
    assert await found(store) == [failed, file, cost, model, plain]
    assert await found(store, model="GPT-5") == [model]
    assert await found(store, min_cost=Decimal("2.5")) == [cost]
    assert await found(store, tool_failed=True) == [failed]
    for path in ("src/app/main.py", "main.py", "app/main.py", "/work/src/app/main.py"):
        assert await found(store, file=path) == [file]
    for path in ("ain.py", "src/app", "%", "/src/app/main.py.old"):
        assert await found(store, file=path) == []
    assert await found(store, file="main.py", tool_failed=True) == []


async def test_filters_without_words_list_the_prompts(store):
    await store_session(store)
    failed = await store_session(store, fails=True)
    [hit] = await store.search("", wanted=SearchFilter(tool_failed=True))
    assert (hit.session_id, hit.snippet) == (failed, PROMPT)
    assert await store.search("") == ()


async def test_time_limits_are_those_of_the_message(store):
    session_id = await store_session(store)
    [hit] = await store.search(PROMPT)
    later = hit.created_at + timedelta(seconds=1)
    assert await found(store, since=hit.created_at) == [session_id]
    assert await found(store, since=later) == []
    assert await found(store, until=later) == [session_id]
    assert await found(store, until=hit.created_at) == []


async def test_limit_counts_messages_that_match(store):
    failed = [await store_session(store, fails=True) for _ in range(3)]
    for _ in range(5):
        await store_session(store)
    hits = await store.search(PROMPT, limit=2, wanted=SearchFilter(tool_failed=True))
    assert [hit.session_id for hit in hits] == failed[:0:-1]
