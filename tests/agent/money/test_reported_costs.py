"""Costs that a provider reports after the reply (R-CST-04), asked from a server on this machine."""

import asyncio
import threading
from decimal import Decimal

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, names, play
from tests.provider_server import ProviderServer, Reply
from yourtool.agent.commands.reports import cost_report
from yourtool.agent.money.cost_report import read_costs
from yourtool.agent.money.reported_costs import ReportedCosts
from yourtool.agent.routes.routing_rules import DefaultModels
from yourtool.errors import AdapterError
from yourtool.events.deltas import TextDelta
from yourtool.events.model_calls import LlmCallCostReported, LlmCallEnd, LlmCallFailed
from yourtool.foundation.amounts import Spending
from yourtool.paths import Paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.generation_costs import fetch_cost
from yourtool.providers.registry import Registry
from yourtool.settings.config import Config
from yourtool.settings.credentials import Credentials

pytestmark = pytest.mark.req("R-CST-04")

ROUTED = replace(MODEL, id="openrouter:a/b", wire_name="a/b")
PATH = "/api/v1/generation?id=chatcmpl-1"
WITH_COST = (
    b'data: {"id":"gen-1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":9,"completion_tokens":1,"cost":0.5}}\n\ndata: [DONE]\n\n'
)


def cost(amount):
    return 200, {"data": {"id": "chatcmpl-1", "total_cost": amount}}


class Connected:
    """Sessions whose model is behind a server of the test."""

    def __init__(self, bench, server, tmp_path, environ=None):
        self.bench, self.server = bench, server
        paths = Paths(*(tmp_path / name for name in ("home", "data", "state", "cache")))
        environ = environ or server.environment
        self.registry = Registry(Config(), Credentials(paths, environ), environ)
        bench.catalogue = Catalogue([ROUTED], "2026-01-01")

    async def session(self, delays=(0, 0)):
        class Costs(ReportedCosts):
            def ask(own, _registry, end, record):  # noqa: N805 - the session has a fake registry
                super().ask(self.registry, end, record)

        return await self.bench.session(
            self.registry.adapter(ROUTED),
            settings={"reported_costs": Costs(delays)},
            defaults=DefaultModels(None, ROUTED.id),
        )

    async def reported(self, session):
        return [
            fact
            for fact in await self.bench.store.read(session.id)
            if isinstance(fact, LlmCallCostReported)
        ]

    async def wait_for(self, check):
        async with asyncio.timeout(5):
            while not await check():
                await asyncio.sleep(0.01)


@pytest.fixture
def server():
    with ProviderServer([Reply("Hello there")] * 9) as server:
        yield server


@pytest.fixture
async def connected(bench, server, tmp_path):
    connected = Connected(bench, server, tmp_path)
    yield connected
    await connected.registry.close()


async def test_cost_that_is_there_after_a_moment_is_a_fact_below_its_call(connected, bench, server):
    answers = [(404, {"error": {"message": "not found"}}), cost(0.25)]
    server.answer_get = lambda _path: answers.pop(0)
    session = await connected.session()
    await play(session.send("x"))
    await connected.wait_for(lambda: connected.reported(session))
    facts = await bench.store.read(session.id)
    (end,) = [fact for fact in facts if isinstance(fact, LlmCallEnd)]
    (reported,) = await connected.reported(session)
    assert reported.parent_event_id == end.id
    assert reported.response_id == "chatcmpl-1"
    assert reported.reported_cost_usd == Decimal("0.25")
    assert server.get_paths == [PATH, PATH]
    assert "Bearer sk-or-test-0000000000000000" in server.get_headers[0]
    report = await read_costs(bench.store, "model")
    assert (report.total.reported_cost_usd, report.total.reported_requests) == (Decimal("0.25"), 1)
    assert report.drift[0].model == ROUTED.id
    (section, *_) = cost_report(facts, Spending())
    assert ("reported by providers", "$0.2500 for 1 of 1 requests") in section.rows
    await session.close()


async def test_stopped_reply_gets_its_cost(connected, bench, server):
    server.script[:0] = [Reply("one two three four five six seven", pause=0.03)]
    server.answer_get = lambda _path: cost(1)
    session = await connected.session()
    async for event in session.send("x"):
        if isinstance(event, TextDelta):
            session.cancel()
    await connected.wait_for(lambda: connected.reported(session))
    facts = await bench.store.read(session.id)
    (end,) = [fact for fact in facts if isinstance(fact, LlmCallFailed)]
    (reported,) = await connected.reported(session)
    assert reported.parent_event_id == end.id
    await session.close()


async def test_turns_and_the_end_of_the_session_do_not_wait_for_the_cost(connected, server):
    asked, release = threading.Event(), threading.Event()

    def answer(_path):
        asked.set()
        release.wait(10)
        return cost(1)

    server.answer_get = answer
    session = await connected.session()
    try:
        await play(session.send("x"))
        assert names(await play(session.send("y")))[-1] == "turn.completed"
        await connected.wait_for(lambda: asyncio.to_thread(asked.wait, 0.01))
        await session.close()
        assert not await connected.reported(session)
    finally:
        release.set()


@pytest.mark.parametrize(
    ("answer", "questions"),
    [
        ((401, {}), 1),
        ((404, {}), 6),
        ((429, {}), 6),
        ((500, {}), 6),
        ((200, b"<html>"), 6),
        (cost(-1), 3),
        (cost("much"), 3),
        (cost(True), 3),
        (cost(None), 3),
        ((200, {"data": []}), 3),
        ((200, [1]), 3),
    ],
)
async def test_failure_is_silent_and_a_session_asks_for_few_replies(
    connected, server, answer, questions
):
    server.answer_get = lambda _path: answer
    session = await connected.session()
    for number in range(1, 6):
        events = await play(session.send("x"))
        assert names(events)[-1] == "turn.completed"
        expected = min(questions, number * max(1, questions // 3))

        async def is_asked(expected=expected):
            return len(server.get_paths) >= expected

        await connected.wait_for(is_asked)
        await asyncio.sleep(0.02)
    assert len(server.get_paths) == questions
    assert not await connected.reported(session)
    await session.close()


async def test_reply_with_a_cost_is_not_asked_about(connected, bench, server):
    server.script[:0] = [Reply(body=WITH_COST)]
    session = await connected.session()
    await play(session.send("x"))
    await asyncio.sleep(0.02)
    assert server.get_paths == []
    assert (await read_costs(bench.store, "model")).total.reported_cost_usd == Decimal("0.5")
    await session.close()


async def test_provider_without_a_key_is_not_asked(bench, server, tmp_path):
    environ = {"OPENROUTER_BASE_URL": f"{server.url}/api/v1"}
    connected = Connected(bench, server, tmp_path, environ)
    session = await connected.session()
    await play(session.send("x"))
    await asyncio.sleep(0.02)
    assert server.get_paths == []
    await session.close()
    await connected.registry.close()


async def test_id_cannot_change_the_address(connected, server):
    server.answer_get = lambda _path: (404, {})
    with pytest.raises(AdapterError):
        await fetch_cost(connected.registry, "openrouter", "a&b/../c?d#e\n")
    assert server.get_paths == ["/api/v1/generation?id=a%26b%2F..%2Fc%3Fd%23e%0A"]
