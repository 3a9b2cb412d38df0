"""The branches of a session: the fold follows the one that the conversation is on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from tests.store.turns import MODEL, FactBuilder, tool_call
from tests.strategies import few
from yourtool.agent.history.branches import build_rows, find_parent, find_step_end
from yourtool.agent.history.state import State
from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
    MergedMessage,
)
from yourtool.events.context import ContextCompacted, ContextElided
from yourtool.events.tree import get_entry_id, select_branch
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock, ThinkingBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.messages.metadata import Origin
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.requests.request_view import build_request_view
from yourtool.store.forks import with_new_ids

pytestmark = pytest.mark.req("D10", "R-SEED-05")
_MODEL = Model(id=MODEL, wire_name="m", capabilities=AdapterCapabilities(supports_tools=True))


class Talk:
    """A session as facts, with the state that was updated by each of them."""

    def __init__(self) -> None:
        self.builder = FactBuilder()
        self.facts = []
        self.state = State()
        self.add(self.builder.session_start())

    def add(self, *facts):
        for fact in facts:
            self.facts.append(fact)
            self.state.apply(fact)
        return facts[-1]

    def turn(self, text):
        """Add a turn with two calls, whose results arrive in the other order."""
        build, calls = self.builder, (tool_call(), tool_call())
        self.add(build.turn_start(text), build.route(), build.request())
        self.add(build.reply(ThinkingBlock("hm", "c2ln"), TextBlock("let me see"), *calls))
        first, second = (build.tool_result(call, f"{text} {call.id}") for call in calls)
        self.add(second, first, build.request())
        self.add(build.reply(TextBlock(f"re {text}")), build.turn_end())

    def fact(self, kind, **fields):
        return self.add(self.builder.fact(kind, **fields))

    def select(self, leaf):
        self.fact(BranchSelected, leaf=leaf, left=self.state.branch.leaf)

    def ids(self):
        return [*dict.fromkeys(filter(None, map(get_entry_id, self.facts)))]


def texts(state):
    return [each.text for each in state.conversation if each.text]


def contents(state):
    """Return everything about the branch that later requests depend on."""
    branch = state.branch
    return (
        branch.messages,
        branch.sent,
        branch.sent_to(MODEL),
        branch.leaf,
        branch.context_tokens,
        branch.counted_replies,
        branch.elided_through,
        branch.last_turn_failed,
    )


def prompt_id(talk, text):
    return next(each.id for each in talk.state.tree.iterate_messages() if each.text == text)


def test_a_branch_continues_after_an_earlier_message():
    talk = Talk()
    talk.turn("one")
    talk.turn("two")
    talk.select(find_parent(talk.state.tree, prompt_id(talk, "two")))
    assert texts(talk.state)[-1] == "re one"
    talk.turn("other")
    assert [each.text for each in talk.state.prompts] == ["one", "other"]
    assert talk.state.turn_count == 3
    assert talk.state.cost_usd == 6 * talk.state.branch.counted_replies[MODEL].usage.cost_usd


def test_a_branch_that_is_left_and_returned_to_is_equal():
    talk = Talk()
    talk.turn("one")
    talk.turn("two")
    before, leaf = contents(talk.state), talk.state.branch.leaf
    talk.select("")
    assert contents(talk.state)[:2] == ([], [])
    talk.turn("from the start")
    talk.select(leaf)
    assert contents(talk.state) == before


def test_calls_are_never_separated_from_their_results():
    talk = Talk()
    talk.turn("one")
    tree = talk.state.tree
    _, reply, first, second, last = sorted(talk.ids())
    assert [find_step_end(tree, each) for each in (reply, first, second)] == [second] * 3
    assert find_step_end(tree, last) == last
    assert find_parent(tree, last) == second


def test_compaction_and_elision_apply_to_their_branch_only():
    talk = Talk()
    talk.turn("one")
    talk.turn("two")
    talk.turn("three")
    [_, *rest] = talk.state.prompts
    through = find_parent(talk.state.tree, rest[-1].id)
    leaf = talk.state.branch.leaf
    talk.fact(
        ContextCompacted,
        summary="in short",
        through=through,
        reason="user",
        turn_count=2,
        message_count=10,
        tokens_before=9,
        tokens_after=3,
    )
    talk.fact(ContextElided, model=MODEL, through=through)
    compacted = contents(talk.state)
    talk.select(find_parent(talk.state.tree, rest[0].id))
    assert texts(talk.state)[0] == "one"
    assert talk.state.branch.elided_through == {}
    talk.select(leaf)
    assert contents(talk.state) == compacted
    assert "in short" in texts(talk.state)[0]


def test_a_summary_of_a_branch_reaches_the_model_as_a_composed_text():
    talk = Talk()
    talk.turn("one")
    left = talk.state.branch.leaf
    talk.select("")
    talk.fact(BranchSummarised, summary="it failed", left=left, message_count=5)
    [summary] = talk.state.conversation
    assert summary.text.endswith("it failed")
    assert (summary.metadata.origin, summary.is_prompt) == (Origin.BRANCH_SUMMARY, False)
    assert talk.state.messages == []


def test_merged_messages_have_no_opaque_parts_and_their_own_place():
    talk = Talk()
    talk.turn("one")
    reply = talk.state.messages[-1]
    first = talk.state.messages[1]
    talk.select("")
    talk.turn("other")
    merged = tuple(MergedMessage(each.id, new_id()) for each in (first, reply))
    talk.fact(BranchMerged, merged=merged)
    [*_, copied, last] = talk.state.conversation
    assert last.content == reply.content
    assert copied.metadata.model is None
    view = build_request_view(talk.state.conversation_for(MODEL), _MODEL)
    copies = [each for each in view if each.id == copied.id]
    assert not any(isinstance(block, ThinkingBlock) for each in copies for block in each.content)


def test_exports_have_the_present_branch_and_all_about_the_session():
    talk = Talk()
    talk.turn("one")
    talk.fact(BranchLabelled, target=talk.state.branch.leaf, label="good")
    talk.select("")
    talk.turn("other")
    kept = select_branch(talk.facts)
    assert next(each.message.text for each in kept if getattr(each, "message", None)) == "other"
    assert [each for each in kept if isinstance(each, BranchLabelled)]


def test_the_tree_has_a_row_for_each_entry_and_indents_branches():
    talk = Talk()
    talk.turn("one")
    after_one = talk.state.branch.leaf
    talk.turn("two")
    talk.fact(BranchLabelled, target=prompt_id(talk, "two"), label="try")
    talk.select(after_one)
    talk.turn("three")
    rows = build_rows(talk.state.tree, talk.state.labels)
    shown = [f"{each.guide}{each.text}{' *' * each.is_leaf}" for each in rows]
    assert shown == ["one", "re one", "├─ two", "│  re two", "└─ three", "   re three *"]
    assert [each.text for each in rows if not each.is_active] == ["two", "re two"]
    assert [each.text for each in rows if each.label == "try"] == ["two"]
    assert len(build_rows(talk.state.tree, {}, shows_steps=True)) == 15


_STEPS = st.lists(
    st.tuples(st.sampled_from(["turn", "move", "edit", "merge", "summary"]), st.integers(0, 99)),
    max_size=12,
)


@few
@given(_STEPS)
def test_any_branches_and_merges_give_valid_requests_and_the_same_state_after_resume(steps):
    talk = Talk()
    talk.turn("start")
    for number, (action, choice) in enumerate(steps):
        ids = talk.ids()
        chosen = ids[choice % len(ids)]
        tree = talk.state.tree
        match action:
            case "turn":
                talk.turn(f"prompt {number}")
            case "move":
                talk.select(find_step_end(tree, chosen))
            case "edit":
                talk.select(find_parent(tree, chosen) if _is_prompt(talk, chosen) else "")
            case "merge":
                found = [e for e in tree.iterate_messages() if e.role is Role.USER]
                source = found[choice % len(found)]
                talk.fact(BranchMerged, merged=(MergedMessage(source.id, new_id()),))
            case _:
                talk.fact(BranchSummarised, summary="s", left=chosen, message_count=1)
        view = build_request_view(talk.state.conversation_for(MODEL), _MODEL)
        assert not validate_session(view)
    for folded in (_fold(talk.facts, keep=True), _fold(talk.facts, keep=False)):
        assert contents(folded) == contents(talk.state)
    copied = _fold(with_new_ids(talk.facts, "sess_copy"), keep=True)
    assert texts(copied) == texts(talk.state)
    leaf, before = talk.state.branch.leaf, contents(talk.state)
    talk.select("")
    talk.select(leaf)
    assert contents(talk.state) == before


def _is_prompt(talk, entry_id):
    return any(e.id == entry_id and e.is_prompt for e in talk.state.tree.iterate_messages())


def _fold(facts, *, keep):
    state = State(keep_facts=keep)
    for fact in facts:
        state.apply(fact)
    return state


@pytest.mark.remaining
def test_resuming_a_session_with_many_branches_takes_linear_time():
    def build(count):
        talk = Talk()
        for number in range(count):
            talk.turn(f"prompt {number}")
            talk.select(talk.ids()[0])
        return talk.facts

    def fold(facts):
        return _fold(facts, keep=True).messages

    assert growth(fold, build, 25) < LINEAR


@pytest.mark.parametrize("leaf", ["00000000000000000000000000", "7" * 26, "x"])
def test_an_unknown_place_in_a_damaged_session_is_no_error(leaf):
    talk = Talk()
    talk.turn("one")
    talk.select(leaf)
    talk.turn("two")
    assert texts(talk.state)[-1] == "re two"
    assert build_rows(talk.state.tree, {})
