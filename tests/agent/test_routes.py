"""What a request is guessed to hold, once a provider has counted one of the session."""

from tests.agent.harness import MODEL, play
from yourtool.deltas import Notice, TokenUsage
from yourtool.providers.scripted import Scripted, counts, says


def _counted(tokens: int):
    half = tokens // 2
    return counts(TokenUsage(input_tokens=half, cached_input_tokens=tokens - half, output_tokens=5))


async def test_what_a_provider_counted_is_the_measure_of_the_next_request_r_adp_19(bench):
    session = await bench.session(Scripted([says("Yes.") + _counted(90_000)]))
    await play(session.send("hello"))
    after = dict(session.context())
    assert 90_000 < sum(after.values()) < 90_200
    await session.close()


async def test_a_session_that_filled_the_window_by_count_is_refused_before_it_is_sent_r_adp_19(
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


async def test_what_one_model_counted_says_nothing_of_another(bench):
    window = MODEL.capabilities.max_context_tokens
    adapter = Scripted([says("Yes.") + _counted(window), says("Still here.")])
    session = await bench.session(adapter)
    await play(session.send("hello"))
    await play(session.select("openai:other"))
    await play(session.send("and now?"))
    assert adapter.requests[-1].model.id == "openai:other"
    await session.close()


async def test_an_estimated_usage_is_no_count_r_adp_13(bench):
    guessed = counts(TokenUsage(input_tokens=9_000, output_tokens=5, estimated=True))
    session = await bench.session(Scripted([says("Yes.") + guessed]))
    await play(session.send("hello"))
    assert session.state.counted == {}
    await session.close()


async def test_a_model_without_tools_can_be_chosen_gets_none_and_this_is_said_once_r_oll_05(bench):
    words = 'Sure: {"name": "shell", "arguments": {"command": "touch pwned"}}'
    adapter = Scripted([says(words), says("Fine."), says("With tools.")])
    session = await bench.session(adapter)
    await play(session.select("plain"))
    events = [
        *await play(session.send("run it")),
        *await play(session.send("again")),
        *await play(session.send("@test and you?")),
    ]
    notices = [event.text for event in events if isinstance(event, Notice)]
    [told] = [text for text in notices if "cannot call tools" in text]
    assert "`ollama:plain`" in told
    assert [bool(request.tools) for request in adapter.requests] == [False, False, True]
    assert not any(message.tool_uses for message in session.state.messages)
    assert list(bench.workspace.iterdir()) == []
    await session.close()
