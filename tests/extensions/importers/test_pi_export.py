"""Sessions in the format of pi: written, read again, and equal (R-PER-09, R-SEED-06)."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.agent.harness import Bench, Checked, play
from tests.agent.turn.test_compaction import Limited, open_session, talk
from tests.store.memory import MemoryStore
from yourtool.agent.history.state import State
from yourtool.agent.session.session import Mode
from yourtool.events.context import ContextCompacted
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.extensions.importers.importing import import_foreign
from yourtool.extensions.importers.source import Source
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.store.pi_export import to_pi

find_problems = pytest.importorskip("yourtool.extensions.repair.checks").find_problems

ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")
FILES = Path(__file__).parent / "files"


@pytest.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


async def exported(store, session_id, blobs):
    return b"".join(to_pi(await store.read(session_id), lambda text: text, blobs))


async def carried_over(store, session_id, root):
    """Return the session after an export and an import into a new store."""
    other = MemoryStore()
    content = await exported(store, session_id, root / "blobs")
    outcome = await import_foreign(other, Source(content), "x", root, root / "blobs")
    assert outcome.losses == ()
    facts = await other.read(outcome.session_id)
    assert list(find_problems(facts, root / "blobs")) == []
    return await state_of(other, outcome.session_id), content


async def state_of(store, session_id):
    state = State()
    await store.replay(session_id, state.apply)
    return state


def without_ids(message):
    """Return what of a message is the same in a copy."""
    calls = {}

    def block(each):
        match each:
            case ToolUseBlock():
                calls[each.id] = len(calls)
                return replace(each, id=each.name)
            case ToolResultBlock():
                return replace(each, tool_use_id="")
            case _:
                return each

    content = tuple(map(block, message.content))
    if message.metadata.origin == "user_shell":
        content = (*content[:-1], TextBlock("(end)"))
    return message.role, content, message.metadata.audience


def contents(state):
    branches = [without_ids(each) for each in state.tree.iterate_messages()]
    sent = [without_ids(each) for each in state.conversation]
    return branches, sent, sorted(state.labels.values()), state.title, state.turn_count


@pytest.mark.parametrize("name", sorted(path.name for path in FILES.iterdir()))
@pytest.mark.req("R-PER-09")
async def test_imported_session_is_equal_after_an_export_and_an_import(name, tmp_path):
    store = MemoryStore()
    source = Source((FILES / name).read_bytes())
    outcome = await import_foreign(store, source, "x", tmp_path, tmp_path / "blobs")
    before = await state_of(store, outcome.session_id)
    after, _ = await carried_over(store, outcome.session_id, tmp_path)
    assert contents(after) == contents(before)


@pytest.mark.req("R-SEED-06", "R-CTX-03")
@pytest.mark.parametrize("window", [12_000, 100_000], ids=["by estimate", "by the provider"])
@pytest.mark.sample(2)
async def test_session_that_was_summarised_during_a_turn_is_equal_after_its_way(bench, window):
    (bench.workspace / "a.txt").write_text("a cat\n")
    model = Limited(9_000 if window > 12_000 else window, reads=1)
    session = await open_session(bench, model, known=window)
    events = await talk(session, 14)
    assert kinds(events, ContextCompacted)
    await session.close()
    before = await state_of(bench.store, session.id)
    after, _ = await carried_over(bench.store, session.id, bench.workspace)
    found, expected = contents(after), contents(before)
    assert (found[0], *found[2:]) == (expected[0], *expected[2:])
    assert list(map(repeat_summary, found[1])) == list(map(repeat_summary, expected[1]))


def kinds(events, kind):
    return [each for each in events if isinstance(each, kind)]


def repeat_summary(message):
    """Return a message without the ids in a summary, which are new in a copy."""
    role, content, audience = message
    return role, tuple(ID.sub("ID", each.text) if isinstance(each, TextBlock) else each
                       for each in content), audience  # fmt: skip


@pytest.mark.parametrize("name", ["pi_v3.jsonl", "claude_code.jsonl", "codex.jsonl"])
@pytest.mark.req("R-SEED-06")
async def test_session_of_another_program_is_equal_after_its_whole_way(name, tmp_path):
    """Imported, continued on two models, branched, compacted, searched, exported and imported."""
    bench = Bench(tmp_path)
    (bench.workspace / "a.txt").write_text("a cat\n")
    source = Source((FILES / name).read_bytes())
    outcome = await import_foreign(bench.store, source, "x", bench.workspace, tmp_path / "blobs")
    read = calls("read_file", path="a.txt")
    replies = [read, says("A cat."), says("Two cats."), says("It was asked about a cat."),
               says("A quokka."), says("Still a quokka.")]  # fmt: skip
    adapter = Checked(Scripted(replies))
    session = await bench.session(adapter, resume=outcome.session_id, mode=Mode.AUTO)
    await play(session.select_model("test"))
    await play(session.send("what is in a.txt?"))
    first = session.state.branch.leaf
    await play(session.select_model("other"))
    await play(session.send("sure?"))
    await play(session.tree.move(first))
    [compacted] = kinds(await play(session.compact()), ContextCompacted)
    assert compacted.summary
    await play(session.send("which animal?"))
    await play(session.select_model("test"))
    await play(session.send("and now?"))
    assert {call.model for call in kinds(session.state.facts, LlmCallCompleted)} >= {
        "anthropic:test",
        "openai:other",
    }
    await session.close()
    assert [hit.session_id for hit in await bench.store.search("quokka still")] == [session.id]
    before = await state_of(bench.store, session.id)
    after, _ = await carried_over(bench.store, session.id, tmp_path)
    branches, sent, *others = contents(before)
    assert contents(after)[0] == branches and list(contents(after)[2:]) == others
    assert list(map(repeat_summary, contents(after)[1])) == list(map(repeat_summary, sent))
    texts = [each.text for each in after.messages]
    assert texts[-1] == "Still a quokka." and "Two cats." not in texts
    resumed = await bench.session(Checked(Scripted([says("Fine.")])), resume=session.id)
    await play(resumed.send("and at home?"))
    assert validate_session(resumed.state.messages) == []
    await resumed.close()


@pytest.mark.req("R-SEED-06")
async def test_session_begun_elsewhere_is_continued_branched_and_carried_back(tmp_path):
    bench = Bench(tmp_path)
    (bench.workspace / "a.txt").write_text("a cat\n")
    source = Source((FILES / "pi_v3.jsonl").read_bytes())
    outcome = await import_foreign(bench.store, source, "x", bench.workspace, tmp_path / "blobs")
    read = calls("read_file", path="a.txt")
    model = Checked(Scripted([read, says("A cat."), says("Two cats."), says("It was a cat.")]))
    session = await bench.session(model, resume=outcome.session_id, mode=Mode.AUTO)
    await play(session.send("what is in a.txt?"))
    first = session.state.branch.leaf
    await play(session.send("sure?"))
    await play(session.tree.move(first))
    await play(session.send("and in short?"))
    await play(session.tree.label(first, "found"))
    await session.close()
    before = await state_of(bench.store, outcome.session_id)
    after, content = await carried_over(bench.store, outcome.session_id, tmp_path)
    assert contents(after) == contents(before)
    texts = [each.text for each in after.messages]
    assert texts[-1] == "It was a cat." and "Two cats." not in texts
    costs = [
        entry["message"]["usage"]["cost"]
        for entry in map(json.loads, content.splitlines())
        if entry.get("message", {}).get("role") == "assistant"
    ]
    assert all(len(each) == 5 for each in costs)


CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
"""Those that a stored text can have."""


@given(st.lists(st.tuples(st.text(CHARACTERS, max_size=5), st.integers(0, 9)), max_size=8))
async def test_any_tree_of_prompts_is_equal_after_an_export_and_an_import(turns):
    header = {"type": "session", "version": 3, "id": "s", "cwd": "/x"}
    lines, at = [header], 0
    for number, (text, parent) in enumerate(turns):
        at = min(parent, number)
        message = {"role": "user", "content": text or "-"}
        parent_id = str(at - 1) if at else None
        entry = {"type": "message", "id": str(number), "parentId": parent_id}
        lines.append({**entry, "message": message})
    if len(lines) == 1:
        return
    store, root = MemoryStore(), Path("/nowhere")
    content = "\n".join(map(json.dumps, lines)).encode()
    outcome = await import_foreign(store, Source(content), "x", root, root)
    before = await state_of(store, outcome.session_id)
    after, _ = await carried_over(store, outcome.session_id, root)
    assert contents(after) == contents(before)
