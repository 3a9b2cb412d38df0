import re

import pytest

from tests.providers.exchanges import NAMES, complete, exchange, expected, model, play, request
from tests.providers.rules import broken_rules
from yourtool.messages import (
    RedactedThinkingBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

STOPS = {reason.value for reason in StopReason}


@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_exchange_gives_what_a_correct_client_has_in_hand(name):
    right, asked = expected(name), request(model(exchange(name)["provider"]))
    events, error = await play(name, asked=asked)
    assert broken_rules(events) == []
    if right["error"] is not None:
        assert error is not None
        assert error.status == right["error"]["status"]
        assert _words(right["error"]["message"]) in error.message
    elif not right["complete"]:
        assert error is not None
        assert error.error_class == "network"
    else:
        assert error is None
    if not events:
        assert right["error"] is not None or not right["complete"]
        assert right["text"] == ""
        return
    whole = complete(events)
    content = whole.final_content
    texts = [b.text for b in content if isinstance(b, TextBlock)]
    assert "".join(texts) == right["text"] + (right["refusal"] or "")
    thoughts = [b for b in content if isinstance(b, ThinkingBlock)]
    assert [(b.text, b.signature) for b in thoughts] == [
        (t["text"], t["signature"]) for t in right["thinking"]
    ]
    assert [b.data for b in content if isinstance(b, RedactedThinkingBlock)] == right[
        "redacted_thinking"
    ]
    calls = [b for b in content if isinstance(b, ToolUseBlock)]
    wanted = right["tool_calls"] + [{**c, "input": None} for c in right["unfinished_tool_calls"]]
    assert [
        (asked.tool_ids.known_wire(asked.model.provider, b.id), b.name, b.input) for b in calls
    ] == [(c["id"], c["name"], c["input"] or {}) for c in wanted]
    for call, want in zip(calls, wanted, strict=True):
        assert (call.id in whole.tool_input_errors) == (want["input"] is None)
    if error is not None:
        assert whole.stop_reason is StopReason.ERROR
    else:
        assert whole.stop_reason == right["stop_class"]
    if right["stop_reason"]:
        assert whole.stop_detail == right["stop_reason"]
    usage = right["usage"]["uncached"]
    if usage is None:
        assert whole.usage.estimated
    else:
        for k, v in usage.items():
            assert getattr(whole.usage, k) == (v or 0), k
    server = [b["type"] for b in right["server_blocks"]]
    kept = [e["block"]["type"] for e in (whole.provider_raw or {}).get("blocks", [])]
    assert kept == server or error


def _words(message):
    """The provider's words without tags, line ends and keys, as far as all of them are kept."""
    plain = re.sub(r"sk-\w+", "[key]", re.sub(r"<[^>]*>", " ", message))
    return " ".join(plain.split())[:60]
