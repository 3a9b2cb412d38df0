"""A provider's own list of its models, as it is asked for."""

import pytest

from tests.providers.local_server import serve
from yourtool.errors import AdapterError, OtherAdapterError
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import load_dialect_spec
from yourtool.providers.transports.http import HttpTransport


async def list_from(api, server, transport):
    row = ProviderSpec(name="p", api=api, base_url=server.url, label="P")
    return await load_dialect_spec(row).fetch_models(transport, row)


@pytest.mark.parametrize(
    ("api", "path", "answer", "names"),
    [
        ("chat", "/models", {"data": [{"id": "gpt-x"}, {"id": "bad\nname"}]}, ["gpt-x"]),
        ("messages", "/v1/models", {"data": [{"id": "claude-x", "type": "model"}]}, ["claude-x"]),
        (
            "generate-content",
            "/v1beta/models",
            {"models": [{"name": "models/gemini-x", "inputTokenLimit": 1000}]},
            ["gemini-x"],
        ),
        ("responses", "/models", {"object": "list"}, []),
    ],
)
async def test_any_provider_can_list_its_models(api, path, answer, names):
    with serve({path: answer}) as server:
        transport = HttpTransport(server.url, {})
        models = await list_from(api, server, transport)
        await transport.close()
    assert [model.wire_name for model in models] == names
    assert not any(model.known or model.price for model in models)
    assert all(model.capabilities.supports_tools for model in models)


async def test_unavailable_list_is_an_error():
    with serve({}) as server:
        transport = HttpTransport(server.url, {})
        with pytest.raises(AdapterError, match="status 404"):
            await list_from("chat", server, transport)
        await transport.close()


async def test_response_unlike_ollama_is_not_an_empty_list():
    with serve({"/api/tags": {"models": "none"}}) as server:
        transport = HttpTransport(server.url, {})
        with pytest.raises(OtherAdapterError, match="does not answer as Ollama does"):
            await list_from("ollama", server, transport)
        await transport.close()
