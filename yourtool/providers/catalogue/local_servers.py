"""Discovery of model servers on this machine.

A server on a well-known port is recognised by the structure of its response, because any program
can listen there. Sources:
https://github.com/ggml-org/llama.cpp/tree/master/tools/server, https://lmstudio.ai/docs/app/api,
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from yourtool.errors import AdapterError
from yourtool.models import Model
from yourtool.providers.base import Transport
from yourtool.providers.json_access import count, mapping, objects, text
from yourtool.providers.model_lists import (
    MODEL_NAME,
    ModelDescription,
    model_from_description,
    parse_context_window,
    parse_entries,
)
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import load_dialect_spec
from yourtool.providers.transports import exchange, http

_OLLAMA = "http://127.0.0.1:11434"
_PROBE_TIMEOUT = 5
"""Seconds for all requests to one server."""


class LocalServer(Struct, frozen=True):
    """A server that answered, on this machine or from the user's configuration."""

    spec: ProviderSpec
    """The provider specification for the registry."""
    models: tuple[Model, ...]


ModelReader = Callable[[Transport, str], Awaitable[tuple[Model, ...] | None]]
"""Fetches the models for a provider name; None: the server is of another kind."""


async def discover_servers(
    ollama: str = _OLLAMA, specs: Iterable[ProviderSpec] | None = None
) -> tuple[LocalServer, ...]:
    """Probe the well-known ports of this machine in parallel; return the servers that answer.

    `ollama` is the configured base URL of Ollama, and `specs` replaces all of the well-known
    servers; servers on other machines are skipped. Never raises, and takes a few seconds at most.
    """
    rows = well_known_servers(ollama) if specs is None else tuple(specs)
    found = await asyncio.gather(*(_probe(row) for row in rows if row.is_local))
    return tuple(server for server in found if server is not None)


def well_known_servers(ollama: str = _OLLAMA) -> tuple[ProviderSpec, ...]:
    """Return the specifications of the servers to probe."""

    def compatible(name: str, label: str, port: int) -> ProviderSpec:
        url = f"http://127.0.0.1:{port}/v1"
        return ProviderSpec(name=name, api="chat", base_url=url, label=label, needs_key=False)

    return (
        ProviderSpec(name="ollama", api="ollama", base_url=ollama, label="Ollama", needs_key=False),
        compatible("llama-cpp", "llama.cpp", 8080),
        compatible("lm-studio", "LM Studio", 1234),
        compatible("vllm", "vLLM", 8000),
    )


async def _probe(row: ProviderSpec) -> LocalServer | None:
    try:
        async with (
            _open_transport(row.base_url.removesuffix("/v1")) as transport,
            asyncio.timeout(_PROBE_TIMEOUT),
        ):
            if (reader := _READERS.get(row.name)) is not None:
                models = await reader(transport, row.name)
            else:
                models = await load_dialect_spec(row).fetch_models(transport, row)
    except (AdapterError, TimeoutError):
        return None
    return None if models is None else LocalServer(row, models)


@asynccontextmanager
async def _open_transport(url: str) -> AsyncGenerator[Transport, None]:
    timeouts = exchange.Timeouts(connect=0.3, read=2, get=2)
    transport = http.HttpTransport(url, {"user-agent": "yourtool"}, timeouts)
    try:
        yield transport
    finally:
        await transport.close()


async def _fetch_llama_cpp_models(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    props = mapping(await transport.get("/props"))
    settings = mapping(props.get("default_generation_settings"))
    if not settings:
        return None
    able, takes = mapping(props.get("chat_template_caps")), mapping(props.get("modalities"))
    description = ModelDescription(
        window=count(settings.get("n_ctx")),
        tools=able.get("supports_tools") is True,
        images=takes.get("vision") is True,
        audio=takes.get("audio") is True,
    )
    listed = parse_entries(await transport.get("/v1/models"))
    return tuple(model_from_description(provider, name, description) for name, _ in listed)


async def _fetch_lm_studio_models(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    try:
        listed = mapping(await transport.get("/api/v1/models")).get("models")
    except AdapterError:
        listed = None
    if isinstance(listed, list):
        return tuple(
            filter(None, (_parse_lm_studio_model(provider, each) for each in objects(listed)))
        )
    older = mapping(await transport.get("/api/v0/models")).get("data")
    if not isinstance(older, list):
        return None
    return tuple(
        filter(None, (_parse_old_lm_studio_model(provider, each) for each in objects(older)))
    )


def _parse_lm_studio_model(provider: str, entry: Mapping[str, Any]) -> Model | None:
    name = text(entry.get("key"))
    if entry.get("type") != "llm" or not MODEL_NAME.fullmatch(name):
        return None
    able = mapping(entry.get("capabilities"))
    loaded = [
        size
        for each in objects(entry.get("loaded_instances"))
        if (size := count(mapping(each.get("config")).get("context_length")))
    ]
    description = ModelDescription(
        window=min(loaded) if loaded else count(entry.get("max_context_length")),
        tools=able.get("trained_for_tool_use") is True,
        images=able.get("vision") is True,
    )
    return model_from_description(provider, name, description)


def _parse_old_lm_studio_model(provider: str, entry: Mapping[str, Any]) -> Model | None:
    name, able = text(entry.get("id")), entry.get("capabilities")
    if entry.get("type") not in ("llm", "vlm") or not MODEL_NAME.fullmatch(name):
        return None
    loaded, most = entry.get("loaded_context_length"), entry.get("max_context_length")
    description = ModelDescription(
        window=count(loaded) or count(most),
        tools=isinstance(able, list) and "tool_use" in able,
        images=entry.get("type") == "vlm",
    )
    return model_from_description(provider, name, description)


async def _fetch_vllm_models(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    listed = parse_entries(await transport.get("/v1/models"))
    own = [(name, entry) for name, entry in listed if entry.get("owned_by") == "vllm"]
    if not own:
        return None
    return tuple(
        model_from_description(provider, name, ModelDescription(window=parse_context_window(entry)))
        for name, entry in own
    )


_READERS: Mapping[str, ModelReader] = {
    "llama-cpp": _fetch_llama_cpp_models,
    "lm-studio": _fetch_lm_studio_models,
    "vllm": _fetch_vllm_models,
}
"""Servers whose model lists have fields that their API does not define."""
