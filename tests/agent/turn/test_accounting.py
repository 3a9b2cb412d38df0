"""Every usage that is known is counted once: turn, run, session, day, reports and JSON."""

import asyncio
import random
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.agent.harness import PRICE, Bench, Checked, User, play
from tests.provider_server import ProviderServer
from tests.provider_server import Reply as Answer
from yourtool.agent.commands.reports import cost_report
from yourtool.agent.money.cost_report import read_costs
from yourtool.agent.runtime import Runtime
from yourtool.errors import InvalidRequestError, NetworkError, ServerError
from yourtool.events.deltas import Notice, TextDelta, TokenUsage
from yourtool.events.model_calls import LlmCallEnd, LlmCallFailed
from yourtool.events.turns import TurnCancelled, TurnCompleted
from yourtool.foundation.amounts import Spending
from yourtool.ids import new_id
from yourtool.messages.metadata import StopReason
from yourtool.paths import resolve_paths
from yourtool.providers.base import Request
from yourtool.providers.prices import cost
from yourtool.providers.replies.reply import Reply
from yourtool.providers.retry import RetryingAdapter, RetryPolicy
from yourtool.run_result import ExitCode, Outcome
from yourtool.settings.config import RunOptions

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLION = TokenUsage(input_tokens=1_000_000, output_tokens=0)


class Wire:
    """Plays one attempt after the other; each is a list of steps.

    A step is a text, a usage, an error, or `cancel`, which waits for the user to stop the turn.
    """

    def __init__(self, *attempts):
        self.attempts = list(attempts)
        self.sent = 0

    async def stream(self, request: Request):
        steps, reply = self.attempts[self.sent], Reply(request)
        self.sent += 1
        reply.headers = {"x-request": "1"} if steps else {}
        try:
            for step in steps:
                if isinstance(step, TokenUsage):
                    events = reply.update_usage(step)
                elif step == "cancel":
                    request.interrupt.request()
                    break
                elif isinstance(step, str):
                    events = reply.add_text(step)
                else:
                    raise step
                for event in events:
                    yield event
                    await asyncio.sleep(0)
        except (NetworkError, ServerError, InvalidRequestError) as error:
            for event in reply.fail(error):
                yield event
            raise
        if request.interrupt.requested:
            ending = reply.cancel()
        else:
            reply.stop_reason = StopReason.END_TURN
            ending = reply.finish()
        for event in ending:
            yield event

    def encode_ahead(self, request):
        pass

    def estimate_input_tokens(self, messages, tools):
        return 0

    async def close(self):
        pass


async def no_wait(seconds):
    del seconds


def retrying(wire):
    return RetryingAdapter(wire, RetryPolicy(max_retries=2), sleep=no_wait, jitter=lambda: 0)


async def sums(bench: Bench, session, events, outcomes):
    """Return the sum of each place that counts money; all must be equal."""
    ends = [event for event in events if isinstance(event, TurnCompleted | TurnCancelled)]
    calls = [event for event in events if isinstance(event, LlmCallEnd)]
    report = await bench.store.cost_report(session.id)
    stored = sum((model.cost_usd for model in report), Decimal(0))
    results = [outcome.result(session.id) for outcome in outcomes]
    return {
        "facts": sum((call.usage.cost_usd for call in calls if call.usage), Decimal(0)),
        "turns": sum((end.total_cost_usd for end in ends), Decimal(0)),
        "run": session._env.spending.budget.cost,
        "session": session.state.cost_usd,
        "day": (await bench.store.spending_since(EPOCH)).cost_usd,
        "/cost": stored,
        "yourtool cost": (await read_costs(bench.store, "model")).total.cost_usd,
        "-p": sum((result.cost_usd for result in results), Decimal(0)),
    }


async def sent(session, text):
    """Play one turn, and fold its result as `-p` does."""
    outcome = Outcome()
    events = await play(session.send(text))
    for event in events:
        outcome.apply(event)
    return events, outcome


CUT = TokenUsage(input_tokens=1_000, output_tokens=1)


async def test_cancelled_reply_is_counted_with_its_output_so_far(bench):
    words = "word " * 400
    session = await bench.session(Checked(Wire([CUT, words, "cancel"])))
    events, outcome = await sent(session, "go")
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failed.error_class == "cancelled"
    assert failed.usage.input_tokens == 1_000
    assert 300 < failed.usage.output_tokens < 600
    assert failed.usage_extra.estimated
    assert failed.message.metadata.usage.cost_usd == failed.usage.cost_usd > 0
    assert len(set((await sums(bench, session, events, [outcome])).values())) == 1
    result = outcome.result(session.id)
    assert result.usage.output_tokens == failed.usage.output_tokens
    assert (result.cost_usd, result.exit_code) == (failed.usage.cost_usd, ExitCode.INTERRUPTED)
    await session.close()


async def test_cancelled_reply_without_counters_is_estimated(bench):
    session = await bench.session(Checked(Wire(["Some words.", "cancel"], ["cancel"])))
    shown, _ = await sent(session, "go " * 500)
    waiting, _ = await sent(session, "again")
    for events, output in ((shown, True), (waiting, False)):
        [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
        assert failed.usage.input_tokens > 500
        assert (failed.usage.output_tokens > 0) is output
        assert failed.usage_extra.estimated
        assert failed.usage.cost_usd > 0
    await session.close()


async def test_request_stopped_before_it_was_accepted_costs_nothing(bench):
    class Stopped(Wire):
        async def stream(self, request):
            request.interrupt.request()
            for event in Reply(request).cancel():
                yield event

    session = await bench.session(Checked(Stopped()))
    events, outcome = await sent(session, "go")
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failed.usage is None
    assert outcome.result(session.id).cost_usd == 0
    await session.close()


async def test_interrupted_reply_is_counted(bench):
    wire = Wire([CUT, "half of it", NetworkError("gone")])
    session = await bench.session(Checked(retrying(wire)))
    events, outcome = await sent(session, "go")
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failed.usage.cost_usd > 0
    assert failed.message.metadata.usage.cost_usd == failed.usage.cost_usd
    assert len(set((await sums(bench, session, events, [outcome])).values())) == 1
    [totals, *_] = cost_report(session.state.facts, Spending())
    assert totals.rows[0][1].startswith("$0.0")
    assert "for 1 request" in totals.rows[0][1]
    await session.close()


async def test_failed_attempt_with_usage_is_counted(bench):
    wire = Wire([CUT, ServerError("busy")], [CUT, "fine"])
    session = await bench.session(Checked(retrying(wire)))
    events, outcome = await sent(session, "go")
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failed.usage.cost_usd == cost(CUT, PRICE)
    assert outcome.result(session.id).usage.input_tokens == 2_000
    assert len(set((await sums(bench, session, events, [outcome])).values())) == 1
    await session.close()


async def test_last_attempt_is_counted(bench):
    wire = Wire(*[[CUT, ServerError("busy")]] * 3)
    session = await bench.session(Checked(retrying(wire)))
    events, outcome = await sent(session, "go")
    failed = [event for event in events if isinstance(event, LlmCallFailed)]
    assert [event.usage.cost_usd for event in failed] == [cost(CUT, PRICE)] * 3
    assert len(set((await sums(bench, session, events, [outcome])).values())) == 1
    await session.close()


async def test_failure_without_usage_costs_nothing(bench):
    session = await bench.session(Checked(retrying(Wire([InvalidRequestError("no")]))))
    events, _ = await sent(session, "go")
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    assert failed.usage is None
    assert await bench.store.cost_report(session.id) == ()
    await session.close()


def attempts(chance):
    """Return the attempts of one request, of all kinds."""
    made = []
    while True:
        usage = TokenUsage(
            input_tokens=chance.randint(1, 3_000),
            output_tokens=chance.randint(0, 50),
            cached_input_tokens=chance.choice((0, 700)),
        )
        steps = [usage] if chance.random() < 0.7 else []
        kind = chance.choice(("end", "end", "cancel", "break", "fail", "refuse"))
        if kind in ("end", "cancel", "break"):
            steps.append("word " * chance.randint(1, 80))
        if kind == "cancel":
            steps.append("cancel")
        elif kind == "break":
            steps.append(NetworkError("gone"))
        elif kind == "fail":
            steps.append(ServerError("busy"))
        elif kind == "refuse":
            steps.append(InvalidRequestError("no"))
        made.append(steps)
        if kind != "fail" or len(made) == 3:
            return made


@pytest.mark.parametrize("seed", range(12))
async def test_every_cost_report_has_the_same_sum(bench, seed):
    chance = random.Random(seed)
    requests = [attempts(chance) for _ in range(8)]
    wire = Wire(*[attempt for request in requests for attempt in request])
    session = await bench.session(Checked(retrying(wire)))
    events, outcomes = [], []
    for number in range(len(requests)):
        played, outcome = await sent(session, f"prompt {number}")
        events += played
        outcomes.append(outcome)
    counted = await sums(bench, session, events, outcomes)
    assert len(set(counted.values())) == 1, counted
    assert wire.sent == sum(map(len, requests))
    messages = [
        event.message.metadata.usage.cost_usd
        for event in events
        if isinstance(event, LlmCallEnd) and event.message is not None
    ]
    on_facts = [
        event.usage.cost_usd
        for event in events
        if isinstance(event, LlmCallEnd) and event.message is not None
    ]
    assert messages == on_facts
    await session.close()
    again = await bench.session(Checked(Wire()), resume=session.id)
    assert again.state.cost_usd == counted["session"]
    await again.close()


async def test_cancelled_requests_count_towards_the_cost_limit_of_the_run(bench):
    dear = TokenUsage(input_tokens=100_000, output_tokens=1)  # 0.30 USD
    wire = Wire(*[[dear, "some", "cancel"]] * 9)
    session = await bench.session(Checked(wire), max_cost=Decimal("0.7"))
    for _ in range(9):
        await sent(session, "go")
    assert wire.sent == 3
    assert session._env.spending.budget.cost > Decimal("0.9")
    assert "exceeds the limit of $0.7000" in session.limit_reached
    await session.close()


async def test_request_over_the_cost_limit_is_not_sent_and_the_error_has_figures(bench):
    wire = Wire(["never"])
    session = await bench.session(Checked(wire), max_cost=Decimal("0.02"))
    events, outcome = await sent(session, "word " * 50_000)
    assert wire.sent == 0
    [notice] = [event for event in events if isinstance(event, Notice)]
    for part in ("would cost at least $0.1", "has cost $0.00", "$0.0200", "Raise `--max-cost`"):
        assert part in notice.text
    result = outcome.result(session.id, session.limit_reached)
    assert (result.exit_code, result.error.message) == (ExitCode.LIMIT, notice.text)
    await session.close()


async def test_retry_over_the_cost_limit_of_the_run_is_not_sent(bench):
    wire = Wire([MILLION, ServerError("busy")], ["never"])
    session = await bench.session(Checked(retrying(wire)), max_cost=Decimal(2))
    events, outcome = await sent(session, "go")
    assert wire.sent == 1
    assert not any(isinstance(event, TextDelta) for event in events)
    assert "exceeds the limit of $2.00" in session.limit_reached
    assert outcome.result(session.id, session.limit_reached).exit_code == ExitCode.LIMIT
    assert len(set((await sums(bench, session, events, [outcome])).values())) == 1
    await session.close()


async def test_turn_of_a_killed_process_has_its_cost(bench):
    class Dying(Wire):
        async def stream(self, request):
            if self.sent == 1:
                raise RuntimeError("killed")
            async for event in super().stream(request):
                yield event

    (bench.workspace / "a.txt").write_text("x")
    session = await bench.session(Checked(retrying(Dying([CUT, ServerError("busy")]))))
    with pytest.raises(RuntimeError):
        await play(session.send("go"))
    await session.close()
    again = await bench.session(Checked(Wire()), resume=session.id)
    ended = again.state.facts[-1]
    assert isinstance(ended, TurnCancelled)
    assert ended.total_cost_usd == again.state.cost_usd == cost(CUT, PRICE)
    assert ended.total_input_tokens == 1_000
    await again.close()


@pytest.mark.parametrize("model", ["sonnet", "openai:gpt-5"])
async def test_reply_stopped_over_http_is_counted(tmp_path, monkeypatch, model):
    script = [Answer("many words " * 200, pause=0.02)] * 3
    with ProviderServer(script) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        options = RunOptions(workspace=tmp_path, model=model)
        runtime = await Runtime.open(resolve_paths(), options)
        session = await runtime.new_session(User())
        events = []
        async for event in session.send("hello"):
            events.append(event)
            if isinstance(event, TextDelta):
                session.cancel()
        [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
        assert failed.error_class == "cancelled"
        assert failed.usage.input_tokens > 0
        assert failed.usage.output_tokens > 0
        assert failed.usage.cost_usd > 0
        today = await runtime.spent_today()
        assert today.cost_usd == session.state.cost_usd == failed.usage.cost_usd
        await session.close()
        await runtime.close()


async def test_failure_stored_without_usage_counts_as_nothing_everywhere(bench):
    """Facts of before are never edited, and what they did not count is not counted on resume."""
    session = await bench.session(Checked(Wire([CUT, "half", NetworkError("gone")])))
    events, _ = await sent(session, "go")
    [failed] = [event for event in events if isinstance(event, LlmCallFailed)]
    old = replace(failed, id=new_id(), message=None, usage=None)
    stored = await session.record(old)
    assert stored.usage is None
    await session.close()
    again = await bench.session(Checked(Wire()), resume=session.id)
    assert again.state.cost_usd == failed.usage.cost_usd
    [report] = await bench.store.cost_report(session.id)
    assert (report.calls, report.cost_usd) == (1, failed.usage.cost_usd)
    await again.close()
