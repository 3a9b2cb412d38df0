from decimal import Decimal

import pytest

from tests.store.turns import FactBuilder, changed, tool_call
from tests.tui.fakes import full_reply
from yourtool.errors import (
    AuthError,
    ConfigError,
    NetworkError,
    RateLimitError,
    SessionBusyError,
    SessionNotFoundError,
    StoreError,
    UnknownModelError,
    UsageError,
)
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock, ToolResultBlock
from yourtool.messages.usage import UsageExtra
from yourtool.run_result import ExitCode, NoModelError, Outcome, exit_code_for, result_without_turn


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), ExitCode.USAGE),
        (ConfigError("x"), ExitCode.USAGE),
        (UnknownModelError("x"), ExitCode.USAGE),
        (SessionNotFoundError("x"), ExitCode.USAGE),
        (NoModelError("x"), ExitCode.NO_MODEL),
        (RateLimitError("x"), ExitCode.RETRYABLE),
        (NetworkError("x"), ExitCode.RETRYABLE),
        (AuthError("x"), ExitCode.FAILED),
        (SessionBusyError("x"), ExitCode.FAILED),
        (StoreError("x"), ExitCode.FAILED),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.req("R-CLI-01")
def test_every_error_has_its_exit_code(error, code):
    assert exit_code_for(error) is code
    result = result_without_turn(error)
    assert result.is_error
    assert result.exit_code is code
    assert result.error is not None
    assert result.error.retryable == (code is ExitCode.RETRYABLE)


def test_a_turn_that_never_ended_is_a_failure():
    result = Outcome().result("sess_1")
    assert result.exit_code is ExitCode.FAILED
    assert result.error is not None


@pytest.mark.parametrize(
    ("extras", "unpriced", "reported"),
    [
        ((None,), 0, None),
        ((UsageExtra(unpriced=True), None), 1, None),
        (
            (
                UsageExtra(reported_cost_usd=Decimal("0.1")),
                UsageExtra(reported_cost_usd=Decimal("0.2")),
            ),
            0,
            Decimal("0.3"),
        ),
    ],
)
@pytest.mark.req("R-CST-01")
def test_a_request_without_a_price_is_reported_as_unpriced(extras, unpriced, reported):
    outcome = Outcome()
    for extra in extras:
        outcome.apply(full_reply("yes", cost="0", extra=extra))
    result = outcome.result("sess_1")
    assert (result.unpriced_requests, result.reported_cost_usd) == (unpriced, reported)


@pytest.mark.req("R-SEED-04")
def test_the_reply_has_text_media_the_prompt_and_whether_it_failed():
    builder, call = FactBuilder(), tool_call()
    start, reply, done = builder.turn_start("look"), builder.reply(call), builder.tool_result(call)
    image = ImageBlock(ImageSource("file_ref", "sha256:00"), "image/png")
    inline = ImageBlock(ImageSource("base64", "AA=="), "image/png")
    content = (ToolResultBlock(call.id, (TextBlock("seen"), image, image, inline)),)
    done = changed(done, message=changed(done.message, content=content))
    last = builder.reply(TextBlock("A fox."))
    outcome = Outcome()
    for fact in (start, reply, done, last, builder.turn_end()):
        outcome.apply(fact)
    found = outcome.result("sess_1").reply
    assert (found.message_id, found.text) == (last.message.id, "A fox.")
    assert [(each.type, each.source) for each in found.media] == [("image", "sha256:00")]
    assert (found.reply_to_id, found.is_error) == (start.message.id, False)
    assert result_without_turn(UsageError("x")).reply.is_error
