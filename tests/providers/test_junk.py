"""Invalid replies, even with a bug in the reader, end in a typed error at worst."""

import asyncio
import logging

import pytest

from tests.providers.histories import as_message
from tests.providers.junk import Place, Recording, places
from tests.providers.recorded_exchanges import (
    OURS,
    OWN,
    Playback,
    collect_events,
    complete,
    exchange,
    model,
    request,
    sets,
)
from tests.providers.stream_rules import CONTRADICTION, broken_rules
from tests.strategies import Writer
from yourtool.errors import InvalidRequestError, OtherAdapterError
from yourtool.messages.blocks import TextBlock
from yourtool.messages.invariants import validate_message
from yourtool.messages.message import Role
from yourtool.messages.metadata import StopReason
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.chat.response import ChatParser
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.retry import RetryingAdapter
from yourtool.providers.wire import WireAdapter

QUICK = StreamTimeouts(linger=0.001)
FIRST = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n'
REST = b'data: {"choices": []}\n\ndata: [DONE]\n\n'
FAULTS = [TypeError("x"), KeyError("x"), RecursionError("x"), ValueError("x"), MemoryError("x")]


class Faulty(ChatDialect):
    """A dialect with a bug in one of its functions."""

    def __init__(self, where, fault):
        super().__init__()
        self._where = where
        self._fault = fault

    def fail(self, where):
        if where == self._where:
            raise self._fault

    def to_wire(self, request):
        self.fail("to_wire")
        return super().to_wire(request)

    def build_parser(self, reply):
        return FaultyParser(reply, self.fail)


class FaultyParser(ChatParser):
    def __init__(self, reply, fail):
        super().__init__(reply)
        self._fail = fail

    def parse(self, frame):
        if b'"delta"' not in frame.data:
            self._fail("parse")
        return super().parse(frame)

    def parse_document(self, document):
        yield from super().parse_document(document)
        self._fail("whole")

    @property
    def is_complete(self):
        self._fail("is_complete")
        return super().is_complete


def speaker(where, fault, body):
    transport = Playback([body])
    return transport, WireAdapter(Faulty(where, fault), transport, "acme", timeouts=QUICK)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("where", ["parse", "whole", "is_complete"])
async def test_bug_in_a_dialect_is_a_typed_error_with_its_traceback_in_the_log(
    where, fault, caplog
):
    body = b'{"choices": [{"message": {"content": "a"}}]}' if where == "whole" else FIRST + REST
    _, adapter = speaker(where, fault, body)
    events, error = await collect_events(adapter, request(model("acme")))
    assert type(error) is OtherAdapterError
    assert not error.retryable
    assert error.__cause__ is fault
    assert "`acme`" in error.message and "log" in error.message
    assert broken_rules(events) == []
    if events:
        assert complete(events).stop_reason is StopReason.ERROR
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info and record.exc_info[1] is fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_bug_while_encoding_a_request_is_an_invalid_request_error(fault, caplog):
    transport, adapter = speaker("to_wire", fault, FIRST + REST)
    events, error = await collect_events(adapter, request(model("acme")))
    assert events == []
    assert type(error) is InvalidRequestError
    assert error.__cause__ is fault
    assert transport.posted == []
    assert any(record.exc_info for record in caplog.records)


async def test_bug_in_a_dialect_is_not_retried():
    transport, adapter = speaker("is_complete", TypeError("x"), FIRST + REST)
    await collect_events(RetryingAdapter(adapter), request(model("acme")))
    assert len(transport.posted) == 1


class Faults(logging.Handler):
    """Collects the bugs that the adapter's seam caught."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.found = []

    def emit(self, record):
        self.found.append(record.exc_info[1])


@pytest.fixture
def faults():
    """Listen to the seam alone: thousands of replies with junk in them warn of much else."""
    handler = Faults()
    root, log = logging.getLogger("yourtool"), logging.getLogger("yourtool.providers.wire")
    level = root.level
    root.setLevel(logging.ERROR)
    log.addHandler(handler)
    yield handler.found
    log.removeHandler(handler)
    root.setLevel(level)


def recordings(names):
    """Return exchanges, the shortest first."""
    found = []
    for name in names:
        each = exchange(name)
        response = each["response"]
        found.append(
            Recording(name, each["provider"], each["api"], response["status"], response["body"])
        )
    return sorted(found, key=lambda each: len(each.body))


async def problems_of(place: Place, faults: list[BaseException]) -> list[str]:
    """Return what goes wrong with each kind of junk in one place."""
    recording, found = place.recording, []
    dialect = OURS[recording.provider, recording.api]()
    outgoing = request(model(recording.provider))
    for junk, body in place.bodies():
        adapter = WireAdapter(
            dialect, Playback([body], recording.status), recording.provider, timeouts=QUICK
        )
        events, _ = await collect_events(adapter, outgoing)
        await asyncio.sleep(0)  # so that the loop watchdog measures each reply
        problems = [each for each in broken_rules(events) if each != CONTRADICTION]
        problems += map(repr, faults)
        faults.clear()
        if events:
            problems += replay_problems(dialect, complete(events), outgoing)
        where = f"{recording.id} event {place.event} {place.path}: {junk}"
        found += [f"{where}: {problem}" for problem in problems]
    return found


def replay_problems(dialect, event, outgoing):
    """Return what is wrong with the stored reply, and with the next request."""
    if event.stop_reason is StopReason.ERROR:
        return []
    writer = Writer()
    reply = as_message(event, outgoing.model, writer)
    problems = validate_message(reply) if event.final_content else []
    history = [writer.message(Role.USER, [TextBlock("?")]), reply]
    try:
        dialect.to_wire(
            request(
                outgoing.model,
                build_request_view(history, outgoing.model),
                tool_ids=outgoing.tool_ids,
            )
        )
    except Exception as fault:  # noqa: BLE001 - any bug is what this looks for
        problems.append(f"the next request: {fault!r}")
    return problems


@pytest.mark.timeout(600)  # the recorded set is large
@pytest.mark.parametrize("names", sets())
@pytest.mark.parametrize("dialect", ["messages", "chat", "responses", "generateContent", "ollama"])
@pytest.mark.sample(6)
async def test_junk_anywhere_in_a_reply_is_read_or_is_a_typed_error(dialect, names, faults):
    mine = [each for each in recordings(names) if each.dialect == dialect]
    assert mine or names is not OWN
    every = places(mine)
    await asyncio.sleep(0)
    assert [each for place in every for each in await problems_of(place, faults)] == []
