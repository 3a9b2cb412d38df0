import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.histories import build_full_history, reply_metadata
from tests.providers.recorded_exchanges import READ, model, problems, request
from tests.strategies import Writer, any_messages, examples, histories
from yourtool.messages.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Role
from yourtool.messages.metadata import (
    MessageStatus,
    RequestOptions,
    ResultMetadata,
    ToolInputError,
)
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.requests.request_view import build_request_view

SONNET = model("anthropic", "claude-sonnet-4-6")
GPT = model("openai", "gpt-4o")
QUIET = settings(
    suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=examples(15)
)


def ask(writer, text="?"):
    return writer.message(Role.USER, [TextBlock(text)])


def reply_with(writer, *blocks, **metadata):
    return writer.message(
        Role.ASSISTANT,
        blocks,
        msgspec.structs.replace(reply_metadata(SONNET.id), **metadata),
    )


def answer(writer, use, text="ok"):
    return writer.message(
        Role.TOOL,
        [ToolResultBlock(use, (TextBlock(text),))],
        ResultMetadata(parent_tool_use_id=use),
    )


@pytest.mark.parametrize("target", [SONNET, GPT])
def test_valid_history_of_the_model_is_unchanged(target):
    history = build_full_history(target)
    assert build_request_view(history, target) == history
    assert all(a is b for a, b in zip(build_request_view(history, target), history, strict=True))


@QUIET
@given(history=st.lists(any_messages, max_size=8))
def test_view_of_any_messages_is_valid_and_idempotent(history):
    for target in (SONNET, GPT):
        view = build_request_view(history, target)
        assert build_request_view(view, target) == view
        assert validate_session(view) == []
        if any(message.role is Role.USER for message in view):
            for dialect, provider, api in (
                (MessagesDialect(), "anthropic", "messages"),
                (ChatDialect(), "openai", "chat"),
            ):
                prompt = request(target, view, (READ,))
                assert problems(provider, api, dialect.to_wire(prompt).body) == []


@QUIET
@given(history=histories(), data=st.data())
def test_history_with_lost_or_shuffled_messages_is_repaired(history, data):
    remaining = data.draw(st.permutations(history))[: data.draw(st.integers(0, len(history)))]
    view = build_request_view(remaining, SONNET)
    assert validate_session(view) == []
    pending = []
    for message in view:
        if message.role is Role.TOOL:
            assert message.result.tool_use_id == pending.pop(0)
        else:
            assert pending == []
            pending = [call.id for call in message.tool_uses]
    assert pending == []


def test_results_follow_their_calls_in_order():
    writer = Writer()
    one, two = writer.tool_use_id(), writer.tool_use_id()
    calling = reply_with(writer, ToolUseBlock(one, "f", {}), ToolUseBlock(two, "f", {}))
    second, first, more = answer(writer, two), answer(writer, one), ask(writer, "and?")
    assert build_request_view([calling, more, second, first], SONNET)[1:] == (
        calling,
        first,
        second,
        more,
    )


@pytest.mark.req("R-ADP-05")
def test_results_without_a_call_and_second_results_are_dropped_with_a_warning(caplog):
    writer = Writer()
    use = writer.tool_use_id()
    calling, first = reply_with(writer, ToolUseBlock(use, "f", {})), answer(writer, use)
    second, stray = answer(writer, use), answer(writer, "tu_x")
    assert build_request_view([calling, first, second, stray], SONNET)[1:] == (calling, first)
    assert [(each.message_id, each.reason) for each in caplog.records] == [
        (second.id, "its call already has a result"),
        (stray.id, "its tool call is missing"),
    ]


@pytest.mark.parametrize(
    ("role", "block"),
    [
        (Role.USER, ToolUseBlock("tu_x", "f", {})),
        (Role.ASSISTANT, ToolResultBlock("tu_x", (TextBlock("x"),))),
        (Role.SYSTEM, ThinkingBlock("x")),
        (Role.TOOL, ThinkingBlock("x")),
    ],
)
@pytest.mark.req("R-ADP-05")
def test_block_that_is_invalid_for_its_role_is_dropped_with_a_warning(role, block, caplog):
    writer = Writer()
    history = [
        ask(writer),
        writer.message(role, [TextBlock("a"), block], reply_metadata(SONNET.id)),
    ]
    view = build_request_view(history, SONNET)
    assert all(each != block for message in view for each in message.content)
    reasons = [record.reason for record in caplog.records if record.message_id == history[1].id]
    assert reasons[-1] == "it does not belong in a message of this role"
    assert len(reasons) == (2 if role is Role.TOOL else 1)  # a tool has no text either


def test_results_of_one_message_are_split():
    writer = Writer()
    one, two = writer.tool_use_id(), writer.tool_use_id()
    both = tuple(ToolResultBlock(use, (TextBlock("ok"),)) for use in (one, two))
    calls = reply_with(writer, ToolUseBlock(two, "f", {}), ToolUseBlock(one, "f", {}))
    history = [ask(writer), calls, writer.message(Role.TOOL, both)]
    view = build_request_view(history, SONNET)
    assert [message.content for message in view[2:]] == [both[1:], both[:1]]


@pytest.mark.req("D4")
def test_blank_text_stays_if_opaque_blocks_refer_to_positions():
    writer = Writer()
    raw = {"scope": {"provider": "anthropic"}, "notes": {"1": [{"signature": "s"}]}}
    texts = (TextBlock(""), TextBlock("b"))
    history = [ask(writer), reply_with(writer, *texts, provider_raw=raw), ask(writer)]
    assert build_request_view(history, SONNET)[1].content == texts
    assert build_request_view(history, GPT)[1].content == texts[1:]


@pytest.mark.parametrize("status", [MessageStatus.ERROR, MessageStatus.CANCELLED])
@pytest.mark.req("D4")
def test_opaque_blocks_of_an_incomplete_reply_are_dropped(status):
    """A provider refuses a part of its reasoning."""
    writer = Writer()
    raw = {"scope": {"provider": "anthropic"}, "notes": {"0": [{"signature": "s"}]}}
    cut = reply_with(writer, TextBlock("b"), provider_raw=raw, status=status)
    view = build_request_view([ask(writer), cut, ask(writer)], SONNET)
    assert (view[1].content, view[1].metadata.provider_raw) == (cut.content, None)


@pytest.mark.req("D4")
def test_opaque_blocks_are_dropped_if_positions_change():
    """A signature would go to another block than it was given for."""
    writer = Writer()
    use = writer.tool_use_id()
    raw = {"scope": {"provider": "anthropic"}, "notes": {"1": [{"signature": "s"}]}}
    twice = reply_with(writer, ToolUseBlock(use, "f", {}), TextBlock("b"), provider_raw=raw)
    once = reply_with(writer, ToolUseBlock(use, "f", {}), provider_raw=raw)
    view = build_request_view([ask(writer), once, answer(writer, use), twice], SONNET)
    assert view[1].metadata.provider_raw == raw
    assert view[3].content == (TextBlock("b"),)
    assert view[3].metadata.provider_raw is None


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({}, "This call has no result: it was interrupted before it finished."),
        (
            {"status": MessageStatus.CANCELLED},
            "This call was not run: the user stopped the turn.",
        ),
        ({"status": MessageStatus.ERROR}, "This call was not run: the reply was interrupted."),
    ],
)
def test_call_without_result_gets_an_error_with_the_reason(metadata, why):
    writer = Writer()
    use = writer.tool_use_id()
    calling = reply_with(writer, ToolUseBlock(use, "f", {}), **metadata)
    _, _, closing, _ = build_request_view([calling, ask(writer)], SONNET)
    assert closing.result == ToolResultBlock(use, (TextBlock(why),), is_error=True)
    assert closing.metadata.parent_tool_use_id == use
    assert build_request_view([calling], SONNET) == build_request_view([calling], SONNET)


@pytest.mark.req("R-ADP-06")
def test_call_with_cut_arguments_gets_an_error_result():
    writer = Writer()
    use = writer.tool_use_id()
    errors = {use: ToolInputError(raw="{", error="the arguments are not JSON", truncated=True)}
    calling = reply_with(writer, ToolUseBlock(use, "f", {}), tool_input_errors=errors)
    _, _, closing = build_request_view([calling], SONNET)
    assert closing.result.content[0].text == ("This call was not run: the arguments are not JSON.")


@pytest.mark.parametrize(
    "status", [MessageStatus.CANCELLED, MessageStatus.ERROR, MessageStatus.PARTIAL]
)
@pytest.mark.req("R-LOOP-05")
def test_incomplete_reply_is_sent_in_valid_form(status, caplog):
    writer = Writer()
    use = writer.tool_use_id()
    history = [
        ask(writer),
        reply_with(
            writer,
            ThinkingBlock("half a th"),
            TextBlock("Half a sen"),
            ToolUseBlock(use, "f", {}),
            status=status,
            provider_raw={"scope": {}},
        ),
        ask(writer, "go on"),
    ]
    view = build_request_view(history, SONNET)
    assert [type(block).__name__ for block in view[1].content] == ["TextBlock", "ToolUseBlock"]
    assert view[1].metadata.provider_raw is None
    assert [message.role for message in view] == ["user", "assistant", "tool", "user"]
    assert len(caplog.records) == 1
    for dialect, provider, api in (
        (MessagesDialect(), "anthropic", "messages"),
        (ChatDialect(), "openai", "chat"),
    ):
        assert problems(provider, api, dialect.to_wire(request(SONNET, view)).body) == []


def test_reply_without_content_is_dropped():
    writer = Writer()
    history = [
        ask(writer),
        reply_with(writer, status=MessageStatus.CANCELLED),
        ask(writer, "again"),
    ]
    assert build_request_view(history, SONNET) == (history[0], history[2])


def test_blank_text_is_dropped_and_empty_prompt_gets_a_placeholder():
    writer = Writer()
    history = [ask(writer, " \n"), reply_with(writer, TextBlock(" "), TextBlock("a"))]
    prompt, texts = build_request_view(history, SONNET)
    assert prompt.text == "(an empty message)"
    assert texts.content == (TextBlock("a"),)


@pytest.mark.parametrize("target", [GPT, model("anthropic", "claude-haiku-4-5")])
@pytest.mark.req("R-ADP-05")
def test_reasoning_of_another_model_is_dropped_with_one_warning_each(target, caplog):
    writer = Writer("sess_another")
    history = [
        ask(writer),
        reply_with(writer, ThinkingBlock("hm", "sig"), RedactedThinkingBlock("x"), TextBlock("a")),
    ]
    view = build_request_view(history, target)
    assert view[1].content == (TextBlock("a"),)
    assert [record.block_type for record in caplog.records] == ["thinking", "redacted_thinking"]
    for record in caplog.records:
        assert record.levelname == "WARNING"
        assert record.session_id == "sess_another"
        assert record.message_id == history[1].id
        assert record.adapter == target.provider
        assert record.reason == "only the model that produced the reasoning can read it"


@pytest.mark.req("D4")
def test_reasoning_from_another_wire_format_is_dropped_for_the_same_model(caplog):
    """A gateway whose `api` is changed in the configuration is another reader."""
    writer = Writer()
    prompt = RequestOptions(api="responses")
    reply = reply_with(writer, ThinkingBlock("hm", "sealed"), TextBlock("a"), request=prompt)
    history = (ask(writer), reply)
    assert (
        build_request_view(history, SONNET, api="responses")
        == build_request_view(history, SONNET)
        == history
    )
    assert caplog.records == []
    view = build_request_view(history, SONNET, api="messages")
    assert view[1].content == (TextBlock("a"),)
    assert [record.block_type for record in caplog.records] == ["thinking"]
    aloud = build_request_view(history, SONNET, "text", "messages")
    assert aloud[1].content == (TextBlock("hm"), TextBlock("a"))


@pytest.mark.req("R-CAN-13")
def test_opaque_blocks_of_another_model_never_reach_an_adapter():
    writer = Writer()
    raw = {"scope": {"provider": "openai", "model": GPT.id}, "blocks": [{"at": 0, "block": {}}]}
    history = [ask(writer), reply_with(writer, TextBlock("a"), provider_raw=raw)]
    assert build_request_view(history, GPT)[1].metadata.provider_raw is None
    assert build_request_view(history, SONNET)[1].metadata.provider_raw == raw


def test_stored_history_is_unchanged():
    history = build_full_history(SONNET)
    before = msgspec.json.encode(history)
    build_request_view(history, GPT)
    assert msgspec.json.encode(history) == before


@pytest.mark.parametrize(
    "status", [MessageStatus.CANCELLED, MessageStatus.ERROR, MessageStatus.PARTIAL]
)
@pytest.mark.req("R-LOOP-05")
def test_interrupted_reply_is_dropped_unless_something_follows(status, caplog):
    writer = Writer()
    prompt, use = ask(writer), writer.tool_use_id()
    broken = reply_with(writer, TextBlock("I was ab"), ToolUseBlock(use, "f", {}), status=status)
    assert build_request_view([prompt, broken], SONNET) == (prompt,)
    assert [record.block_type for record in caplog.records] == ["text", "tool_use"]
    assert build_request_view(
        [prompt, broken, reply_with(writer, TextBlock("x"), status=status)], SONNET
    ) == (prompt,)
    view = build_request_view([prompt, broken, ask(writer)], SONNET)
    assert [message.role for message in view] == ["user", "assistant", "tool", "user"]


def test_interrupted_reply_whose_call_ran_is_sent():
    writer = Writer()
    use = writer.tool_use_id()
    broken = reply_with(writer, ToolUseBlock(use, "f", {}), status=MessageStatus.ERROR)
    history = (ask(writer), broken, answer(writer, use))
    assert build_request_view(history, SONNET) == history


@pytest.mark.req("R-SEED-04")
def test_reasoning_of_another_model_becomes_text_if_configured(caplog):
    writer = Writer()
    thought = reply_with(
        writer, ThinkingBlock("hm", "sig"), RedactedThinkingBlock("x"), TextBlock("a")
    )
    silent = reply_with(writer, ThinkingBlock("", "sig"), TextBlock("b"))
    history = [ask(writer), thought, silent]
    view = build_request_view(history, GPT, "text")
    assert view[1].content == (TextBlock("hm"), TextBlock("a"))
    assert view[2].content == (TextBlock("b"),)
    kinds = ["redacted_thinking", "thinking"]
    assert [record.block_type for record in caplog.records] == kinds
    assert build_request_view(history, SONNET, "text") == tuple(history)
    assert build_request_view(view, GPT, "text") == view
