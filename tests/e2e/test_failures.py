"""Failed requests in the interface: the paused queue, and the retry with one key."""

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

BAD_KEY = b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'


def test_a_refused_key_pauses_the_queue_and_a_retry_sends_the_rest_in_order(work, home):
    refused = Reply(status=401, body=BAD_KEY)
    script = [
        Reply("A first answer of some length.", pause=0.3, words_at_once=1),
        *(refused, refused),
        *(Reply("Well again."), Reply("The third."), Reply("The fourth.")),
    ]
    with ProviderServer(script) as server:
        env = {**home, **server.environment}
        with Terminal((*YOURTOOL, "-m", "sonnet"), cwd=work, env=env) as terminal:
            terminal.wait("anthropic:")
            terminal.say("one")
            terminal.wait("A first")
            for at, prompt in enumerate(("two", "three", "four"), 1):
                terminal.say(prompt)
                terminal.wait(f"{at}\\. {prompt}")
            terminal.wait("Paused, the turn failed: Enter sends, Up edits, Ctrl\\+T retries")
            assert len(server.requests) == 2
            terminal.send("\x14")
            terminal.wait("Let openrouter:.* answer\\?", "a letter, then Enter")
            terminal.read(0.5)  # a question takes no keys at once
            terminal.send("d\r")
            terminal.wait(lambda _text: len(server.requests) == 3)
            terminal.wait("2\\. four")
            terminal.send("\x14")
            terminal.wait("Well again")
            terminal.wait("The fourth")
            terminal.say("/quit")
            assert terminal.end() == 0
        asked = [body["messages"][-1]["content"][-1]["text"] for _, body in server.requests]
        assert asked == ["one", "two", "two", "two", "three", "four"]
        assert server.problems() == []
