"""Messages that the user pinned, truncated or omitted, in what requests have of a session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.history.test_state import Talk, texts
from tests.strategies import few
from yourtool.agent.history.compaction import Level, find_span
from yourtool.agent.history.overrides import OMITTED_OUTPUT
from yourtool.events.context import ContextCompacted, ContextElided, ContextOverridden
from yourtool.messages.blocks import TextBlock
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.requests.request_view import build_request_view

pytestmark = pytest.mark.req("D9", "R-EASE-04")
LONG = "word " * 400
MODEL = Model(id="a:b", wire_name="b", capabilities=AdapterCapabilities(supports_tools=True))


def choose(talk, message, override, text=""):
    talk.fact(ContextOverridden, target=message.id, override=override, text=text)


def compact(talk, through, kept=()):
    fields = {"turn_count": 1, "message_count": 1, "tokens_before": 9, "tokens_after": 3}
    talk.fact(
        ContextCompacted, summary="in short", through=through, kept=kept, reason="user", **fields
    )


def find(talk, role, at=0):
    return [each for each in talk.state.messages if each.role is role][at]


def view(talk):
    return build_request_view(talk.state.conversation, MODEL)


def get_results(talk):
    return [each.result for each in talk.state.conversation if each.result is not None]


def test_omitted_reply_takes_the_results_of_its_calls_with_it():
    talk = Talk()
    talk.turn("one")
    talk.turn("two")
    choose(talk, find(talk, Role.ASSISTANT), "omitted")
    assert texts(talk.state)[:2] == ["one", "re one"]
    assert len(get_results(talk)) == 2
    assert validate_session(view(talk)) == []
    assert len(talk.state.messages) == 10


def test_omitted_result_is_a_placeholder():
    talk = Talk()
    talk.turn("one")
    choose(talk, find(talk, Role.TOOL), "omitted")
    first, second = get_results(talk)
    assert first.content == (TextBlock(OMITTED_OUTPUT),)
    assert second.content != first.content
    assert validate_session(view(talk)) == []


def test_last_prompt_is_never_omitted():
    talk = Talk()
    talk.turn("one")
    choose(talk, find(talk, Role.USER), "omitted")
    assert "one" in texts(talk.state)
    talk.turn("two")
    assert "one" not in texts(talk.state)
    assert "two" in texts(talk.state)


def test_truncated_message_has_its_start_its_end_and_its_id():
    talk = Talk()
    talk.turn(LONG)
    prompt = find(talk, Role.USER)
    choose(talk, prompt, "truncated")
    short = talk.state.conversation[0]
    assert len(short.text) < 1_100
    assert short.text.startswith("word word")
    assert short.text.endswith("word word ")
    assert prompt.id in short.text
    assert talk.state.conversation[0] is short
    choose(talk, prompt, "truncated", "A long text.")
    assert talk.state.conversation[0].text == "A long text."
    choose(talk, prompt, "none")
    assert talk.state.conversation[0] is prompt


def test_truncated_reply_keeps_its_calls():
    talk = Talk()
    talk.turn("one")
    reply = find(talk, Role.ASSISTANT)
    choose(talk, reply, "truncated", "I looked.")
    [short] = [each for each in talk.state.conversation if each.id == reply.id]
    assert short.tool_uses == reply.tool_uses
    assert short.text == "I looked."
    assert validate_session(view(talk)) == []


def test_output_of_a_pinned_result_is_not_elided():
    talk = Talk()
    talk.turn(LONG)
    pinned, other = (find(talk, Role.TOOL, at) for at in (0, 1))
    choose(talk, pinned, "pinned")
    talk.fact(ContextElided, model=MODEL.id, through=other.id)
    sent = {each.id: each for each in talk.state.conversation_for(MODEL.id)}
    assert sent[pinned.id] is pinned
    assert sent[other.id] is not other


def test_message_that_is_pinned_after_a_summary_is_sent_again_with_its_step():
    talk = Talk()
    talk.turn("one")
    talk.turn("two")
    result = find(talk, Role.TOOL)
    compact(talk, find(talk, Role.ASSISTANT, 1).id)
    assert len(talk.state.conversation) == 6
    choose(talk, result, "pinned")
    assert result in talk.state.conversation
    assert len(talk.state.conversation) == 9
    assert validate_session(view(talk)) == []
    choose(talk, result, "none")
    assert len(talk.state.conversation) == 6


def test_choices_apply_to_all_branches():
    talk = Talk()
    talk.turn("one")
    talk.turn("two")
    choose(talk, find(talk, Role.USER), "omitted")
    talk.select(find(talk, Role.ASSISTANT, 1).id)
    talk.turn("three")
    assert "one" not in texts(talk.state)
    assert "three" in texts(talk.state)


def test_summary_keeps_pinned_steps_and_ends_after_the_one_before():
    talk = Talk()
    for text in ("one", "two", "three"):
        talk.turn(text)
    pinned = find(talk, Role.TOOL)
    choose(talk, pinned, "pinned")
    messages = talk.state.conversation
    span = find_span(messages, [10.0] * 15, 0, [Level.ALL_TURNS], frozenset({pinned.id}))
    assert pinned.id in span.kept
    assert len(span.kept) == 3
    compact(talk, span.through, span.kept)
    messages = talk.state.conversation
    assert pinned in messages
    again = find_span(messages, [10.0] * len(messages), 0, [Level.ALL_TURNS], frozenset(span.kept))
    assert again is None


@given(
    choices=st.lists(
        st.tuples(st.integers(0, 14), st.sampled_from(["pinned", "truncated", "omitted", "none"])),
        max_size=12,
    ),
    summaries=st.lists(st.sampled_from(list(Level)), max_size=3),
)
@few
def test_requests_with_any_choices_and_summaries_are_valid(choices, summaries):
    talk = Talk()
    for text in ("one", LONG, "three"):
        talk.turn(text)
    every = list(talk.state.messages)
    for at, override in choices:
        choose(talk, every[at], override)
    for level in summaries:
        messages, branch = talk.state.conversation, talk.state.branch
        sizes = [float(len(each.text)) for each in messages]
        span = find_span(messages, sizes, 0, [level], branch.overrides.pinned)
        if span is not None:
            before = "" if branch.compacted is None else branch.compacted.through
            compact(talk, max(span.through, before), span.kept)
            assert len(talk.state.conversation) <= len(messages)
    assert validate_session(view(talk)) == []
    sent = {each.id for each in talk.state.conversation}
    assert talk.state.prompts[-1].id in sent
    kept = dict(choices)
    omitted = {every[at].id for at, override in kept.items() if override == "omitted"}
    for at, override in kept.items():
        if override == "pinned" and not omitted:
            assert every[at].id in sent
