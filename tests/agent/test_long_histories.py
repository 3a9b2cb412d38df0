"""Sessions of many messages: what looks at all of them does so in a thread."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, Checked, names, play
from tests.store.turns import FactBuilder
from yourtool.errors import NetworkError
from yourtool.events.facts import Fact
from yourtool.messages.invariants import validate_session
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.scripted import Scripted, says
from yourtool.providers.wire import WireAdapter

ROOMY = replace(MODEL.capabilities, max_context_tokens=10**9, supports_prompt_caching=True)
MODELS = tuple(replace(model, capabilities=ROOMY) for model in (MODEL, OTHER))


class Broken:
    """A transport that has no connection."""

    @asynccontextmanager
    async def post(self, path, body):
        raise NetworkError("no connection", retryable=False)
        yield


class Unchecked(Checked):
    """An adapter whose requests are not checked, because that takes long."""

    def stream(self, request):
        return self.inner.stream(request)


async def long_session(bench, adapter, messages):
    """Return a session that holds so many messages, of which nothing was estimated yet."""
    bench.catalogue = Catalogue(MODELS, "2026-01-01")
    session = await bench.session(Unchecked(adapter))
    await asyncio.to_thread(_fill, session.state, FactBuilder(session.id), messages)
    return session


def _fill(state, builder, messages):
    while len(state.messages) < messages:
        for fact in builder.turn(f"a line of output {len(state.messages)}\n" * 30):
            state.apply(fact)


@pytest.mark.remaining
async def test_turn_of_a_long_session_does_not_block_the_event_loop(bench):
    session = await long_session(bench, Scripted([says("Done.")] * 2), 12_000)
    assert names(await play(session.send("hello")))[-1] == "turn.completed"
    await play(session.select_model("openai:other"))  # which counts otherwise
    assert (await session.context.compose()).size > 100_000
    await session.close()  # the watchdog looks


@pytest.mark.remaining
async def test_request_of_a_long_session_is_encoded_without_blocking_the_event_loop(bench):
    session = await long_session(
        bench, WireAdapter(MessagesDialect(), Broken(), "anthropic"), 12_000
    )
    assert "llm.call_failed" in names(await play(session.send("hello")))
    await session.close()  # the watchdog looks


class Halting(Catalogue):
    """Stops the session in the middle of the pass over its history that has a number."""

    def __init__(self, number):
        super().__init__(MODELS, "2026-01-01")
        self.passes, self.number = 0, number
        self.stop = None

    def get(self, model_id):
        if self.stop is not None and threading.current_thread() is not threading.main_thread():
            self.passes += 1
            if self.passes == self.number:
                self.stop()
        return super().get(model_id)


@pytest.mark.parametrize("number", range(1, 6))
async def test_stop_during_a_pass_over_the_history_stores_every_fact_once(bench, number):
    bench.catalogue = Halting(number)
    session = await bench.session(Scripted([says("One."), says("Two.")]))
    loop, stopped = asyncio.get_running_loop(), threading.Event()

    def cancel():
        session.cancel()
        stopped.set()

    def stop():
        loop.call_soon_threadsafe(cancel)
        stopped.wait(5)

    bench.catalogue.stop = stop
    events = await play(session.send("hello"))
    assert stopped.is_set()
    bench.catalogue.stop = None
    assert names(events)[0] == "turn.started"
    assert names(events)[-1] == "turn.cancelled"
    assert names(events).count("llm.call_started") == names(events).count("llm.call_failed")
    assert names(await play(session.send("again")))[-1] == "turn.completed"
    assert [message.text for message in session.state.messages] == ["hello", "again", "One."]
    assert validate_session(session.state.messages) == []
    stored = await bench.store.read(session.id)
    assert stored == tuple(session.state.facts)
    assert len({fact.id for fact in stored}) == len(stored)
    assert {e.id for e in events if isinstance(e, Fact)} < {fact.id for fact in stored}
    await session.close()
