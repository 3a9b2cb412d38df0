"""A reply that breaks off is asked for again, in every dialect and without a user, too."""

import pytest

from tests.agent.harness import Checked, User, names, play
from yourtool.agent.turn import broken_replies
from yourtool.errors import InvalidRequestError, NetworkError, ServerError
from yourtool.events.deltas import RetryScheduled
from yourtool.events.model_calls import LlmCallFailed
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, fails, says
from yourtool.settings.agent_config import Limits

LOST = NetworkError("the line broke")


@pytest.fixture(autouse=True)
def delays(monkeypatch):
    """The delays, which are not waited for."""
    found = []

    async def sleep(seconds):
        found.append(seconds)

    monkeypatch.setattr(broken_replies.asyncio, "sleep", sleep)
    return found


async def talk(bench, *script, **options):
    options = {"limits": Limits(), **options}
    adapter = Checked(Scripted([*script]))
    session = await bench.session(adapter, **options)
    events = await play(session.send("go"))
    assert validate_session(session.state.messages) == []
    await session.close()
    return session, adapter, events


@pytest.mark.parametrize("interactive", [True, False])
async def test_reply_that_breaks_off_is_asked_for_again(bench, delays, interactive):
    session, adapter, events = await talk(
        bench, says("half of") + fails(LOST), says("whole"), interactive=interactive
    )
    assert session.state.messages[-1].text == "whole"
    assert "half of" not in "".join(each.text for each in adapter.requests[-1].messages)
    [again] = [each for each in events if isinstance(each, RetryScheduled)]
    assert (again.attempt, again.max_attempts, again.message) == (2, 6, "the line broke")
    assert delays == [1]
    assert [each.text for each in session.state.messages[1:]] == ["half of", "whole"]


async def test_cut_call_is_not_run_and_asked_for_again(bench):
    cut = calls("shell", command="touch ran") + fails(LOST)
    user = User()
    session, _, events = await talk(bench, cut, says("whole"), confirm=user)
    assert user.asked == [] and not (bench.workspace / "ran").exists()
    assert names(events)[-1] == "turn.completed"
    assert session.state.messages[-1].text == "whole"


async def test_reply_is_asked_for_five_times_again_and_each_part_counts(bench, delays):
    half = says("half") + fails(ServerError("busy"))
    _, adapter, events = await talk(bench, *[half] * 6, says("never"))
    assert len(adapter.requests) == 6 and delays == [1, 2, 4, 8, 16]
    failures = [each for each in events if isinstance(each, LlmCallFailed)]
    assert len(failures) == 6 and all(each.usage is not None for each in failures)
    assert events[-1].stop_reason == "error"


async def test_limit_of_requests_ends_the_repetition(bench):
    half = says("half") + fails(LOST)
    _, adapter, _ = await talk(bench, *[half] * 6, max_requests=2, interactive=False)
    assert len(adapter.requests) == 2


@pytest.mark.parametrize(
    ("failing", "limits"),
    [(fails(InvalidRequestError("no")), Limits()), (fails(LOST), Limits(max_retries=0))],
)
async def test_reply_is_not_asked_for_again_if_that_cannot_help_or_is_switched_off(
    bench, failing, limits
):
    _, adapter, _ = await talk(bench, says("half") + failing, says("never"), limits=limits)
    assert len(adapter.requests) == 1


async def test_stop_during_the_delay_ends_the_turn(bench, monkeypatch):
    session = await bench.session(
        Checked(Scripted([says("half") + fails(LOST), says("never")])), limits=Limits()
    )

    async def stop(_):
        session.cancel()
        await broken_replies.asyncio.Event().wait()

    monkeypatch.setattr(broken_replies.asyncio, "sleep", stop)
    events = await play(session.send("go"))
    assert names(events)[-1] == "turn.cancelled"
    await session.close()
