"""The head of a summary states what is known of it; imported ones have no counts and no author."""

from decimal import Decimal

from tests.store.turns import FactBuilder
from yourtool.events.branches import BranchSummarised
from yourtool.events.context import ContextCompacted
from yourtool.tui.transcript.session_changes import describe_summary


def test_head_of_an_imported_summary_states_neither_counts_nor_an_author():
    build = FactBuilder()
    branch = build.fact(BranchSummarised, summary="x", left="", message_count=0)
    assert describe_summary(branch) == "Summarised the branch that was left"
    known = {"summary": "x", "through": "m", "reason": "user", "message_count": 0}
    compacted = build.fact(ContextCompacted, **known, turn_count=0, tokens_before=0, tokens_after=8)
    assert describe_summary(compacted) == "Summarised what came before"


def test_head_of_a_summary_states_its_cost():
    branch = FactBuilder().fact(
        BranchSummarised, summary="x", left="", message_count=2, model="ollama:qwen:7b",
        cost_usd=Decimal("0.0013"),
    )  # fmt: skip
    assert describe_summary(branch).endswith("was left, by qwen:7b, $0.0013")


def test_head_of_a_summary_without_a_model_states_the_reason():
    branch = FactBuilder().fact(
        BranchSummarised, summary="x", left="", message_count=2, problem="it was empty"
    )
    assert describe_summary(branch).endswith("left, without a model: it was empty")
