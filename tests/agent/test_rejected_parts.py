"""Requests that a provider rejects because of opaque data, or with a long wait before a retry."""

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, Checked, User, play
from yourtool.effects import Decision, Verdict
from yourtool.errors import AuthError, ErrorClass, InvalidRequestError, RateLimitError
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed, LlmCallStarted
from yourtool.events.turns import TurnCompleted
from yourtool.messages.blocks import RedactedThinkingBlock, ThinkingBlock
from yourtool.messages.message import ReplyMessage
from yourtool.messages.metadata import StopReason
from yourtool.providers.scripted import Scripted, fails, says, thinks


def rejected(status=400):
    return InvalidRequestError("invalid signature in thinking block", status=status)


def is_opaque(request):
    return any(
        (isinstance(message, ReplyMessage) and message.metadata.provider_raw is not None)
        or any(isinstance(b, ThinkingBlock | RedactedThinkingBlock) for b in message.content)
        for message in request.messages
    )


class Picky:
    """Answers with signed reasoning, and rejects it when `is_picky`."""

    def __init__(self):
        self.is_picky = False
        self.adapter = Checked(Scripted(self._answer))

    def _answer(self, request):
        if self.is_picky and is_opaque(request):
            return fails(rejected())
        return thinks("hm", "sealed") + says("fine")


def notices(events):
    return [event.text for event in events if isinstance(event, Notice)]


@pytest.mark.parametrize("status", [400, 422])
async def test_rejected_request_is_retried_once_without_opaque_parts(bench, status):
    script = [thinks("hm", "sealed") + says("a"), fails(rejected(status)), says("b")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    await play(session.send("one"))
    events = await play(session.send("two"))
    assert [is_opaque(request) for request in adapter.requests] == [False, True, False]
    assert events[-1].stop_reason is StopReason.END_TURN
    assert len([text for text in notices(events) if "retried once" in text]) == 1
    assert isinstance(session.state.messages[1].content[0], ThinkingBlock)
    await session.close()


async def test_rejected_parts_stay_dropped_for_that_model_even_after_a_resume(bench):
    model = Picky()
    session = await bench.session(model.adapter)
    await play(session.send("one"))
    model.is_picky = True
    first = await play(session.send("two"))
    model.is_picky = False
    before = len(model.adapter.requests)
    second = await play(session.send("three"))
    assert len(model.adapter.requests) == before + 1
    assert [text for text in notices(first + second) if "retried" in text] == notices(first)
    await session.close()
    resumed = await bench.session(model.adapter, resume=session.id)
    await play(resumed.send("four"))
    sent = {message.text: message for message in model.adapter.requests[-1].messages}
    replies = [each for each in model.adapter.requests[-1].messages if each.role == "assistant"]
    assert sent["four"]
    assert [len(reply.content) for reply in replies] == [1, 2, 2]
    await resumed.close()


async def test_request_that_also_fails_without_opaque_parts_is_not_retried_again(bench):
    script = [thinks("hm", "s") + says("a"), fails(rejected()), fails(rejected()), says("never")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    await play(session.send("one"))
    events = await play(session.send("two"))
    assert len(adapter.requests) == 3
    [ended] = [event for event in events if isinstance(event, TurnCompleted)]
    assert ended.stop_reason is StopReason.ERROR
    assert session.state.branch.opaque_omitted_through == {}
    await session.close()


async def test_request_without_opaque_parts_is_not_retried(bench):
    adapter = Checked(Scripted([says("a"), fails(rejected()), says("never")]))
    session = await bench.session(adapter)
    await play(session.send("one"))
    await play(session.send("two"))
    assert len(adapter.requests) == 2
    await session.close()


async def test_other_errors_and_other_models_do_not_drop_the_parts(bench):
    script = [thinks("hm", "s") + says("a"), fails(AuthError("no", status=401)), says("b")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    await play(session.send("one"))
    events = await play(session.send("two"))
    assert [each.error_class for each in events if isinstance(each, LlmCallFailed)] == [
        ErrorClass.AUTH
    ]
    assert all(e.rejected_through is None for e in events if isinstance(e, LlmCallStarted))
    await play(session.send(f"@{OTHER.aliases[0]} three"))
    assert session.state.branch.opaque_omitted_through == {}
    await session.close()


async def test_turn_with_an_unsendable_critical_block_fails_and_ends(bench):
    secret = thinks("hm", "sealed") + says("a")
    adapter = Checked(Scripted([secret, says("b"), says("c")]))
    session = await bench.session(adapter)
    await play(session.send("one"))
    reply = session.state.messages[1]
    metadata = replace(reply.metadata, critical=True)
    session.state.branch._sent[1] = replace(reply, metadata=metadata)
    events = await play(session.send(f"@{OTHER.aliases[0]} two"))
    [failure] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failure.error_class == ErrorClass.INVALID_REQUEST
    assert reply.id in failure.error_message_redacted
    assert isinstance(events[-1], TurnCompleted)
    assert len(adapter.requests) == 1
    assert not session.busy
    assert session.state.open_turn is None
    await session.close()


async def test_dropped_block_is_logged_once_per_session(bench, caplog):
    adapter = Checked(Scripted([thinks("hm", "sealed") + says("a"), says("b"), says("c")]))
    session = await bench.session(adapter)
    await play(session.send("one"))
    await play(session.send(f"@{OTHER.aliases[0]} two"))
    await play(session.send(f"@{OTHER.aliases[0]} three"))
    lines = [each for each in caplog.records if "left a block out" in each.getMessage()]
    assert [each.block_type for each in lines] == ["thinking"]
    await session.close()


def long_wait():
    error = RateLimitError("`anthropic` asks to wait 10 min (429)", status=429)
    error.retry_after = 600
    return error


async def test_wait_of_more_than_a_minute_needs_approval(bench):
    user = User(Decision(verdict=Verdict.DENY))
    adapter = Checked(Scripted([says("hi")]))
    session = await bench.session(adapter, confirm=user)
    await play(session.send("one"))
    [request] = adapter.requests
    assert await request.confirm_wait(long_wait()) is False
    [question] = user.asked
    assert question.kind == "limit"
    assert "asks to wait 10 min" in question.title
    assert MODEL.id == request.model.id
    await session.close()


async def test_long_wait_is_not_offered_without_a_user(bench):
    adapter = Checked(Scripted([says("hi")]))
    session = await bench.session(adapter, interactive=False)
    await play(session.send("one"))
    assert adapter.requests[0].confirm_wait is None
    await session.close()
