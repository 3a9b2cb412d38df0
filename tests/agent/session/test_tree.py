"""Branches of a session: edit a prompt, leave a branch and return, summarise, merge, restore."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.harness import Bench, Checked, play
from yourtool.agent.history.summary_texts import INSTRUCTIONS
from yourtool.errors import InvalidRequestError, RateLimitError, UsageError
from yourtool.events.branches import BranchMerged, BranchSelected, BranchSummarised
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.providers.scripted import Scripted, calls, fails, says
from yourtool.settings.config import Mode

pytestmark = pytest.mark.req("R-SEED-05", "R-PER-08")


class Echo:
    """A model that writes each prompt to a file of that name, and summarises on request."""

    def __init__(self, summary=None) -> None:
        self.adapter = Checked(Scripted(self.answer))
        self.summary = summary or says("- It was tried.")
        self.summarised: list[str] = []
        self.is_failing = False

    def answer(self, request):
        if self.is_failing:
            return fails(InvalidRequestError("no"))
        last = request.messages[-1]
        if INSTRUCTIONS in last.text:
            self.summarised.append(last.text)
            return self.summary
        if last.role is Role.TOOL:
            return says("Done.")
        return calls("write_file", path=last.text.strip(), content=last.text)

    @property
    def user_texts(self):
        """The texts of each request, without the system prompt and replies."""
        return [
            [each.text for each in request.messages if each.role is Role.USER]
            for request in self.adapter.requests
        ]

    @property
    def last_texts(self):
        return self.user_texts[-1]


@pytest.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


async def open_session(bench, model, **options):
    return await bench.session(model.adapter, mode=Mode.AUTO, **options)


async def say(session, *prompts):
    for prompt in prompts:
        await play(session.send(prompt))


async def go(session, entry_id, *, files=False):
    """Continue at an entry, with the files of its time if `files` is true."""
    place = await session.tree.find_place(entry_id)
    plan = await session.tree.plan_files(place.leaf) if files else None
    events = await play(session.tree.move(place.leaf))
    if plan is not None:
        events += await play(session.files.rewind(plan))
    return events


def names(bench):
    return sorted(each.name for each in bench.workspace.iterdir())


async def test_an_edited_prompt_is_sent_again_without_what_followed_it(bench):
    session = await open_session(bench, model := Echo())
    await say(session, "one", "two", "three")
    [_, two, _] = session.state.prompts
    assert (await session.tree.find_place(two.id)).prompt == two
    await go(session, two.id)
    await say(session, "other")
    assert model.last_texts == ["one", "other"]


async def test_the_branch_of_a_session_is_the_same_after_it_is_resumed(bench):
    session = await open_session(bench, model := Echo())
    await say(session, "one", "two")
    tip = session.state.branch.leaf
    await play(session.tree.label(tip, "the first attempt"))
    await go(session, session.state.prompts[0].id)
    await say(session, "other")
    messages = session.state.messages
    await session.close()
    again = await open_session(bench, model, resume=session.id)
    assert again.state.messages == messages
    labelled = [each.id for each in await again.tree.build_rows() if each.label]
    assert labelled == [tip]
    await go(again, tip)
    await say(again, "three")
    assert model.last_texts == ["one", "two", "three"]


async def test_files_are_restored_to_the_time_of_a_message_on_any_branch(bench):
    session = await open_session(bench, Echo())
    await say(session, "one", "two")
    tip = session.state.branch.leaf
    (bench.workspace / "mine").write_text("mine")
    await go(session, session.state.prompts[1].id, files=True)
    assert names(bench) == ["mine", "one"]
    await say(session, "other")
    await go(session, tip, files=True)
    assert names(bench) == ["mine", "one", "two"]
    assert not any("took back" in each.text for each in session.state.messages)
    await play(session.files.undo())
    assert names(bench) == ["mine", "one"]


@pytest.mark.parametrize(
    ("reply", "writer"), [(says("- It was tried."), True), (fails(RateLimitError("no")), False)]
)
async def test_a_branch_that_is_left_is_summarised_by_a_model_or_without_one(bench, reply, writer):
    session = await open_session(bench, model := Echo(reply))
    await say(session, "one", "two")
    left = session.state.branch.leaf
    await go(session, session.state.prompts[1].id)
    cost = session.state.cost_usd
    events = await play(session.tree.summarise(left, "numbers"))
    [fact] = [each for each in events if isinstance(each, BranchSummarised)]
    assert (bool(fact.model), bool(fact.problem)) == (writer, not writer)
    assert "two" in model.summarised[0] and "numbers" in model.summarised[0]
    assert "[User]\none" not in model.summarised[0]
    assert (session.state.cost_usd > cost) == writer
    assert (fact.cost_usd or 0) == session.state.cost_usd - cost
    await say(session, "other")
    assert fact.summary in model.last_texts[1]
    assert [each.text for each in session.state.prompts] == ["one", "other"]


async def test_merged_messages_bring_the_calls_and_results_of_their_step(bench):
    session = await open_session(bench, model := Echo())
    await say(session, "one", "two")
    result = next(each for each in reversed(session.state.messages) if each.result)
    await go(session, session.state.prompts[1].id)
    [fact] = await play(session.tree.merge([result.id]))
    assert isinstance(fact, BranchMerged)
    assert len(fact.merged) == 2
    await say(session, "other")
    sent = model.adapter.requests[-1].messages
    assert [call.input["path"] for each in sent for call in each.tool_uses] == [
        "one",
        "two",
        "other",
    ]
    with pytest.raises(UsageError, match="Nothing to merge"):
        await play(session.tree.merge([session.state.messages[0].id]))


async def test_a_place_where_the_conversation_is_changes_nothing(bench):
    session = await open_session(bench, Echo())
    await say(session, "one")
    [notice] = await play(session.tree.move(session.state.branch.leaf))
    assert "there already" in notice.text
    [moved] = await go(session, session.state.prompts[0].id)
    assert isinstance(moved, BranchSelected)
    [notice] = await play(session.tree.summarise("", ""))
    assert "nothing to summarise" in notice.text


async def test_notes_reach_the_session_the_next_request_or_all_later_ones(bench):
    session = await open_session(bench, model := Echo())
    await play(session.tree.add_note("for me", "session"))
    await play(session.tree.add_note("for once", "next_request"))
    await play(session.tree.add_note("for all", "requests"))
    await say(session, "one")
    first, second = model.user_texts
    assert first == ["for once", "for all", "one"]
    assert second == ["for all", "one"]
    assert [each.text for each in session.state.prompts] == ["one"]
    await session.close()
    again = await open_session(bench, model, resume=session.id)
    assert [each.text for each in again.state.conversation][:2] == ["for all", "one"]
    rows = await again.tree.build_rows()
    assert [each.text for each in rows if each.kind == "note"] == ["for me", "for once", "for all"]


async def test_a_note_for_the_next_request_is_kept_until_it_is_answered(bench):
    session = await open_session(bench, model := Echo())
    await play(session.tree.add_note("for once", "next_request"))
    model.is_failing = True
    await say(session, "one")
    assert "for once" in [each.text for each in session.state.conversation]
    model.is_failing = False
    await play(session.retry())
    assert "for once" not in [each.text for each in session.state.conversation]


_ACTIONS = st.lists(
    st.tuples(st.sampled_from(["say", "go", "merge", "files"]), st.integers(0, 99)), max_size=8
)


@pytest.fixture(scope="module")
def make_root(tmp_path_factory) -> Callable[[], object]:
    return lambda: tmp_path_factory.mktemp("branches")


@settings(max_examples=6, deadline=None)
@given(actions=_ACTIONS)
@pytest.mark.remaining
async def test_any_sequence_of_branches_sends_valid_requests_only(make_root, actions):
    bench = Bench(make_root())
    model = Echo()
    session = await open_session(bench, model)
    await say(session, "start")
    for number, (action, choice) in enumerate(actions):
        rows = await session.tree.build_rows(shows_steps=True)
        entry = rows[choice % len(rows)].id
        if action == "say":
            await say(session, f"p{number}")
        elif action == "merge":
            try:
                await play(session.tree.merge([entry]))
            except UsageError:
                continue
        else:
            await go(session, entry, files=action == "files")
    await say(session, "end")
    assert not validate_session(model.adapter.requests[-1].messages)
    messages = session.state.conversation
    await session.close()
    again = await open_session(bench, model, resume=session.id)
    assert again.state.conversation == messages
    await again.close()
    await bench.close()
