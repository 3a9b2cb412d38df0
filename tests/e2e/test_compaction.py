"""A conversation of text that is too long for its model continues in a terminal."""

import json

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

TEXT = "The quick brown fox jumps over the lazy dog near the river bank at noon. " * 12
TOO_LONG = json.dumps(
    {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "prompt is too long: 1000251 tokens > 1000000 maximum",
        },
    }
).encode()
SCRIPT = [
    Reply(f"First reply. {TEXT}"),
    Reply(f"Second reply. {TEXT}"),
    Reply(status=400, body=TOO_LONG),
    Reply("- The user tells stories of a fox."),
    Reply("Third reply."),
    Reply("Fourth reply."),
]


@pytest.mark.req("R-CTX-02", "R-CTX-03", "R-SEED-03")
def test_overflow_of_text_continues_with_one_line_and_a_key_that_shows_the_original(work, home):
    with ProviderServer(list(SCRIPT)) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait("anthropic:")
            for prompt, reply in (("one", "First"), ("two", "Second"), ("three", "Third")):
                terminal.say(f"story {prompt}")
                terminal.wait(f"{reply} reply.", r"\$\d+\.\d+ · ")
            terminal.wait("Summarised 2 turns, about", "Alt\\+O original")
            terminal.send("\x1bo")
            terminal.wait("Originals of the summary: 4 messages", "prompt: story one")
            terminal.send("\r")
            terminal.wait("story one", lambda screen: "Originals" not in screen)
            terminal.say("/context")
            terminal.wait("Next request to anthropic:", "summaries: ", "why it is sent")
            terminal.send("\x1b")
            terminal.wait(lambda screen: "why it is sent" not in screen)
            terminal.say("story four")
            terminal.wait("Fourth reply.")
            terminal.say("/quit")
            assert terminal.end() == 0
    first, last = server.requests[2][1], server.requests[-1][1]
    assert "story one" in json.dumps(first)
    assert "The user tells stories of a fox." in json.dumps(last)
