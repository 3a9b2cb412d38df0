from contextlib import aclosing

import msgspec
import pytest

from tests.provider_server import ProviderServer, Reply
from tests.providers.histories import as_message, image
from tests.providers.recorded_exchanges import READ, complete, request
from tests.strategies import Writer
from yourtool.messages.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import ReplyMessage, Role
from yourtool.messages.metadata import MessageStatus, ReplyMetadata, ResultMetadata
from yourtool.paths import Paths
from yourtool.providers.base import ForcedTool
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.provider_specs import BUILT_IN
from yourtool.providers.registry import Registry
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.settings.config import Config, ProviderConfig
from yourtool.settings.credentials import Credentials

SCRIPT = [
    Reply(
        "Let me look at both.",
        calls=[("read_file", {"path": "a ü.txt"}), ("read_file", {"path": "b", "limit": 5})],
    ),
    Reply(calls=[("read_file", {})]),
    Reply("I look once more.", calls=[("read_file", {"path": "b"}), ("read_file", {"path": "c"})]),
    Reply("They are the same: 日本語 and 🙂."),
]
KEY = "sk-plain-0000000000000000"
MODELS = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "openai": "openai:gpt-5",
    "openrouter": "openrouter:deepseek/deepseek-v3",
    "google": "google:gemini-3.5-flash",
    "ollama": "ollama:qwen3:8b",
    "plain": "plain:some-model",
}


async def conversation(model_id, root, server, **own):
    """`own`: how the user's own server is described."""
    paths = Paths(root, root / "data", root / "state", root / "cache")
    credentials = Credentials(paths, {**server.environment, "PLAIN_KEY": KEY})
    plain = ProviderConfig(api="chat", base_url=f"{server.url}/v1", **own)
    config = Config(providers={"plain": plain})
    registry = Registry(config, credentials, server.environment)
    model = Catalogue.load(paths).get(model_id)
    adapter, ids, writer = registry.adapter(model), ToolIdMap(), Writer()
    history = [writer.message(Role.USER, [TextBlock("Compare them."), image()])]
    for number in range(len(SCRIPT)):
        choice = "auto" if number else ForcedTool("read_file")
        outgoing = request(
            model, build_request_view(history, model), (READ,), tool_ids=ids, tool_choice=choice
        )
        async with aclosing(adapter.stream(outgoing)) as stream:
            events = [event async for event in stream]
        history.append(as_message(complete(events), model, writer))
        history += list(_answers(history[-1].tool_uses, number, writer))
        if number == 1:
            history += [_stopped(model, writer), writer.message(Role.USER, [TextBlock("Go on.")])]
    await registry.close()
    return history


def _answers(calls, number, writer):
    """Results with an image, of which the second is an error, and none for the last call."""
    for place, call in enumerate(calls[:1] if number == 2 else calls):
        result = ToolResultBlock(call.id, (TextBlock("x"), image()), is_error=place == 1)
        yield writer.message(Role.TOOL, [result], ResultMetadata(parent_tool_use_id=call.id))


def _stopped(model, writer):
    call = ToolUseBlock(writer.tool_use_id(), "read_file", {"path": "z"})
    metadata = ReplyMetadata(
        model=model.id, provider=model.provider, status=MessageStatus.CANCELLED
    )
    return writer.message(
        Role.ASSISTANT, [ThinkingBlock("h"), TextBlock("I was ab"), call], metadata
    )


def essence(history):
    """The messages without model, provider, ids and usage, and without reasoning."""
    names: dict[str, int] = {}
    for message in history:
        for call in message.tool_uses:
            names[call.id] = len(names)
        content = [
            (block.name, msgspec.json.encode(block.input), names[block.id])
            if isinstance(block, ToolUseBlock)
            else (names[block.tool_use_id], block.content, block.is_error)
            if isinstance(block, ToolResultBlock)
            else block
            for block in message.content
            if not isinstance(block, ThinkingBlock | RedactedThinkingBlock)
        ]
        stop = message.metadata.stop_reason if isinstance(message, ReplyMessage) else None
        yield message.role, message.metadata.status, stop, content


def test_every_network_provider_takes_part():
    assert MODELS.keys() - {"plain"} == {row.name for row in BUILT_IN if row.api != "scripted"}


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.req("R-ADP-03")
async def test_one_script_gives_the_same_messages_in_every_dialect(provider, tmp_path):
    with ProviderServer(SCRIPT) as server:
        history = await conversation(MODELS[provider], tmp_path, server)
    with ProviderServer(SCRIPT) as server:
        reference = await conversation(MODELS["anthropic"], tmp_path, server)
    assert list(essence(history)) == list(essence(reference))
    assert server.problems() == []


async def test_google_key_is_sent_in_a_header_and_never_in_the_url(tmp_path):
    with ProviderServer(SCRIPT) as server:
        await conversation(MODELS["google"], tmp_path, server)
        assert set(server.keys) == {server.environment["GEMINI_API_KEY"]}
    assert {path for path, _ in server.requests} == {"/v1beta/models/*:streamGenerateContent"}


@pytest.mark.req("R-ADP-20")
async def test_server_of_the_user_gets_requests_as_configured(tmp_path):
    (tmp_path / "models.toml").write_text(
        '[models."plain:some-model"]\nuses_max_completion_tokens = true\n'
    )
    quirks = {"stream_usage": False, "short_tool_ids": True, "system_role": "developer"}
    with ProviderServer(SCRIPT) as server:
        await conversation(MODELS["plain"], tmp_path, server, key_env="PLAIN_KEY", quirks=quirks)
        assert set(server.keys) == {KEY}
    bodies = [body for _, body in server.requests]
    assert len(bodies) == len(SCRIPT)
    for body in bodies:
        assert "stream_options" not in body
        assert "max_tokens" not in body
        assert body["max_completion_tokens"] > 0
    ids = [m["tool_call_id"] for body in bodies for m in body["messages"] if m["role"] == "tool"]
    assert ids
    assert all(len(wire_id) == 9 and wire_id.isalnum() for wire_id in ids)
