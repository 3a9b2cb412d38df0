"""Long sessions are read in linear time and without a second copy in memory."""

import tracemalloc

import pytest

from tests.doubling import LINEAR, growth, steps
from tests.store.turns import FactBuilder
from yourtool.agent.history.state import State
from yourtool.events.catalog import message_of
from yourtool.events.context import ContextCompacted
from yourtool.events.turns import TurnCompleted
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import PromptMessage, now
from yourtool.providers import estimate


def build_facts(turns: int) -> tuple[FactBuilder, list]:
    builder = FactBuilder()
    return builder, [
        builder.session_start(),
        *(fact for _ in range(turns) for fact in builder.turn("x" * 500)),
    ]


async def test_replay_stores_one_fact_at_a_time_in_memory(store):
    builder, facts = build_facts(300)
    await store.append(*facts)
    seen = 0

    def count(_fact):
        nonlocal seen
        seen += 1

    await store.replay(builder.session_id, count)
    tracemalloc.start()
    try:
        await store.replay(builder.session_id, count)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen == 2 * len(facts)
    assert peak < 250_000, "all facts together take ten times as much"


def test_state_does_not_need_the_facts_of_finished_turns():
    _, facts = build_facts(50)
    whole, lean = State(), State(keep_facts=False)
    for fact in facts:
        whole.apply(fact)
        lean.apply(fact)
    assert lean.messages == whole.messages
    assert lean.cost_usd == whole.cost_usd
    assert len(whole.facts) == len(facts)
    assert len(lean.facts) < 10
    assert lean.facts[-1] == facts[-1]


def test_folding_a_session_takes_linear_time():
    def fold(facts):
        state = State()
        for fact in facts:
            state.apply(fact)

    assert growth(fold, lambda turns: build_facts(turns)[1], 50) < LINEAR


def fold_with_summaries(turns: int, summaries: int) -> State:
    """Return the state of a session in which each of so many summaries replaces the one before."""
    builder, facts = build_facts(turns)
    state, last = State(), ""
    for number, fact in enumerate(facts):
        state.apply(fact)
        last = max(last, getattr(message_of(fact), "id", ""))
        if isinstance(fact, TurnCompleted) and state.turn_count % (turns // summaries) == 0:
            counts = {"turn_count": 1, "message_count": 1, "tokens_before": 2, "tokens_after": 1}
            summary = {"summary": f"Until {number}.", "through": last, "reason": "threshold"}
            state.apply(builder.fact(ContextCompacted, **summary, **counts))
    return state


@pytest.mark.req("R-CTX-03")
def test_summaries_make_the_fold_of_a_session_no_longer():
    few, many = (steps(lambda n=n: fold_with_summaries(200, n)) for n in (2, 100))
    assert many < 1.2 * few


@pytest.mark.req("R-CTX-03")
@pytest.mark.remaining
def test_last_of_many_summaries_has_all_originals_and_the_messages_after_it():
    state = fold_with_summaries(2_000, 1_000)
    assert state.branch.compacted.originals == tuple(state.messages)
    [summary] = state.conversation
    assert summary.text.count("Until") == 1


@pytest.mark.remaining
def test_messages_of_a_long_session_are_counted_once():
    messages = [
        PromptMessage(
            id=f"{number:026}",
            session_id="s",
            content=(TextBlock(f"word {number}"),),
            created_at=now(),
        )
        for number in range(33_500)
    ]
    first = estimate.estimate_tokens(messages, ())
    [counts] = [each for each in estimate._message_counts.values() if len(each) >= len(messages)]
    counted = len(counts)
    assert estimate.estimate_tokens(messages, ()) == first
    assert len(counts) == counted
    del messages
    assert len(counts) < counted - 33_000, "what is gone is forgotten"
