"""What a request is guessed to hold, once a provider has counted one of the session."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, play
from tests.providers.histories import image
from yourtool.events.deltas import Notice, TokenUsage
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Role
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.scripted import Scripted, counts, says

IMAGE = image()


def _counted(tokens: int):
    half = tokens // 2
    return counts(TokenUsage(input_tokens=half, cached_input_tokens=tokens - half, output_tokens=5))


def _text_of(request):
    return [message.text for message in request.messages if message.role is not Role.SYSTEM]


@pytest.mark.req("R-ADP-19")
async def test_reported_count_is_the_basis_of_the_next_estimate(bench):
    session = await bench.session(Scripted([says("Yes.") + _counted(90_000)]))
    await play(session.send("hello"))
    assert 90_000 < (await session.context.compose()).size < 90_200
    await session.close()


@pytest.mark.req("R-ADP-19")
async def test_session_over_the_context_window_by_count_is_rejected_before_sending(
    bench,
):
    window = MODEL.capabilities.max_context_tokens
    adapter = Scripted([says("Yes.") + _counted(window), says("never")])
    session = await bench.session(adapter)
    await play(session.send("hello"))
    await play(session.send("and now?"))
    route = session.state.last_route
    assert route is not None
    assert route.chosen_model is None
    assert [each.validation_failure for each in route.chain if each.validation_failure] == [
        "exceeds_context_window"
    ]
    assert len(adapter.requests) == 1
    await session.close()


@pytest.mark.req("R-CTX-01")
async def test_each_candidate_has_an_estimate_by_its_own_tokenizer(bench):
    text = "Привет, как дела? " * 2_000
    narrow = replace(MODEL.capabilities, max_context_tokens=16_000)
    claude = replace(MODEL, id="anthropic:narrow", aliases=(), capabilities=narrow)
    gpt = replace(OTHER, id="openai:narrow", aliases=(), capabilities=narrow)
    bench.catalogue = Catalogue([MODEL, OTHER, claude, gpt], "2026-01-01")
    uncounted = counts(TokenUsage(input_tokens=9, output_tokens=9, estimated=True))
    session = await bench.session(Scripted([says("Хорошо.") + uncounted]), tools=())
    await play(session.send(text))
    messages = session.state.messages
    for model in (MODEL, OTHER):
        await play(session.select_model(model.id))
        expected = estimate_tokens(messages, (), model.id)
        assert (await session.context.compose()).size == pytest.approx(expected, abs=20)
    refused = (await session.models.examine(claude.id)).refusal
    assert refused is not None and refused.code == "exceeds_context_window"
    assert (await session.models.examine(gpt.id)).refusal is None
    await session.close()


async def test_count_of_one_model_does_not_apply_to_another(bench):
    window = MODEL.capabilities.max_context_tokens
    adapter = Scripted([says("Yes.") + _counted(window), says("Still here.")])
    session = await bench.session(adapter)
    await play(session.send("hello"))
    await play(session.select_model("openai:other"))
    await play(session.send("and now?"))
    assert adapter.requests[-1].model.id == "openai:other"
    await session.close()


@pytest.mark.req("R-ADP-13")
async def test_estimated_usage_is_not_a_count(bench):
    guessed = counts(TokenUsage(input_tokens=9_000, output_tokens=5, estimated=True))
    session = await bench.session(Scripted([says("Yes.") + guessed]))
    await play(session.send("hello"))
    assert session.state.branch.counted_replies == {}
    await session.close()


@pytest.mark.req("R-OLL-05")
async def test_model_without_tools_can_be_chosen_with_one_notice(bench):
    words = 'Sure: {"name": "shell", "arguments": {"command": "touch pwned"}}'
    adapter = Scripted([says(words), says("Fine."), says("With tools.")])
    session = await bench.session(adapter)
    await play(session.select_model("plain"))
    events = [
        *await play(session.send("run it")),
        *await play(session.send("again")),
        *await play(session.send("@test and you?")),
    ]
    notices = [event.text for event in events if isinstance(event, Notice)]
    [warning] = [text for text in notices if "does not support tools" in text]
    assert "`ollama:plain`" in warning
    assert [bool(request.tools) for request in adapter.requests] == [False, False, True]
    assert not any(message.tool_uses for message in session.state.messages)
    assert list(bench.workspace.iterdir()) == []
    await session.close()


@pytest.mark.req("R-ADP-19")
async def test_cost_limit_uses_earlier_counts(bench):
    adapter = Scripted([says("Yes.") + _counted(90_000), says("never")])
    session = await bench.session(adapter, max_cost=Decimal("0.5"))  # a request costs 0.27
    await play(session.send("hello"))
    await play(session.send("and now?"))
    assert len(adapter.requests) == 1
    assert "exceeds the limit of $0.5000" in session.limit_reached
    await session.close()


@pytest.mark.req("R-RTE-04")
async def test_unsupported_image_does_not_block_later_turns(bench):
    adapter = Scripted([says("Words I can take.")])
    session = await bench.session(adapter)
    await play(session.select_model("blind"))
    assert session.find_rejection(IMAGE) == "`openai:blind` takes no images"
    assert session.find_rejection(TextBlock("hello")) is None
    events = await play(session.send((TextBlock("look"), IMAGE)))
    all_notices = [event.text for event in events if isinstance(event, Notice)]
    assert "  openai:blind: `openai:blind` takes no images" in all_notices
    assert all_notices[-1] == "The next prompt will not include this message."
    await play(session.send("then without it"))
    [sent] = adapter.requests
    assert _text_of(sent) == ["then without it"]
    texts = [message.text for message in session.state.messages]
    assert texts == ["look", "then without it", "Words I can take."]
    await session.close()
    again = await bench.session(adapter, resume=session.id)
    assert again.state.conversation == session.state.conversation
    await again.close()


async def test_unsupported_image_is_sent_to_another_model_by_retry(bench):
    adapter = Scripted([says("A cat.")])
    session = await bench.session(adapter)
    await play(session.select_model("blind"))
    await play(session.send((TextBlock("look"), IMAGE)))
    await play(session.select_model("test"))
    await play(session.retry())
    [sent] = adapter.requests
    assert _text_of(sent) == ["look"]
    assert session.state.conversation == session.state.messages
    await session.close()


async def test_prompt_without_a_provider_is_part_of_later_requests(bench):
    adapter = Scripted([says("Yes.")])
    session = await bench.session(adapter)
    await play(session.send("@nokey:model hello"))
    assert adapter.requests == []
    await play(session.send("now?"))
    assert _text_of(adapter.requests[0]) == ["hello", "now?"]
    await session.close()
