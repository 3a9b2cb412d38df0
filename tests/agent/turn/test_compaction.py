"""A conversation that is too long for its model is summarised, and continues."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, Bench, Checked, play
from tests.figures import count_case
from yourtool.agent.commands.reports import cost_report
from yourtool.agent.history.summary_texts import INSTRUCTIONS
from yourtool.errors import ContextOverflowError, ServerError, UsageError
from yourtool.events.context import ContextCompacted, ContextElided
from yourtool.events.deltas import Notice, TokenUsage
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed
from yourtool.events.turns import RouteDecided, TurnCancelled, TurnCompleted
from yourtool.foundation.amounts import Spending
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.scripted import Scripted, calls, counts, fails, says, stops
from yourtool.run_result import Outcome
from yourtool.settings.agent_config import ContextConfig
from yourtool.tools.builtin import default_toolbox

WINDOW = 12_000
SMALLER = 9_000
PARAGRAPH = "The quick brown fox jumps over the lazy dog near the river bank at noon. " * 36
"""About 600 tokens."""
SUMMARY = "- The user likes foxes.\n- Nothing was changed yet."
USAGE = TokenUsage(input_tokens=1_000, output_tokens=100)


def is_summary_request(request):
    return INSTRUCTIONS in request.messages[-1].text


class Limited:
    """A model with a context window, which reads a file so many times for each prompt."""

    def __init__(self, window=WINDOW, *, summary=None, reads=0, reply=PARAGRAPH):
        self.window, self.summary, self.reads, self.reply = (
            window,
            summary or says(SUMMARY),
            reads,
            reply,
        )
        self.adapter = Checked(Scripted(self.answer))
        self.summarised, self.done = [], Counter()

    def answer(self, request):
        tokens = estimate_tokens(request.messages, request.tools, request.model.id)
        if tokens > self.window:
            return fails(ContextOverflowError("prompt is too long"))
        if is_summary_request(request):
            self.summarised.append(request)
            return self.summary + counts(USAGE)
        prompt = [each.text for each in request.messages if each.is_prompt][-1]
        self.done[prompt] += 1
        if self.done[prompt] <= self.reads:
            return calls("read_file", path="a.txt", limit=self.done[prompt] + 50)
        return says(self.reply)

    @property
    def requests(self):
        """Those of the conversation that fit."""
        return [
            each
            for each in self.adapter.requests
            if not is_summary_request(each)
            and estimate_tokens(each.messages, each.tools, each.model.id) <= self.window
        ]


async def open_session(bench, model, *, known=WINDOW, percent=85, **options):
    """Return a session with a model whose window is known to have so many tokens."""
    narrow = replace(MODEL.capabilities, max_context_tokens=known)
    wide = replace(MODEL.capabilities, max_context_tokens=100 * WINDOW)
    models = [replace(MODEL, capabilities=narrow), replace(OTHER, capabilities=wide)]
    bench.catalogue = Catalogue(models, "2026-01-01")
    settings = {"context": ContextConfig(make_room_at=percent)} | options.pop("settings", {})
    return await bench.session(model.adapter, settings=settings, **options)


async def talk(session, turns, prompt=PARAGRAPH):
    events = []
    for number in range(turns):
        events += await play(session.send(f"Prompt {number}. {prompt}"))
    return events


def kinds(events, kind):
    return [each for each in events if isinstance(each, kind)]


def texts(request):
    return [each.text for each in request.messages if each.role is not Role.SYSTEM]


@pytest.mark.req("R-CTX-02", "R-CTX-03", "R-PER-02")
async def test_conversation_of_text_that_a_provider_finds_too_long_continues(bench):
    model = Limited(SMALLER)
    session = await open_session(bench, model, known=100 * WINDOW)
    events = await talk(session, 11)
    assert all(each.stop_reason is StopReason.END_TURN for each in kinds(events, TurnCompleted))
    assert len(kinds(events, TurnCompleted)) == 11
    compacted = kinds(events, ContextCompacted)
    assert compacted
    assert {each.reason for each in compacted} == {"overflow"}
    assert len(session.state.messages) == 22
    last = texts(model.requests[-1])
    assert SUMMARY in last[0]
    assert last[-1].startswith("Prompt 10.")
    assert validate_session(model.requests[-1].messages) == []
    await session.close()


@pytest.mark.req("R-CTX-05")
async def test_room_is_made_before_a_provider_refuses_at_the_threshold_of_the_user(bench):
    model = Limited()
    session = await open_session(bench, model, percent=60)
    events = await talk(session, 11)
    assert not kinds(events, LlmCallFailed)
    for fact in kinds(events, ContextCompacted):
        assert fact.reason == "threshold"
        assert fact.model == MODEL.id
        assert fact.tokens_after <= 0.6 * WINDOW < fact.tokens_before
    most = max(estimate_tokens(each.messages, each.tools, MODEL.id) for each in model.requests)
    assert most <= 0.7 * WINDOW
    await session.close()


@pytest.mark.req("R-CTX-05")
async def test_cost_of_a_summary_is_booked_and_its_reply_is_not_shown(bench):
    model = Limited()
    session = await open_session(bench, model)
    events = await talk(session, 11)
    replies = kinds(session.state.facts, LlmCallCompleted)
    silent = [each for each in replies if each.purpose]
    assert len(silent) == len(kinds(events, ContextCompacted)) > 0
    assert {each.purpose for each in silent} == {"compaction"}
    assert session.state.cost_usd == sum(each.usage.cost_usd for each in replies)
    costs = [each.cost_usd for each in kinds(events, ContextCompacted)]
    assert costs == [each.usage.cost_usd for each in silent] and all(costs)
    outcome = Outcome()
    for event in events:
        outcome.apply(event)
    assert outcome.result(session.id).cost_usd == session.state.cost_usd
    report = {each.title: each.rows for each in cost_report(session.state.facts, Spending())}
    assert [name for name, _ in report["By role"]] == ["agent", "compaction"]
    assert SUMMARY not in [message.text for message in session.state.messages]
    await session.close()


async def test_old_tool_outputs_are_omitted_before_anything_is_summarised(bench):
    (bench.workspace / "a.txt").write_text(f"{PARAGRAPH[:1800]}\n" * 4)
    model = Limited(reads=2, reply="Read.")
    session = await open_session(bench, model)
    first = await talk(session, 3, prompt="Read it.")
    elided = kinds(first, ContextElided)
    assert elided
    assert not kinds(first, ContextCompacted)
    assert all(each.model == MODEL.id for each in elided)
    assert not kinds(first, LlmCallFailed)
    await session.close()


@pytest.mark.req("R-CTX-03")
@pytest.mark.remaining
async def test_summary_of_old_turns_replaces_whole_ones(bench):
    (bench.workspace / "a.txt").write_text("short\n")
    model = Limited(reads=2)
    session = await open_session(bench, model)
    events = await talk(session, 14)
    ends = {session.state.messages[at - 1].id for at in range(6, 84, 6)}
    compacted = kinds(events, ContextCompacted)
    assert compacted and {each.through for each in compacted} <= ends
    assert [each.message_count % 6 for each in compacted] == [0, *[1] * (len(compacted) - 1)]
    await session.close()


@pytest.mark.req("R-CTX-02")
@pytest.mark.remaining
async def test_steps_of_one_long_turn_are_summarised_and_its_prompt_stays(bench):
    model = Limited(SMALLER, reads=40, reply="Done.")
    (bench.workspace / "a.txt").write_text("short\n" * 60)
    session = await open_session(bench, model, known=SMALLER)
    events = await play(session.send("The only prompt."))
    assert events[-1].stop_reason is StopReason.END_TURN
    assert kinds(events, ContextCompacted)
    for request in model.requests:
        assert "The only prompt." in texts(request)
        assert validate_session(request.messages) == []
    await session.close()


@pytest.mark.req("R-CTX-02")
@pytest.mark.parametrize("known", [WINDOW, 100 * WINDOW], ids=["by estimate", "by the provider"])
async def test_prompt_that_is_too_long_alone_is_named_and_the_next_one_works(bench, known):
    model = Limited()
    session = await open_session(bench, model, known=known)
    await talk(session, 3)
    events = await play(session.send("A novel. " + PARAGRAPH * 34))
    assert events[-1].stop_reason is StopReason.ERROR
    errors = "\n".join(each.text for each in kinds(events, Notice) if each.level == "error")
    assert 'the user message "A novel. The quick brown fox' in errors
    assert "/model" in errors
    assert len(kinds(events, RouteDecided)) == 1
    after = await play(session.send("Are you there?"))
    assert after[-1].stop_reason is StopReason.END_TURN
    assert texts(model.requests[-1])[-1] == "Are you there?"
    await session.close()


@pytest.mark.req("R-CTX-02")
@pytest.mark.remaining
async def test_request_that_is_always_too_long_is_retried_once_for_each_kind_of_room(bench):
    model = Limited(100 * WINDOW)
    session = await open_session(bench, model, known=100 * WINDOW)
    await talk(session, 12, prompt=PARAGRAPH * 8)

    def refuse(request):
        if is_summary_request(request):
            return says(SUMMARY)
        return fails(ContextOverflowError("too long"))

    session._env.requests.registry.only = Checked(Scripted(refuse))
    events = await play(session.send("And now?"))
    assert events[-1].stop_reason is StopReason.ERROR
    counts = len(kinds(events, ContextCompacted)), len(kinds(events, LlmCallFailed))
    assert counts == (2, 3), "old turns, then all but the last one"
    assert any("largest parts" in each.text for each in kinds(events, Notice))
    await session.close()


BAD_SUMMARIES = {
    "fails": fails(ServerError("The server is down.", retryable=False)),
    "empty": says("  "),
    "huge": says("word " * 9_000),
    "too long": says("word " * (WINDOW // 8)),
    "cut": says(SUMMARY) + stops(StopReason.MAX_TOKENS),
}


@pytest.mark.parametrize("kind", BAD_SUMMARIES)
@pytest.mark.sample(6)
async def test_summary_is_written_without_a_model_if_the_model_writes_no_good_one(bench, kind):
    (bench.workspace / "a.txt").write_text("short\n")
    model = Limited(summary=BAD_SUMMARIES[kind], reads=1)
    session = await open_session(bench, model)
    events = await talk(session, 11)
    assert {each.stop_reason for each in kinds(events, TurnCompleted)} == {StopReason.END_TURN}
    for fact in kinds(events, ContextCompacted):
        assert fact.model == ""
        assert fact.problem
        assert "- User: Prompt " in fact.summary
        assert "a.txt (read_file)" in fact.summary
        assert len(fact.summary) < 5_000
    await session.close()


@pytest.mark.remaining
async def test_next_summary_has_the_one_before(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 22)
    assert len(model.summarised) > 1
    assert SUMMARY in model.summarised[-1].messages[-1].text
    await session.close()


@pytest.mark.req("R-PER-02")
async def test_resumed_and_forked_sessions_send_the_same_summary(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 10)
    sent = texts(model.requests[-1])
    await session.close()
    resumed = await bench.session(model.adapter, resume=session.id)
    assert [each.text for each in resumed.state.conversation][: len(sent)] == sent
    await play(resumed.send("And now?"))
    assert texts(model.requests[-1])[: len(sent)] == sent
    await resumed.close()


async def test_another_model_continues_after_a_summary(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 11)
    await play(session.select_model(OTHER.id))
    events = await play(session.send("And you?"))
    assert events[-1].stop_reason is StopReason.END_TURN
    assert SUMMARY in texts(model.requests[-1])[0]
    await session.close()


@pytest.mark.req("R-CTX-02")
@pytest.mark.remaining
async def test_swap_to_a_smaller_window_after_a_summary_makes_room_again(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 11)
    models = [
        replace(each, capabilities=replace(each.capabilities, max_context_tokens=tokens))
        for each, tokens in ((MODEL, WINDOW), (OTHER, SMALLER))
    ]
    await session.close()
    bench.catalogue = Catalogue(models, "2026-01-01")
    context = {"context": ContextConfig(make_room_at=100)}
    session = await bench.session(model.adapter, resume=session.id, settings=context)
    before = session.state.branch.compacted
    await talk(session, 3)
    model.window = SMALLER
    await play(session.select_model(OTHER.id))
    events = await play(session.send("On the smaller model."))
    assert events[-1].stop_reason is StopReason.END_TURN
    after = session.state.branch.compacted
    assert after.through > before.through
    assert after.originals[: len(before.originals)] == before.originals
    assert texts(model.requests[-1])[-1] == "On the smaller model."
    assert model.requests[-1].model.id == OTHER.id
    await session.close()


@pytest.mark.remaining
async def test_conversation_that_is_too_long_when_its_turn_starts_is_summarised_first(bench):
    model = Limited()
    session = await open_session(bench, model)
    await play(session.select_model(OTHER.id))
    model.window = 100 * WINDOW
    await talk(session, 22)
    await play(session.select_model(None))
    model.window = WINDOW
    events = await play(session.send("And now with the default model."))
    assert events[-1].stop_reason is StopReason.END_TURN
    [route] = kinds(events, RouteDecided)
    assert route.chosen_model == MODEL.id
    assert len(kinds(events, ContextCompacted)) == 1
    await session.close()


@pytest.mark.req("R-CTX-05")
async def test_user_can_summarise_with_a_hint(bench):
    model = Limited()
    session = await open_session(bench, model)
    await talk(session, 4)
    [fact] = await play(session.compact("the colour of the fox"))
    assert (fact.reason, fact.turn_count, fact.message_count) == ("user", 3, 6)
    assert "the colour of the fox" in model.summarised[0].messages[-1].text
    await play(session.send("Next."))
    sent = texts(model.requests[-1])
    assert SUMMARY in sent[0]
    assert [text[:9] for text in sent[1:]] == ["Prompt 3.", PARAGRAPH[:9], "Next."]
    await session.close()


async def test_nothing_is_summarised_if_there_is_only_one_turn(bench):
    session = await open_session(bench, Limited())
    await talk(session, 1)
    with pytest.raises(UsageError, match="There is nothing to summarise"):
        await play(session.compact())
    assert not session.busy
    await session.close()


async def test_esc_stops_a_summary_and_the_turn(bench):
    session = await open_session(bench, Limited())

    def stop(request):
        if is_summary_request(request):
            session.cancel()
        return Limited().answer(request)

    session._env.requests.registry.only = Checked(Scripted(stop))
    events = await talk(session, 11)
    assert kinds(events, TurnCancelled)
    assert not kinds(events, ContextCompacted)
    await session.close()


async def test_setting_of_zero_leaves_room_to_the_provider(bench):
    model = Limited(SMALLER)
    session = await open_session(bench, model, percent=0)
    events = await talk(session, 11)
    assert {each.reason for each in kinds(events, ContextCompacted)} == {"overflow"}
    await session.close()


@pytest.mark.remaining
async def test_model_of_the_setting_writes_the_summary(bench):
    model = Limited(100 * WINDOW)
    context = ContextConfig(summary_model=OTHER.id)
    session = await open_session(bench, model, settings={"context": context})
    events = await talk(session, 11)
    assert [each.problem for each in kinds(events, ContextCompacted)] == [""]
    assert {each.model for each in kinds(events, ContextCompacted)} == {OTHER.id}
    assert {each.model.id for each in model.summarised} == {OTHER.id}
    await session.close()


HISTORIES = {
    "text": {"reads": 0, "prompt": PARAGRAPH, "turns": 1},
    "tools": {"reads": 3, "prompt": "Read.", "turns": 1},
    "one turn": {"reads": 25, "prompt": "Read.", "turns": 1},
    "one huge prompt": {"reads": 0, "prompt": PARAGRAPH * 27, "turns": 1},
}
OVERRIDES = ("pinned", "truncated", "omitted")


async def check_history(bench, history, options, override=None):
    """Play prompts of these kinds; each request fits, or the largest parts are named."""
    summary, known, percent = options
    (bench.workspace / "a.txt").write_text("some words of a file\n" * 40)
    model = Limited(SMALLER, summary=BAD_SUMMARIES.get(summary, says(SUMMARY)))
    session = await open_session(bench, model, known=known, percent=percent)
    for number, kind in enumerate(history):
        model.reads = HISTORIES[kind]["reads"]
        events = await play(session.send(f"Prompt {number}. {HISTORIES[kind]['prompt']}"))
        ended = events[-1]
        assert isinstance(ended, TurnCompleted)
        if ended.stop_reason is StopReason.ERROR:
            assert kind == "one huge prompt" or override == "pinned"
            assert any("largest parts" in each.text for each in kinds(events, Notice))
        else:
            assert any(text.startswith(f"Prompt {number}.") for text in texts(model.requests[-1]))
            assert validate_session(model.requests[-1].messages) == []
        assert len(kinds(events, LlmCallFailed)) <= 12
        chosen = session.state.messages[-1]
        if (
            override is not None
            and number == 0
            and not (chosen.is_prompt and override == "omitted")
        ):
            await play(session.context.override(chosen.id, override))
    await session.close()
    await bench.close()


OPTIONS = st.tuples(
    st.sampled_from(["good", *BAD_SUMMARIES]),
    st.sampled_from([SMALLER, WINDOW, 100 * WINDOW]),
    st.sampled_from([0, 50, 85, 100]),
)


@pytest.mark.req("R-CTX-02")
@given(st.lists(st.sampled_from(list(HISTORIES)), min_size=1, max_size=4), OPTIONS)
@settings(max_examples=4, deadline=None)
@pytest.mark.remaining
def test_next_request_fits_or_its_largest_part_is_named(tmp_path_factory, history, options):
    asyncio.run(check_history(Bench(tmp_path_factory.mktemp("bench")), history, options))


@pytest.mark.reliability
@pytest.mark.timeout(1_800)
@pytest.mark.req("R-CTX-02", "D9")
@given(
    st.lists(st.sampled_from(list(HISTORIES)), min_size=1, max_size=12),
    OPTIONS,
    st.sampled_from([None, *OVERRIDES]),
)
@settings(max_examples=200, deadline=None)
def test_histories_of_up_to_three_windows_fit_or_their_largest_part_is_named(
    tmp_path_factory, history, options, override
):
    bench = Bench(tmp_path_factory.mktemp("bench"))
    passed = False
    try:
        asyncio.run(check_history(bench, history, options, override))
        passed = True
    finally:
        count_case("histories", passed)


def test_tools_of_this_test_leave_room_for_a_conversation():
    tools = default_toolbox().offered_to(MODEL)
    assert estimate_tokens((), tools, MODEL.id) < SMALLER / 2
