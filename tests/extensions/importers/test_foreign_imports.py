"""Sessions of other programs are imported, continued, and extended (R-PER-09, R-SEED-06)."""

import random
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.harness import Bench, Checked, play
from tests.store.memory import MemoryStore
from yourtool.agent.history.state import State
from yourtool.errors import UsageError
from yourtool.events.branches import EntryAdded
from yourtool.events.catalog import message_of
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import SessionImported
from yourtool.extensions.importers.importing import import_foreign
from yourtool.extensions.importers.source import Source
from yourtool.messages.blocks import ImageBlock, ThinkingBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.metadata import Audience
from yourtool.providers.scripted import Scripted, says

find_problems = pytest.importorskip("yourtool.extensions.repair.checks").find_problems

FILES = Path(__file__).parent / "files"
NAMES = sorted(path.name for path in FILES.iterdir())


async def take(store, content, root, name="name"):
    return await import_foreign(store, Source(content), name, root, root / "blobs")


async def state_of(store, session_id):
    state = State()
    await store.replay(session_id, state.apply)
    return state


def texts(messages):
    return [each.text for each in messages if each.text]


@pytest.fixture
def store():
    return MemoryStore()


@pytest.mark.parametrize("name", NAMES)
async def test_imported_session_is_sound_and_continues_on_a_model(name, tmp_path):
    bench = Bench(tmp_path)
    content = (FILES / name).read_bytes()
    blobs = tmp_path / "data" / "blobs"
    source = Source(content)
    outcome = await import_foreign(bench.store, source, "name", bench.workspace, blobs)
    stored = await bench.store.read(outcome.session_id)
    assert list(find_problems(stored, blobs)) == []
    session = await bench.session(Checked(Scripted([says("I see.")])), resume=outcome.session_id)
    await play(session.send("and now?"))
    assert session.state.messages[-1].text == "I see."
    assert validate_session([m for m in map(message_of, stored) if m is not None]) == []
    await session.close()


@pytest.mark.parametrize("name", NAMES)
async def test_second_import_of_a_file_adds_nothing(name, store, tmp_path):
    content = (FILES / name).read_bytes()
    first = await take(store, content, tmp_path)
    again = await take(store, content, tmp_path)
    assert not first.already_imported and again.already_imported
    assert again.session_id == first.session_id
    assert len(await store.list()) == 1


@pytest.mark.parametrize("name", NAMES)
async def test_entries_of_a_file_that_grew_are_added(name, tmp_path):
    lines = (FILES / name).read_bytes().splitlines(keepends=True)
    whole = MemoryStore()
    expected = await state_of(whole, (await take(whole, b"".join(lines), tmp_path)).session_id)
    for count in range(3, len(lines)):
        store = MemoryStore()
        try:
            first = await take(store, b"".join(lines[:count]), tmp_path)
        except UsageError:
            continue  # it has no message yet
        grown = await take(store, b"".join(lines), tmp_path)
        assert grown.session_id == first.session_id and not grown.already_imported
        facts = await store.read(first.session_id)
        assert list(find_problems(facts, tmp_path / "blobs")) == []
        prompts = {m.text for m in map(message_of, facts) if m is not None and m.is_prompt}
        assert prompts == {
            m.text
            for m in map(message_of, await whole.read(expected.facts[0].session_id))
            if m is not None and m.is_prompt
        }
        assert (await take(store, b"".join(lines), tmp_path)).already_imported


async def test_new_entries_start_a_branch_if_the_session_was_continued(tmp_path):
    bench = Bench(tmp_path)
    lines = (FILES / "codex.jsonl").read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b"compacted" in line)
    outcome = await take(bench.store, b"".join(lines[:at]), bench.workspace)
    session = await bench.session(Checked(Scripted([says("Mine.")])), resume=outcome.session_id)
    await play(session.send("my own"))
    await session.close()
    grown = await take(bench.store, b"".join(lines), bench.workspace)
    assert grown.session_id == outcome.session_id and grown.added > 0
    state = await state_of(bench.store, outcome.session_id)
    assert texts(state.messages)[-1].endswith("Done.") and "my own" not in texts(state.messages)
    assert "my own" in texts(state.tree.iterate_messages())


@pytest.mark.req("R-PER-09")
async def test_branches_summaries_labels_and_title_of_pi_are_taken_over(store, tmp_path):
    content = (FILES / "pi_v3.jsonl").read_bytes()
    outcome = await take(store, content, tmp_path)
    state = await state_of(store, outcome.session_id)
    assert state.title == "line counts" and outcome.directory == "/home/me/demo"
    assert list(state.labels.values()) == ["start"]
    sent = [each.text for each in state.conversation]
    assert sent[0] == "how many lines in a.txt?"
    assert "Counted a.txt (7 lines)." in sent[1] and sent[2] == "prefer python"
    assert len(sent) == 3, "the command is for the user only"
    commands = [m for m in state.messages if m.metadata.audience is Audience.USER]
    assert [m.text.splitlines()[0] for m in commands] == ["$ ls"]
    replies = [m for m in state.tree.iterate_messages() if m.role == "assistant"]
    thinking = [b for m in replies for b in m.content if isinstance(b, ThinkingBlock)]
    assert thinking == [ThinkingBlock("count it", "c2ln")]
    assert replies[0].metadata.usage_extra.reported_cost_usd is not None


async def test_first_kept_line_of_pi_version_1_counts_the_header(store, tmp_path):
    outcome = await take(store, (FILES / "pi_v1.jsonl").read_bytes(), tmp_path)
    sent = [each.text for each in (await state_of(store, outcome.session_id)).conversation]
    assert "one thing happened" in sent[0] and sent[1:] == ["second", "hooked"]


async def test_lines_of_a_reply_of_claude_code_become_one_reply(store, tmp_path):
    outcome = await take(store, (FILES / "claude_code.jsonl").read_bytes(), tmp_path)
    state = await state_of(store, outcome.session_id)
    assert state.title == "Totals of the till"
    assert texts(state.messages) == [
        "why is the total wrong?",
        "Another answer to the first question.",
        "and now?",
    ]
    stored = list(state.tree.iterate_messages())
    first = next(m for m in stored if m.role == "assistant")
    assert [type(block).__name__ for block in first.content] == [
        "ThinkingBlock",
        "TextBlock",
        "ToolUseBlock",
        "ToolUseBlock",
    ]
    results = [m.result for m in stored if m.result]
    assert [each.is_error for each in results] == [False, True, False]
    assert any(isinstance(block, ImageBlock) for m in stored for block in m.content)
    assert "a line of an agent that the session started" in outcome.losses


async def test_text_that_codex_wrote_for_the_user_reaches_no_model(store, tmp_path):
    outcome = await take(store, (FILES / "codex.jsonl").read_bytes(), tmp_path)
    state = await state_of(store, outcome.session_id)
    sent = " ".join(each.text for each in state.conversation)
    assert "environment_context" not in sent and "You are an agent" not in sent
    assert state.last_model == "openai:gpt-5.2-codex"
    replies = [m for m in state.messages if m.role == "assistant"]
    assert replies[0].metadata.tool_input_errors, "broken arguments are no arguments"
    assert not any(isinstance(fact, PolicySnapshot) for fact in state.facts)


async def test_lost_and_broken_calls_of_suna_are_answered_and_its_orphan_is_shown(store, tmp_path):
    outcome = await take(store, (FILES / "suna.json").read_bytes(), tmp_path)
    facts = await store.read(outcome.session_id)
    state = await state_of(store, outcome.session_id)
    [reply] = [m for m in state.messages if m.role == "assistant"]
    assert reply.metadata.model == "anthropic:claude-haiku-4-5"
    usage = reply.metadata.usage
    assert (usage.input_tokens, usage.cached_input_tokens) == (60, 30)
    assert len(reply.tool_uses) == 2 and len(reply.metadata.tool_input_errors) == 1
    results = [m.result for m in state.messages if m.result]
    assert [each.is_error for each in results] == [False, True]
    assert "LONG TEXT" in results[0].content[0].text
    assert [fact.text for fact in facts if isinstance(fact, EntryAdded)] == ["orphan"]
    assert "orphan" not in str(state.conversation)


async def test_position_images_and_joined_results_of_operator_use_are_taken_over(store, tmp_path):
    outcome = await take(store, (FILES / "operator_tree.jsonl").read_bytes(), tmp_path)
    state = await state_of(store, outcome.session_id)
    assert texts(state.messages) == ["look"]
    stored = list(state.tree.iterate_messages())
    assert [m.role for m in stored] == ["user", "assistant", "tool", "tool"]
    assert isinstance(stored[0].content[1], ImageBlock)
    assert [m.result.is_error for m in stored[2:]] == [False, True]


async def test_tool_line_of_a_flat_file_becomes_a_call_and_its_result(store, tmp_path):
    outcome = await take(store, (FILES / "operator_flat.jsonl").read_bytes(), tmp_path)
    state = await state_of(store, outcome.session_id)
    assert [m.role for m in state.messages] == ["user", "assistant", "tool", "assistant"]
    assert state.messages[1].content[0] == ThinkingBlock("need ls")
    assert state.last_model == "import:unknown"


async def test_last_checkpoint_of_attocode_is_the_conversation(store, tmp_path):
    outcome = await take(store, (FILES / "attocode.jsonl").read_bytes(), tmp_path)
    state = await state_of(store, outcome.session_id)
    assert texts(state.messages) == ["rename f to g"]
    assert state.messages[1].metadata.tool_input_errors
    assert outcome.losses == ("the last line, half written",)


async def test_losses_are_stored_with_the_session(store, tmp_path):
    outcome = await take(store, (FILES / "claude_code.jsonl").read_bytes(), tmp_path)
    facts = await store.read(outcome.session_id)
    [imported] = [fact for fact in facts if isinstance(fact, SessionImported)]
    assert imported.losses == outcome.losses and imported.system == "Claude Code"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(12))
async def test_damaged_file_is_refused_or_gives_a_sound_session(name, seed, store, tmp_path):
    await check_damaged(store, name, seed, tmp_path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.reliability
@pytest.mark.timeout(1_800)
async def test_many_damaged_files_are_refused_or_give_sound_sessions(name, tmp_path, figures):
    seeds = range(1_000, 2_000)
    for seed in seeds:
        await check_damaged(MemoryStore(), name, seed, tmp_path)
    figures("imports", f"{len(seeds):,} damaged files, 0 crashes", part=name)


async def check_damaged(store, name, seed, tmp_path):
    """Check the import of a file that was damaged in some way."""
    content = bytearray((FILES / name).read_bytes())
    chance = random.Random(seed)
    for _ in range(chance.choice([1, 5, 40])):
        at = chance.randrange(len(content) + 1)
        content[at : at + chance.choice([0, 1, 30])] = chance.choice(
            [b"", b"\xff", b"\n", b'"', b"null", b"{}", b"[[[[", b"1e999", b"\\ud800"]
        )
    try:
        outcome = await take(store, bytes(content), tmp_path)
    except UsageError:
        return
    facts = await store.read(outcome.session_id)
    assert list(find_problems(facts, tmp_path / "blobs")) == []
    assert validate_session([m for m in map(message_of, facts) if m is not None]) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "role", "content", "id", "uuid", "parentId", "payload", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=6), st.sampled_from(NAMES))
async def test_values_of_any_type_in_known_places_end_in_no_other_error(values, name):
    head = (FILES / name).read_bytes().splitlines(keepends=True)[:3]
    lines = [msgspec.json.encode(value) for value in values]
    store = MemoryStore()
    with tempfile.TemporaryDirectory() as folder, suppress(UsageError):
        outcome = await take(store, b"".join(head) + b"\n".join(lines), Path(folder))
        facts = await store.read(outcome.session_id)
        assert list(find_problems(facts, Path(folder, "blobs"))) == []


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello", b"{}", b"[1]", b'{"type":"session"}'])
async def test_file_of_an_unknown_format_is_refused(content, store, tmp_path):
    with pytest.raises(UsageError, match=r"format is unknown|without messages"):
        await take(store, content, tmp_path)
