from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.messages.metadata import RoutingMode
from yourtool.models import AdapterCapabilities, Model
from yourtool.routing.router import (
    Candidate,
    Needs,
    Preferences,
    Rejection,
    RejectionCode,
    Slot,
    decide,
    find_rejection,
    format_chain,
    format_swap_refusal,
    mode_of,
)

FIELDS = {
    Slot.PER_MESSAGE_OVERRIDE: "override",
    Slot.MANUAL_STICKY: "sticky",
    Slot.RULE: "rules",
    Slot.PATTERN: "pattern",
    Slot.DELEGATE_REQUEST: "delegate",
    Slot.WORKSPACE_DEFAULT: "workspace_default",
    Slot.GLOBAL_DEFAULT: "global_default",
}
ORDER = list(Slot)
NEEDS_ALL = Needs(
    images=True,
    audio=True,
    documents=True,
    input_tokens=10_000,
    tools=True,
    system_prompt=True,
    structured_output=True,
)


def model(**capabilities: object) -> Model:
    able = {
        "supports_images": True,
        "supports_audio": True,
        "supports_documents": True,
        "supports_structured_output": True,
        "max_context_tokens": 200_000,
    }
    return Model(
        id="a:m",
        wire_name="m",
        capabilities=AdapterCapabilities(**{**able, **capabilities}),  # pyright: ignore[reportArgumentType] - keywords of the test
    )


def preferring(models: Mapping[Slot, str]) -> Preferences:
    """Return preferences with one candidate for each of these slots."""
    named = {
        FIELDS[slot]: (Candidate(model, "it holds", "one"),) if slot is Slot.RULE else model
        for slot, model in models.items()
    }
    if Slot.PATTERN in models:
        named["pattern"] = Candidate(models[Slot.PATTERN], "past turns", confidence=0.5)
    return Preferences(**named)  # pyright: ignore[reportArgumentType] - keywords of the test


def anything_goes(model_id: str, needs: Needs) -> Rejection | None:
    return None


def nothing_goes(model_id: str, needs: Needs) -> Rejection | None:
    return Rejection(RejectionCode.NOT_CONFIGURED, f"no key for {model_id}")


@pytest.mark.parametrize(("first", "second"), combinations(ORDER, 2))
@pytest.mark.req("R-RTE-01")
def test_earliest_slot_with_a_usable_candidate_wins_and_ends_the_chain(first, second):
    preferences = preferring({first: "a:first", second: "a:second"})
    decided = decide(preferences, Needs(), anything_goes)
    place = ORDER.index(first)
    assert decided.chosen == "a:first"
    assert decided.winner_index == place
    assert [step.policy for step in decided.chain] == ORDER[: place + 1]
    assert [step.verdict for step in decided.chain] == ["not_applicable"] * place + ["chose"]
    assert decided.explicit == (place < 2)


@pytest.mark.req("R-RTE-06")
def test_slots_without_candidates_select_no_model():
    decided = decide(Preferences(), Needs(), anything_goes)
    assert (decided.chosen, decided.winner_index) == (None, -1)
    assert [step.policy for step in decided.chain] == ORDER


@pytest.mark.req("R-RTE-02")
def test_implicit_slots_fall_through_with_a_reason():
    def only_global(model_id, needs):
        return None if model_id == "a:global" else nothing_goes(model_id, needs)

    preferences = Preferences(workspace_default="a:here", global_default="a:global")
    decided = decide(preferences, Needs(), only_global)
    assert decided.chosen == "a:global"
    rejected = decided.chain[5]
    assert (rejected.verdict, rejected.validation_failure) == ("rejected", "not_configured")
    assert rejected.reason == "no key for a:here"


@pytest.mark.parametrize("field", ["override", "sticky"])
@pytest.mark.req("R-RTE-03")
def test_unusable_explicit_choice_rejects_the_turn(field):
    def only_global(model_id, needs):
        return None if model_id == "a:global" else nothing_goes(model_id, needs)

    decided = decide(
        Preferences(**{field: "a:mine"}, global_default="a:global"), Needs(), only_global
    )
    assert (decided.chosen, decided.winner_index, decided.explicit) == (None, -1, True)
    assert decided.chain[-1].candidate_model == "a:mine"
    assert decided.chain[-1].reason == "no key for a:mine"


def failing_from(number: int) -> tuple[Model, str | None, str | None]:
    """Return a model that fails every check from `number` on."""
    lacks = [
        {},
        {},
        {"supports_images": False},
        {"supports_audio": False},
        {"supports_documents": False},
        {"max_context_tokens": 9_999},
        {"supports_tools": False},
        {"supports_system_prompt": False},
        {"supports_structured_output": False},
    ]
    merged = {key: value for lack in lacks[number:] for key, value in lack.items()}
    return model(**merged), "no key" if number == 0 else None, "out" if number <= 1 else None


@pytest.mark.parametrize(("number", "failure"), enumerate(tuple(RejectionCode)[:-1]))
@pytest.mark.req("R-RTE-02")
def test_first_of_nine_checks_that_fails_is_reported(number, failure):
    candidate, configured, unavailable = failing_from(number)
    rejection = find_rejection(candidate, NEEDS_ALL, configured, unavailable)
    assert rejection is not None
    assert rejection.code == failure


@pytest.mark.parametrize("place", range(2, len(ORDER) - 1))
@pytest.mark.parametrize(("number", "failure"), enumerate(tuple(RejectionCode)[:-1]))
@pytest.mark.req("R-RTE-02")
def test_every_failure_lets_every_later_slot_try_and_is_recorded(number, failure, place):
    candidate, configured, unavailable = failing_from(number)

    def check(model_id, needs):
        if model_id == "a:good":
            return None
        return find_rejection(candidate, needs, configured, unavailable)

    named = {ORDER[place]: "a:bad", ORDER[-1]: "a:good"}
    decided = decide(preferring(named), NEEDS_ALL, check)
    assert (decided.chosen, decided.chain[-1].policy) == ("a:good", Slot.GLOBAL_DEFAULT)
    rejected = decided.chain[place]
    assert (rejected.verdict, rejected.validation_failure) == ("rejected", failure)
    assert rejected.candidate_model == "a:bad" and rejected.reason


@pytest.mark.parametrize("slot", ORDER[:2])
@pytest.mark.parametrize(("number", "failure"), enumerate(tuple(RejectionCode)[:-1]))
@pytest.mark.req("R-RTE-03")
def test_every_failure_of_an_explicit_choice_ends_the_chain(number, failure, slot):
    candidate, configured, unavailable = failing_from(number)

    def check(model_id, needs):
        if model_id == "a:good":
            return None
        return find_rejection(candidate, needs, configured, unavailable)

    decided = decide(preferring({slot: "a:bad", ORDER[-1]: "a:good"}), NEEDS_ALL, check)
    assert (decided.chosen, decided.winner_index) == (None, -1)
    assert decided.chain[-1].validation_failure == failure


def test_the_page_about_routing_has_every_reason():
    page = (Path(__file__).parents[2] / "docs" / "routing.md").read_text("utf-8")
    assert [code for code in RejectionCode if f"`{code}`" not in page] == []


@pytest.mark.req("R-RTE-02")
def test_model_needs_only_the_capabilities_that_the_turn_uses():
    candidate, _, _ = failing_from(2)
    assert find_rejection(candidate, Needs(input_tokens=9_999), None, None) is None
    assert find_rejection(model(), NEEDS_ALL, None, None) is None


@pytest.mark.req("R-RTE-04")
def test_images_in_the_history_reject_a_model_without_vision_with_the_exact_text():
    rejection = find_rejection(model(supports_images=False), Needs(images=True), None, None)
    assert rejection is not None
    assert format_swap_refusal(model(), rejection, name="Haiku-text-only") == (
        "Cannot swap to Haiku-text-only: session contains images that this model can't process."
        " Active model unchanged."
    )
    assert format_swap_refusal(model(), rejection, where="The first is in message 3.") == (
        "Cannot swap to a:m: session contains images that this model can't process."
        " Active model unchanged. The first is in message 3."
    )


@pytest.mark.parametrize(
    ("lack", "need", "what"),
    [("supports_audio", "audio", "audio"), ("supports_documents", "documents", "documents")],
)
@pytest.mark.req("D14")
def test_audio_and_documents_reject_a_model_with_the_same_text(lack, need, what):
    rejection = find_rejection(model(**{lack: False}), Needs(**{need: True}), None, None)
    assert rejection is not None
    assert format_swap_refusal(model(), rejection) == (
        f"Cannot swap to a:m: session contains {what} that this model can't process."
        " Active model unchanged."
    )


@pytest.mark.req("R-RTE-04")
def test_too_large_history_rejects_a_model_with_both_sizes():
    small = model(max_context_tokens=32_768)
    rejection = find_rejection(small, Needs(input_tokens=250_000), None, None)
    assert rejection is not None
    assert format_swap_refusal(small, rejection) == (
        "Cannot swap to a:m: session needs about 250,000 tokens, and `a:m` takes 32,768."
        " Active model unchanged."
    )


def test_swap_to_a_provider_without_a_key_explains_how_to_get_one():
    rejection = Rejection(RejectionCode.NOT_CONFIGURED, "`a` has no key: set `A_KEY`.")
    assert format_swap_refusal(model(), rejection) == (
        "Cannot swap to a:m: `a` has no key: set `A_KEY`. Active model unchanged."
    )


@pytest.mark.req("R-RTE-01")
def test_swap_during_a_session_is_a_manual_choice():
    before = decide(
        Preferences(workspace_default="anthropic:claude-sonnet-4-6"), Needs(), anything_goes
    )
    after = decide(
        Preferences(sticky="openai:gpt-5", workspace_default="anthropic:claude-sonnet-4-6"),
        Needs(),
        anything_goes,
    )
    assert (before.chosen, mode_of(before.chain[-1].policy)) == (
        "anthropic:claude-sonnet-4-6",
        RoutingMode.DEFAULT,
    )
    assert before.chain[-1].reason == "workspace default"
    assert (after.chosen, mode_of(after.chain[-1].policy)) == ("openai:gpt-5", RoutingMode.MANUAL)


IDS = st.none() | st.sampled_from(["a:1", "a:2", "b:1"])


@given(
    st.builds(
        Preferences,
        **dict.fromkeys(FIELDS.values(), IDS)
        | {
            "rules": st.lists(st.builds(Candidate, IDS.filter(bool), st.just("it holds"))).map(
                tuple
            ),
            "pattern": st.none() | st.builds(Candidate, IDS.filter(bool), st.just("past turns")),
        },
    ),
    st.builds(Needs, images=st.booleans(), input_tokens=st.integers(0, 10**6), tools=st.booleans()),
    st.sets(st.sampled_from(["a:1", "a:2", "b:1"])),
)
@pytest.mark.req("R-RTE-06")
def test_equal_states_give_equal_decisions(preferences, needs, broken):
    def check(model_id, needs):
        return nothing_goes(model_id, needs) if model_id in broken else None

    decided = decide(preferences, needs, check)
    assert decided == decide(preferences, needs, check)
    assert len(Slot) <= len(format_chain(decided.chain)) <= len(Slot) + 3
    if decided.chosen is None:
        assert decided.winner_index == -1
        assert all(step.verdict != "chose" for step in decided.chain)
    else:
        assert decided.chosen not in broken
        assert decided.winner_index == len(decided.chain) - 1
        assert [step.verdict for step in decided.chain].count("chose") == 1


@pytest.mark.req("R-RTE-11")
def test_explanation_has_a_line_per_slot_and_at_most_twelve():
    preferences = Preferences(workspace_default="a:here", global_default="a:global")
    lines = format_chain(decide(preferences, Needs(), nothing_goes).chain)
    assert len(lines) == 7 <= 12
    assert lines[0] == ("1 `@model` in this message  not used  the message names no model")
    assert lines[5] == (
        "6 workspace default         rejected  a:here: no key for a:here (not_configured)"
    )
    chosen = format_chain(decide(Preferences(sticky="a:mine"), Needs(), anything_goes).chain)
    assert chosen[1] == (
        "2 chosen for the session    used      a:mine: chosen by the user for the session"
    )
    assert chosen[6] == "7 global default            not reached"


def test_every_slot_has_a_mode_and_both_defaults_share_one():
    assert {mode_of(slot) for slot in Slot} == set(RoutingMode)
    assert mode_of("workspace_default") is mode_of("global_default") is RoutingMode.DEFAULT


def test_rejected_rule_lets_the_next_one_try_and_each_step_has_its_name():
    rules = tuple(Candidate(f"a:{name}", f"{name} holds", name) for name in ("one", "two", "three"))

    def only_two(model_id, needs):
        return None if model_id == "a:two" else nothing_goes(model_id, needs)

    decided = decide(Preferences(rules=rules, rule_count=5), Needs(), only_two)
    assert (decided.chosen, decided.winner_index) == ("a:two", 3)
    assert [(step.rule_name, step.verdict) for step in decided.chain[2:]] == [
        ("one", "rejected"),
        ("two", "chose"),
    ]
    assert decided.chain[decided.winner_index].reason == "two holds"
    lines = format_chain(decided.chain)
    assert lines[2].startswith("3 rule one") and "not_configured" in lines[2]
    assert lines[3].startswith("3 rule two") and "used" in lines[3]


@pytest.mark.req("R-RTE-11")
def test_chain_of_many_rejected_rules_stays_short():
    rules = tuple(Candidate(f"a:{number}", "it holds", f"r{number}") for number in range(50))
    decided = decide(Preferences(rules=rules, rule_count=50), Needs(), nothing_goes)
    lines = format_chain(decided.chain)
    assert len(lines) == 10
    assert lines[4].strip() == "47 more rules whose models were rejected"
    assert lines[5].startswith("3 rule r49")


def test_chain_distinguishes_no_rules_from_rules_that_do_not_hold():
    for count, reason in ((0, "there are no rules"), (1, "none of 1 rule holds")):
        decided = decide(Preferences(rule_count=count, sticky=None), Needs(), anything_goes)
        assert decided.chain[2].reason == reason
