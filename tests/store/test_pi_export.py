"""Sessions in the format of pi: written, read again, and equal (R-PER-09, R-SEED-06)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.agent.harness import Bench, Checked, play
from tests.store.memory import MemoryStore
from yourtool.agent.history.state import State
from yourtool.agent.session.session import Mode
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.store.checks import find_problems
from yourtool.store.foreign_imports import import_foreign
from yourtool.store.importers.source import Source
from yourtool.store.pi_export import to_pi

FILES = Path(__file__).parent / "importers" / "files"


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
    return branches, sent, sorted(state.labels.values()), state.title


@pytest.mark.parametrize("name", sorted(path.name for path in FILES.iterdir()))
@pytest.mark.req("R-PER-09")
async def test_imported_session_is_equal_after_an_export_and_an_import(name, tmp_path):
    store = MemoryStore()
    source = Source((FILES / name).read_bytes())
    outcome = await import_foreign(store, source, "x", tmp_path, tmp_path / "blobs")
    before = await state_of(store, outcome.session_id)
    after, _ = await carried_over(store, outcome.session_id, tmp_path)
    assert contents(after) == contents(before)


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


@given(st.lists(st.tuples(st.text(max_size=5), st.integers(0, 9)), max_size=8))
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
