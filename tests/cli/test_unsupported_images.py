"""`--model` with a model without image support for a session with an image."""

import base64
import re

import pytest

from tests.provider_server import ProviderServer, Reply
from yourtool.paths import resolve_paths

pytestmark = pytest.mark.usefixtures("own_logging")

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BLIND = """
[models."openai:blind"]
max_context_tokens = 100_000
supports_images = false
"""


@pytest.fixture
def server(line, monkeypatch):
    (line.workspace / "dot.png").write_bytes(PIXEL)
    resolve_paths().home.mkdir(parents=True, exist_ok=True)
    (resolve_paths().home / "models.toml").write_text(BLIND)
    with ProviderServer([Reply("A dot."), *[Reply("Fine.")] * 3]) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        assert line("-p", "hello", "-m", "sonnet")[0] == 0
        picture = str(line.workspace / "dot.png")
        assert line("-c", "-p", "look", "--attach", picture)[0] == 0
        yield server


def test_refused_model_error_lists_alternatives_and_the_session_is_unchanged(line, server):
    code, out, err = line("-c", "-p", "and now?", "-m", "openai:blind")
    assert (code, out) == (4, "")
    assert "Cannot swap to openai:blind: session contains images that this model" in err
    assert "The first image is in message 3 of 4." in err
    assert "`--in-words` sends placeholders for the images" in err
    fork = re.search(r"`yourtool (sessions fork \S+ --at \S+)`", err)
    assert fork is not None
    assert len(server.requests) == 2
    assert line("-c", "-p", "still you?")[0] == 0
    assert server.requests[-1][0] == "/v1/messages"
    code, forked, _ = line.bare(*fork[1].split())
    assert code == 0
    new = re.search(r"sess_\w+", forked)
    assert new is not None
    assert line("-r", new[0], "-p", "and now?", "-m", "openai:blind")[0] == 0
    assert server.requests[-1][0] == "/v1/responses"
    assert "look" not in str(server.requests[-1][1]["input"])
    assert server.problems() == []


def test_in_words_sends_placeholders(line, server):
    assert line("-c", "-p", "and now?", "-m", "openai:blind", "--in-words")[0] == 0
    assert "could not be shown to you" in str(server.requests[-1][1])
    assert line("-c", "-p", "and later?")[0] == 0
    assert line("-c", "-p", "and at last?", "-m", "openai:blind")[0] == 0
    assert [path for path, _ in server.requests[2:]] == ["/v1/responses"] * 3
    assert "could not be shown to you" in str(server.requests[-1][1])
    assert server.problems() == []


def test_in_words_requires_a_model(line):
    line.script([{"say": "ok"}])
    code, _, err = line("-p", "hi", "--in-words")
    assert code == 2
    assert "requires `--model`" in err
