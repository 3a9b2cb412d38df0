"""Discovery of model servers on this machine, with their models.

A server on a well-known port is recognised by the structure of its response, because any program
can listen there. Sources: https://docs.ollama.com/api/tags and .../api/show,
https://github.com/ggml-org/llama.cpp/tree/master/tools/server, https://lmstudio.ai/docs/app/api,
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from yourtool.errors import AdapterError
from yourtool.messages.blocks import canonical_json
from yourtool.models import Effort, Model
from yourtool.providers.base import Transport
from yourtool.providers.catalogue.listings import (
    MODEL_NAME,
    ModelDescription,
    model_from_description,
    parse_context_window,
    parse_entries,
)
from yourtool.providers.json_access import count, decode, mapping, objects, text
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.transports.http import HttpxTransport, Timeouts

_OLLAMA = "http://127.0.0.1:11434"
_OLLAMA_WINDOW = 32_768
"""Context window that Ollama is asked for if the model supports more; memory grows with it."""
_MAX_OLLAMA_MODELS = 200
"""Limit on the number of Ollama models; each takes one request."""

_CONCURRENCY = 8
_ON_OFF_EFFORTS: tuple[Effort, ...] = ("off", "high")
"""Efforts of models that only switch reasoning on and off; GPT-OSS supports the usual ones
(https://docs.ollama.com/capabilities/thinking)."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})$", re.MULTILINE)
_TIMEOUTS = Timeouts(connect=0.3, read=2, get=2)
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

    `ollama` is where Ollama is configured to be; it is asked only if that is on this machine, and
    so is each of `places`, which stand for all the usual ones. Never raises; takes a few seconds
    at most, so it runs behind what the user sees.
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
            models = await _READERS[row.name](transport, row.name)
    except (AdapterError, TimeoutError):
        return None
    return None if models is None else LocalServer(row, models)


@asynccontextmanager
async def _open_transport(url: str) -> AsyncGenerator[Transport, None]:
    transport = HttpxTransport(url, {"user-agent": "yourtool"}, _TIMEOUTS)
    try:
        yield transport
    finally:
        await transport.close()


async def fetch_ollama_models(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    """Fetch the models of an Ollama server; None: it is not Ollama.

    Raises:
        AdapterError: it did not answer.
    """
    tags = mapping(await transport.get("/api/tags"))
    if not isinstance(tags.get("models"), list):
        return None
    names = [
        text(entry.get("model")) or text(entry.get("name")) for entry in objects(tags["models"])
    ]
    gate = asyncio.Semaphore(_CONCURRENCY)

    async def asked(name: str) -> Model | None:
        async with gate:
            return _parse_ollama_model(provider, name, await _fetch_details(transport, name))

    kept = [name for name in names[:_MAX_OLLAMA_MODELS] if MODEL_NAME.fullmatch(name)]
    models = await asyncio.gather(*(asked(name) for name in kept))
    return tuple(model for model in models if model is not None)


async def _fetch_details(transport: Transport, name: str) -> dict[str, Any]:
    """Fetch Ollama's details of a model; empty if that fails."""
    try:
        async with transport.post("/api/show", canonical_json({"model": name})) as reply:
            return mapping(decode(await reply.read())) if reply.status == 200 else {}
    except (AdapterError, ValueError):
        return {}


def _parse_ollama_model(provider: str, name: str, shown: Mapping[str, Any]) -> Model | None:
    """Return a model from Ollama's details; None: an embedding model."""
    able = shown.get("capabilities")
    if not isinstance(able, list):  # an older server: only the template shows support for tools
        able = ["completion"] + ["tools"] * (".Tools" in text(shown.get("template")))
    if "completion" not in able:
        return None
    info = mapping(shown.get("model_info"))
    most = count(info.get(f"{text(info.get('general.architecture'))}.context_length"))
    chosen = _NUM_CTX.search(text(shown.get("parameters")))
    window = int(chosen[1]) if chosen else min(most or _OLLAMA_WINDOW, _OLLAMA_WINDOW)
    description = ModelDescription(
        window=window,
        tools="tools" in able,
        images="vision" in able,
        thinking="thinking" in able,
        efforts=() if "gpt-oss" in name else _ON_OFF_EFFORTS,
        schema=True,
        known=bool(shown),
    )
    return model_from_description(provider, name, description)


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
    "ollama": fetch_ollama_models,
    "llama-cpp": _fetch_llama_cpp_models,
    "lm-studio": _fetch_lm_studio_models,
    "vllm": _fetch_vllm_models,
}
