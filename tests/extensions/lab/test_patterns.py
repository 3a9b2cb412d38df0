"""Recommendations by past turns: similarity, ranking, confidence and minimum samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.extensions.lab.patterns import (
    NEIGHBOURS,
    Fingerprint,
    Outcome,
    PatternSettings,
    build_fingerprint,
    compare_to,
    recommend,
)
from yourtool.routing.router import (
    Candidate,
    Needs,
    Preferences,
    Rejection,
    RejectionCode,
    decide,
    find_disagreement,
    format_chain,
)

names = st.frozensets(st.sampled_from(["alpha", "beta", "gamma", "delta"]))
fingerprints = st.builds(Fingerprint, names, names, names, names, st.integers(0, 3), st.booleans())
outcomes = st.builds(
    Outcome,
    model=st.sampled_from(["a:1", "b:2", "c:3"]),
    fingerprint=fingerprints,
    score=st.floats(0, 1),
    cost_usd=st.none() | st.floats(0, 10),
)


def turn(text: str, *paths: str, tokens: int = 500, has_images: bool = False) -> Fingerprint:
    return build_fingerprint(
        text, paths, tokens=tokens, has_images=has_images, workspace="/home/me/work"
    )


def outcome(model: str, score: float, about: str = "fix the parser", cost: float | None = 0.0):
    return Outcome(model=model, fingerprint=turn(about), score=score, cost_usd=cost)


def test_fingerprint_has_what_is_known_before_a_turn():
    found = turn("Fix the crash in `src/parser.py`, please", "/home/me/work/tests/x.SQL", "a.md")
    assert found.intents == {"debug"}
    assert found.words == {"crash", "parser", "please"}
    assert found.extensions == {".py", ".sql", ".md"}
    assert found.directories == {"src", "tests"}
    assert (found.size, found.has_images) == (0, False)
    assert [turn("x", tokens=tokens).size for tokens in (999, 1_000, 10_000, 100_000)] == [
        0, 1, 2, 3,
    ]  # fmt: skip


def test_paths_outside_of_the_workspace_name_no_directory():
    assert turn("read it", "/etc/passwd.txt").directories == frozenset()


@given(fingerprints, fingerprints)
def test_similarity_is_symmetric_and_at_most_one(one, other):
    assert compare_to(one)(other) == compare_to(other)(one)
    assert 0 <= compare_to(one)(other) <= 1.0000001
    assert compare_to(one)(one) == pytest.approx(1)


def test_similar_prompts_are_nearer_than_others():
    asked = turn("fix the failing test of the parser in src/parser.py")
    near = turn("the parser test fails again, see src/parser.py")
    far = turn("write release notes for the website", tokens=20_000)
    assert compare_to(asked)(near) > compare_to(asked)(far)


def test_model_with_the_better_scores_is_recommended_with_its_confidence():
    past = [outcome("good:a", 0.9)] * 6 + [outcome("bad:b", 0.3)] * 4
    found = recommend(turn("fix the parser"), past, 0)
    assert found is not None
    assert [(each.model, each.sample_size) for each in found.ranked] == [
        ("good:a", 6),
        ("bad:b", 4),
    ]
    assert found.best.score == pytest.approx(0.9)
    assert found.confidence == pytest.approx((0.9 - 0.3) / 0.9)
    assert found.find_weakness(PatternSettings()) is None
    assert found.explain() == (
        "score 0.90 in 6 similar turns, confidence 0.67; next `bad:b` 0.30 in 4"
    )


def test_too_few_samples_and_too_small_a_lead_are_weaknesses():
    few = recommend(turn("fix"), [outcome("a:1", 1)] * 4, 0)
    assert few is not None
    assert few.find_weakness(PatternSettings()) == (
        "4 similar turns with `a:1` are too few; 5 are needed"
    )
    close = recommend(turn("fix"), [outcome("a:1", 0.9)] * 5 + [outcome("b:2", 0.88)] * 5, 0)
    assert close is not None
    assert "is not clearly better than `b:2`: confidence 0.02" in str(
        close.find_weakness(PatternSettings())
    )


def test_only_model_has_full_confidence_and_no_turns_recommend_nothing():
    only = recommend(turn("fix"), [outcome("a:1", 0.4)], 0.05)
    assert only is not None
    assert only.confidence == 1
    assert recommend(turn("fix"), [], 0.05) is None


def test_cheaper_model_is_preferred_by_the_weight_of_costs():
    past = [outcome("cheap:a", 0.80, cost=0.01)] * 5 + [outcome("dear:b", 0.82, cost=1)] * 5
    without, with_costs = (recommend(turn("fix"), past, weight) for weight in (0, 0.05))
    assert without is not None
    assert with_costs is not None
    assert (without.best.model, with_costs.best.model) == ("dear:b", "cheap:a")
    same = recommend(turn("fix"), [outcome("a:1", 0.5, cost=1), outcome("b:2", 0.5, cost=1)], 1)
    assert same is not None
    assert [each.score for each in same.ranked] == [0, 0]
    assert same.confidence == 0


@given(st.lists(outcomes, max_size=40), fingerprints, st.floats(0, 1))
def test_recommendation_is_deterministic_and_uses_the_nearest_turns_only(past, asked, weight):
    found = recommend(asked, past, weight)
    assert found == recommend(asked, list(past), weight)
    if found is None:
        assert past == []
        return
    assert sum(each.sample_size for each in found.ranked) == min(NEIGHBOURS, len(past))
    assert 0 <= found.confidence <= 1
    assert found.best.score == max(each.score for each in found.ranked)


LEARNED = Candidate("a:learned", "score 0.90", confidence=0.9)


def anything_goes(model_id: str, needs: Needs) -> None:
    return None


@pytest.mark.req("R-RTE-15")
def test_rule_and_the_words_of_the_user_win_over_past_turns():
    rules = (Candidate("b:rule", "it holds", "one"),)
    for wins, preferences in (
        ("b:rule", Preferences(rules=rules, pattern=LEARNED, global_default="c:d")),
        ("b:mine", Preferences(sticky="b:mine", pattern=LEARNED, global_default="c:d")),
        ("b:mine", Preferences(override="b:mine", pattern=LEARNED, global_default="c:d")),
        ("a:learned", Preferences(pattern=LEARNED, delegate="c:d", workspace_default="c:d")),
    ):
        assert decide(preferences, Needs(), anything_goes).chosen == wins


def test_rejected_recommendation_is_recorded_and_the_next_slot_decides():
    def only_default(model_id: str, needs: Needs) -> Rejection | None:
        if model_id == "c:d":
            return None
        return Rejection(RejectionCode.NO_TOOL_SUPPORT, "no tools")

    decided = decide(Preferences(pattern=LEARNED, global_default="c:d"), Needs(), only_default)
    assert decided.chosen == "c:d"
    assert [each.verdict for each in decided.chain if each.policy == "pattern"] == ["rejected"]
    reason = "5 similar turns are too few"
    silent = decide(Preferences(no_pattern=reason, global_default="c:d"), Needs(), only_default)
    assert any(reason in line for line in format_chain(silent.chain))


def test_disagreement_follows_the_step_that_decided():
    preferences = Preferences(sticky="b:mine", pattern=LEARNED)
    decided = decide(preferences, Needs(), anything_goes)
    step = find_disagreement(decided, LEARNED)
    assert step is not None
    assert (step.policy, step.verdict, step.candidate_model) == ("pattern", "deferred", "a:learned")
    assert "advised   a:learned" in format_chain((*decided.chain, step))[3]
    same = Candidate("b:mine", "score 1")
    assert find_disagreement(decided, same) is None
    below = decide(Preferences(global_default="c:d"), Needs(), anything_goes)
    assert find_disagreement(below, LEARNED) is None
    assert find_disagreement(decided, None) is None
