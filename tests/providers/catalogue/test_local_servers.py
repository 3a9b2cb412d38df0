"""Servers that respond like Ollama, llama.cpp, LM Studio and vLLM, and other servers."""

import msgspec
import pytest

from tests.providers.local_server import RESET, LocalServer, chunk, head, serve
from yourtool.errors import NetworkError, OtherAdapterError
from yourtool.models import AdapterCapabilities
from yourtool.providers.catalogue.local_servers import (
    discover_servers,
    well_known_servers,
)
from yourtool.providers.model_lists import MAX_MODELS
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.transports.exchange import MAX_RESPONSE_BYTES, Timeouts
from yourtool.providers.transports.http import HttpTransport

INFO = {"general.architecture": "qwen3", "qwen3.context_length": 131_072}
DETAILS = {
    "qwen3:8b": {"capabilities": ["completion", "tools", "thinking"], "model_info": INFO},
    "tuned": {
        "capabilities": ["completion", "vision"],
        "model_info": INFO,
        "parameters": 'stop "x"\nnum_ctx                        8192\ntemperature 1',
    },
    "small": {
        "capabilities": ["completion"],
        "model_info": {"general.architecture": "gemma", "gemma.context_length": 2048},
    },
    "endless": {
        "capabilities": ["completion"],
        "model_info": INFO,
        "parameters": "num_ctx " + "9" * 5_000,
    },
    "older": {"template": "{{ if .Tools }}{{ end }}", "model_info": {}},
    "embedder": {"capabilities": ["embedding"], "model_info": INFO},
}


def row(kind, server):
    [found] = [each for each in well_known_servers("http://127.0.0.1:11434") if each.name == kind]
    suffix = "" if kind == "ollama" else "/v1"
    return msgspec.structs.replace(found, base_url=f"{server.url}{suffix}")


def summary(model):
    can = model.capabilities
    abilities = (can.supports_tools, can.supports_images, can.supports_thinking)
    return model.id, can.max_context_tokens, *abilities, model.known


OLLAMA = {
    "/api/tags": {
        "models": [{"name": name, "model": name} for name in (*DETAILS, "gone", "a\x1bb")]
    },
    "/api/show": lambda body: DETAILS.get(body["model"]),
}


@pytest.mark.req("R-EASE-02", "R-OLL-02")
async def test_ollama_reports_tools_vision_reasoning_and_context_window_per_model():
    with serve(OLLAMA) as server:
        [found] = await discover_servers(specs=[row("ollama", server)])
    assert found.spec.api == "ollama"
    assert [summary(model) for model in found.models] == [
        ("ollama:qwen3:8b", 32_768, True, False, True, True),
        ("ollama:tuned", 8192, False, True, False, True),
        ("ollama:small", 2048, False, False, False, True),
        ("ollama:endless", 32_768, False, False, False, True),
        ("ollama:older", 32_768, True, False, False, True),
        ("ollama:gone", 32_768, False, False, False, False),
    ]


@pytest.mark.req("R-EASE-03")
async def test_llama_cpp_reports_its_context_window_and_tool_support():
    pages = {
        "/props": {
            "default_generation_settings": {"n_ctx": 16384},
            "modalities": {"vision": True, "audio": True},
            "chat_template_caps": {"supports_tools": True},
        },
        "/v1/models": {"data": [{"id": "models/scripted.gguf", "meta": {"n_ctx_train": 99}}]},
    }
    with serve(pages) as server:
        [found] = await discover_servers(specs=[row("llama-cpp", server)])
    assert found.spec.base_url.endswith("/v1")
    assert [summary(model) for model in found.models] == [
        ("llama-cpp:models/scripted.gguf", 16384, True, True, False, True)
    ]
    assert [model.capabilities.supports_audio for model in found.models] == [True]


@pytest.mark.req("R-EASE-03")
async def test_old_and_new_lm_studio_report_the_loaded_context_window():
    new = {
        "key": "qwen", "type": "llm", "max_context_length": 32768,
        "loaded_instances": [
            {"config": {"context_length": 8192}}, {"config": {"context_length": 4096}}, {},
        ],
        "capabilities": {"vision": False, "trained_for_tool_use": True},
    }  # fmt: skip
    idle = {"key": "idle", "type": "llm", "max_context_length": 8192, "loaded_instances": []}
    pages = {"/api/v1/models": {"models": [new, idle, {"key": "e", "type": "embedding"}]}}
    with serve(pages) as server:
        [found] = await discover_servers(specs=[row("lm-studio", server)])
    assert [summary(model) for model in found.models] == [
        ("lm-studio:qwen", 4096, True, False, False, True),
        ("lm-studio:idle", 8192, False, False, False, True),
    ]
    old = [
        {"id": "see", "type": "vlm", "max_context_length": 4096, "capabilities": ["tool_use"]},
        {"id": "in", "type": "llm", "max_context_length": 8192, "loaded_context_length": 2048},
        {"id": "e", "type": "embeddings", "max_context_length": 4096},
    ]
    with serve({"/api/v0/models": {"data": old}}) as server:
        [found] = await discover_servers(specs=[row("lm-studio", server)])
    assert [summary(model) for model in found.models] == [
        ("lm-studio:see", 4096, True, True, False, True),
        ("lm-studio:in", 2048, False, False, False, True),
    ]


@pytest.mark.req("R-EASE-03")
async def test_vllm_reports_its_context_window_and_no_tool_support():
    listed = {"data": [{"id": "org/model", "owned_by": "vllm", "max_model_len": 4096}]}
    with serve({"/v1/models": listed}) as server:
        [found] = await discover_servers(specs=[row("vllm", server)])
    assert [summary(model) for model in found.models] == [
        ("vllm:org/model", 4096, False, False, False, True)
    ]


@pytest.mark.parametrize("kind", ["ollama", "llama-cpp", "lm-studio", "vllm"])
@pytest.mark.parametrize(
    "pages",
    [
        {},
        {key: [] for key in ["/api/tags", "/props", "/api/v1/models", "/v1/models"]},
        {key: {"data": {}} for key in ["/api/tags", "/props", "/api/v0/models", "/v1/models"]},
        {key: {"models": 3, "data": [{"id": 4}]} for key in ["/api/tags", "/props", "/v1/models"]},
        {"/v1/models": {"data": [{"id": "m", "owned_by": "somebody", "max_model_len": 4096}]}},
    ],
)
async def test_server_of_another_kind_is_not_a_model_server(kind, pages):
    with serve(pages) as server:
        assert await discover_servers(specs=[row(kind, server)]) == ()


async def test_refused_or_broken_connection_finds_no_server():
    with LocalServer(lambda *_: [RESET]) as server:
        rows = [row(kind, server) for kind in ("ollama", "llama-cpp", "lm-studio", "vllm")]
        assert await discover_servers(specs=rows) == ()
    assert await discover_servers(specs=rows) == ()


async def test_only_loopback_addresses_are_probed():
    away = ProviderSpec(name="ollama", api="ollama", base_url="http://192.0.2.1:11434", label="x")
    assert await discover_servers(specs=[away]) == ()
    assert all(place.is_local for place in well_known_servers("http://127.0.0.1:11434"))


async def test_implausible_context_window_is_ignored():
    absurd = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": -5}]}
    with serve({"/v1/models": absurd}) as server:
        [found] = await discover_servers(specs=[row("vllm", server)])
    [model] = found.models
    assert model.capabilities.max_context_tokens == AdapterCapabilities().max_context_tokens


async def test_server_that_responds_too_slowly_is_abandoned():
    drops = [chunk(b" "), 0.02] * 40
    with LocalServer(lambda *_: [head(), *drops]) as server:
        transport = HttpTransport(server.url, {}, Timeouts(get=0.1))
        with pytest.raises(NetworkError, match=r"sent no complete answer within 0\.1 s"):
            await transport.get("/v1/models")
        await transport.close()


async def test_endless_response_is_read_up_to_a_limit():
    flood = [chunk(b"[" * 2**20)] * (MAX_RESPONSE_BYTES // 2**20 + 4)
    with LocalServer(lambda *_: [head(), *flood]) as server:
        transport = HttpTransport(server.url, {})
        with pytest.raises(OtherAdapterError, match="did not answer with JSON"):
            await transport.get("/v1/models")
        async with transport.post("/api/show", b"{}") as reply:
            assert len(await reply.read()) == MAX_RESPONSE_BYTES
        await transport.close()


async def test_invalid_numbers_and_names_do_not_affect_other_models():
    wide = {"max_model_len": 10**30, "pricing": {"prompt": float("nan")}, "owned_by": "vllm"}
    names = [*(f"m{n}" for n in range(10_000)), "x" * 5_000, "\x1b[2J"]
    entries = [{"id": name, **wide} for name in reversed(names)]
    with serve({"/v1/models": {"data": entries}}) as server:
        [found] = await discover_servers(specs=[row("vllm", server)])
    assert len(found.models) == MAX_MODELS
    assert all(model.wire_name.startswith("m") for model in found.models)
    assert {model.capabilities.max_context_tokens for model in found.models} == {32_768}
