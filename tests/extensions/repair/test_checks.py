"""What `sessions check` finds in facts, and the sound copy of a damaged session."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agent.harness import Bench, play
from tests.store.memory import MemoryStore
from tests.store.turns import FactBuilder, changed, tool_call
from yourtool.events.branches import BranchSelected
from yourtool.events.catalog import message_of
from yourtool.events.context import ContextCompacted
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallCompleted, RequestPart
from yourtool.events.sessions import SessionForked, SessionImported
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import TurnStarted
from yourtool.extensions.repair.checks import check_session, find_problems
from yourtool.extensions.repair.repaired_copies import write_repaired_copy
from yourtool.foundation.file_images import ABSENT_FILE, FileImage, RecordedChange
from yourtool.ids import new_id
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import DocumentBlock, ImageSource, TextBlock
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.store.exports import from_jsonl, to_jsonl
from yourtool.store.forks import fork, import_session
from yourtool.store.redaction import redact
from yourtool.store.texts import hash_text


@dataclass
class Stored:
    """A session in a store that validates nothing, as after damage."""

    builder: FactBuilder
    facts: list
    blobs: Path

    def problems(self):
        return list(find_problems(self.facts, self.blobs))

    def kinds(self):
        return [each.kind for each in self.problems()]

    def first(self, kind):
        return next(at for at, fact in enumerate(self.facts) if isinstance(fact, kind))

    def change(self, kind, **fields):
        at = self.first(kind)
        self.facts[at] = changed(self.facts[at], **fields)

    def change_message(self, kind, **fields):
        self.change(kind, message=changed(self.facts[self.first(kind)].message, **fields))

    def remove(self, kind):
        del self.facts[self.first(kind)]


class DamagedStore(MemoryStore):
    """A store with one session whose facts nothing has validated."""

    def __init__(self, stored):
        super().__init__()
        self._damaged = stored

    async def read(self, session_id):
        if session_id == self._damaged.builder.session_id:
            return tuple(self._damaged.facts)
        return await super().read(session_id)


@pytest.fixture
def stored(tmp_path):
    builder = FactBuilder()
    facts = [builder.session_start(), *builder.turn(), *builder.turn("second")]
    return Stored(builder, facts, tmp_path)


def lose_a_result(stored):
    stored.remove(ToolCompleted)


def lose_a_call(stored):
    stored.remove(LlmCallCompleted)


def repeat_a_result(stored):
    result = stored.facts[stored.first(ToolCompleted)]
    again = changed(result, id=new_id(), message=changed(result.message, id=new_id()))
    stored.facts.append(again)


def lose_the_start(stored):
    del stored.facts[0]


def start_twice(stored):
    stored.facts.append(changed(stored.facts[0], id=new_id()))


def change_the_prompt(stored):
    stored.change_message(TurnStarted, content=(TextBlock("something else"),))


def empty_a_reply(stored):
    stored.change_message(LlmCallCompleted, content=())


def lose_an_attachment(stored):
    source = ImageSource("file_ref", f"sha256:{'0' * 64}")
    prompt = stored.facts[stored.first(TurnStarted)].message
    document = DocumentBlock(source, "application/pdf")
    stored.change_message(TurnStarted, content=(*prompt.content, document))


def lose_a_content(stored):
    after = FileImage("file", digest="0" * 64, stored=True)
    change = RecordedChange(path="a.py", before=ABSENT_FILE, after=after)
    call = tool_call()
    fact = stored.builder._fact(FilesChanged, tool_use_id=call.id, changes=(change,))
    stored.facts.append(changed(fact, parent_event_id=None))


def change_a_stored_prompt(stored):
    request = changed(stored.builder.request(), system=(RequestPart(hash_text("a"), "b"),))
    stored.facts.append(changed(request, parent_event_id=None))


def lose_what_a_summary_replaces(stored):
    fact = stored.builder._fact(
        ContextCompacted,
        summary="s",
        through=new_id(),
        reason="user",
        turn_count=1,
        message_count=2,
        tokens_before=9,
        tokens_after=1,
    )
    stored.facts.append(changed(fact, parent_event_id=None))


def lose_where_a_branch_starts(stored):
    fact = stored.builder._fact(BranchSelected, leaf=new_id(), left="")
    stored.facts.append(changed(fact, parent_event_id=None))


DAMAGE = {
    lose_a_result: {"pairing", "parent"},
    lose_a_call: {"pairing", "parent"},
    repeat_a_result: {"pairing"},
    lose_the_start: {"row"},
    start_twice: {"row"},
    change_the_prompt: {"hash"},
    empty_a_reply: {"message", "pairing"},
    lose_an_attachment: {"attachment"},
    lose_a_content: {"file content"},
    change_a_stored_prompt: {"hash"},
    lose_what_a_summary_replaces: {"parent"},
    lose_where_a_branch_starts: {"parent"},
}


def test_a_sound_session_has_no_problems(stored):
    assert stored.problems() == []


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda each: each.__name__)
async def test_each_kind_of_damage_is_found_and_absent_from_the_copy(stored, damage):
    damage(stored)
    before, store = list(stored.facts), DamagedStore(stored)
    assert set(stored.kinds()) == DAMAGE[damage]
    copy = await write_repaired_copy(store, stored.builder.session_id, Path("/w"), stored.blobs)
    assert await check_session(store, copy, stored.blobs) == []
    assert stored.facts == before
    facts = await store.read(copy)
    messages = [message for fact in facts if (message := message_of(fact))]
    assert validate_session(messages) == []
    assert isinstance(facts[-1], SessionForked)
    assert facts[-1].parent_session_id == stored.builder.session_id


async def test_all_damage_at_once_leaves_a_sound_copy(stored):
    for damage in DAMAGE:
        damage(stored)
    store = DamagedStore(stored)
    copy = await write_repaired_copy(store, stored.builder.session_id, Path("/w"), stored.blobs)
    assert await check_session(store, copy, stored.blobs) == []


async def test_the_result_of_a_lost_one_follows_its_call(stored):
    lose_a_result(stored)
    store = DamagedStore(stored)
    copy = await write_repaired_copy(store, stored.builder.session_id, Path("/w"), stored.blobs)
    facts = await store.read(copy)
    [result] = [fact for fact in facts if isinstance(fact, ToolFailed)]
    reply = facts[facts.index(result) - 1]
    assert [call.id for call in message_of(reply).tool_uses] == [result.tool_use_id]
    later = facts[facts.index(result) + 1 :]
    assert all(message.id > result.message.id for fact in later if (message := message_of(fact)))


def test_calls_of_a_turn_that_runs_are_no_problem(stored):
    builder = stored.builder
    stored.facts += [builder.turn_start("third"), builder.reply(tool_call())]
    assert stored.problems() == []


def test_calls_in_a_silent_reply_need_no_result(stored):
    silent = changed(stored.builder.reply(tool_call()), purpose="summary")
    stored.facts.append(changed(silent, parent_event_id=None))
    assert stored.problems() == []


def test_an_imported_session_may_have_masked_texts_and_no_file_contents(stored):
    change_the_prompt(stored)
    lose_a_content(stored)
    imported = stored.builder._fact(SessionImported, source_session_id="s")
    assert stored.kinds() == ["hash", "file content"]
    stored.facts.append(changed(imported, parent_event_id=None))
    assert stored.problems() == []


async def test_an_imported_session_without_private_texts_has_no_problems(tmp_path):
    bench = Bench(tmp_path)
    session = await bench.session(Scripted([says("done")]))
    await play(session.send("one"))
    await session.close()
    facts = redact(await bench.store.read(session.id), "redact_private")
    read = from_jsonl(list(to_jsonl(facts, str, None)), None)
    imported = await import_session(bench.store, read, tmp_path)
    assert await check_session(bench.store, imported, tmp_path / "blobs") == []


def test_stored_attachments_and_contents_are_no_problem(stored):
    reference = store_blob(stored.blobs, b"pdf")
    document = DocumentBlock(ImageSource("file_ref", reference), "application/pdf")
    prompt = stored.facts[stored.first(TurnStarted)].message
    stored.change_message(TurnStarted, content=(*prompt.content, document))
    assert stored.problems() == []
    (stored.blobs / reference.removeprefix("sha256:")).write_bytes(b"other")
    assert stored.kinds() == ["attachment"]


async def test_a_played_session_and_its_fork_have_no_problems(tmp_path):
    bench = Bench(tmp_path)
    session = await bench.session(Scripted([calls("list_files"), says("done"), says("again")]))
    for prompt in ("one", "two"):
        await play(session.send(prompt))
    for each in (session.id, await fork(bench.store, session.id)):
        assert await check_session(bench.store, each, tmp_path / "blobs") == []
    await session.close()


async def test_a_fork_of_a_compacted_session_refers_to_its_own_messages(stored):
    builder, store = stored.builder, MemoryStore()
    messages = [message for fact in stored.facts if (message := message_of(fact))]
    lose_what_a_summary_replaces(stored)
    stored.change(ContextCompacted, through=messages[-2].id, kept=(messages[0].id,))
    await store.append(*stored.facts)
    facts = await store.read(await fork(store, builder.session_id))
    copied = [message for fact in facts if (message := message_of(fact))]
    [compacted] = [fact for fact in facts if isinstance(fact, ContextCompacted)]
    assert (compacted.through, compacted.kept) == (copied[-2].id, (copied[0].id,))
