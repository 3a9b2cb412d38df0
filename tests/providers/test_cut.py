import pytest

from tests.providers.exchanges import NAMES, complete, exchange, expected, play
from tests.providers.rules import broken_rules
from yourtool.messages import StopReason

MOST = 40


def places(body):
    """Where the events of a stream end."""
    mark = b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n"
    found, at = [], body.find(mark)
    while at >= 0:
        found.append(at + len(mark))
        at = body.find(mark, at + len(mark))
    return found


STREAMS = [
    name
    for name in NAMES
    if exchange(name)["provider"] in ("gemini", "openrouter")
    and exchange(name)["response"]["body"].lstrip().startswith(("data:", ":"))
]


@pytest.mark.parametrize("name", STREAMS)
async def test_a_stream_cut_after_any_event_is_whole_or_an_error_r_adp_09(name):
    body = exchange(name)["response"]["body"].encode()
    ends = places(body)
    assert ends
    for end in ends[:: 1 + len(ends) // MOST]:
        events, error = await play(name, [body[:end]])
        assert broken_rules(events) == []
        if error is None:
            assert complete(events).stop_detail == expected(name)["stop_reason"]
        elif events:
            assert complete(events).stop_reason is StopReason.ERROR
