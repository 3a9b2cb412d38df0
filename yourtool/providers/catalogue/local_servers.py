"""Model servers on this machine: which of them answer, and what they say of their models.

What answers on a usual port is recognised by the shape of its answer, for anything may listen
there. Sources: https://docs.ollama.com/api/tags and .../api/show,
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
from yourtool.messages import canonical_json
from yourtool.models import Effort, Model
from yourtool.providers.base import Transport
from yourtool.providers.catalogue.listings import (
    NAME,
    Description,
    entries,
    model_from_description,
    window_of,
)
from yourtool.providers.json_access import count, decode, mapping, objects, text
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.transports.http import HttpxTransport, Timeouts

_OLLAMA = "http://127.0.0.1:11434"
_OLLAMA_WINDOW = 32_768
"""Tokens of context asked of Ollama for a model that could have more: memory grows with them."""
_MOST_SHOWN = 200
"""Models that Ollama is asked about, each by itself."""

_AT_ONCE = 8
_YES_OR_NO: tuple[Effort, ...] = ("off", "high")
"""Of models that think or do not; GPT-OSS takes the usual levels
(https://docs.ollama.com/capabilities/thinking)."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})$", re.MULTILINE)
_TIMEOUTS = Timeouts(connect=0.3, silence=2, listing=2)
_PATIENCE = 5
"""Seconds for all that one server is asked."""


class LocalServer(Struct, frozen=True):
    """A server that answered, on this machine or at an address of the user's own."""

    row: ProviderSpec
    """What a registry needs to speak to it."""
    models: tuple[Model, ...]


Read = Callable[[Transport, str], Awaitable[tuple[Model, ...] | None]]
"""Returns the models of a provider by that name; None: this is no server of the kind."""


async def discover(
    ollama: str = _OLLAMA, places: Iterable[ProviderSpec] | None = None
) -> tuple[LocalServer, ...]:
    """Ask the usual ports of this machine, all at once, and return the servers that answer.

    `ollama` is where Ollama is configured to be; it is asked only if that is on this machine, and
    so is each of `places`, which stand for all the usual ones. Never raises; takes a few seconds
    at most, so it runs behind what the user sees.
    """
    rows = usual_places(ollama) if places is None else tuple(places)
    found = await asyncio.gather(*(_look(row) for row in rows if row.is_local))
    return tuple(server for server in found if server is not None)


def usual_places(ollama: str = _OLLAMA) -> tuple[ProviderSpec, ...]:
    """Return the rows of the servers to look for."""

    def compatible(name: str, label: str, port: int) -> ProviderSpec:
        url = f"http://127.0.0.1:{port}/v1"
        return ProviderSpec(name=name, api="chat", base_url=url, label=label, needs_key=False)

    return (
        ProviderSpec(name="ollama", api="ollama", base_url=ollama, label="Ollama", needs_key=False),
        compatible("llama-cpp", "llama.cpp", 8080),
        compatible("lm-studio", "LM Studio", 1234),
        compatible("vllm", "vLLM", 8000),
    )


async def _look(row: ProviderSpec) -> LocalServer | None:
    try:
        async with _open(row.base_url.removesuffix("/v1")) as transport, asyncio.timeout(_PATIENCE):
            models = await _READERS[row.name](transport, row.name)
    except (AdapterError, TimeoutError):
        return None
    return None if models is None else LocalServer(row, models)


@asynccontextmanager
async def _open(url: str) -> AsyncGenerator[Transport, None]:
    transport = HttpxTransport(url, {"user-agent": "yourtool"}, _TIMEOUTS)
    try:
        yield transport
    finally:
        await transport.close()


async def ask_ollama(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    """Return what an Ollama anywhere says of its models; None: this is none.

    Raises:
        AdapterError: it did not answer.
    """
    tags = mapping(await transport.get("/api/tags"))
    if not isinstance(tags.get("models"), list):
        return None
    names = [
        text(entry.get("model")) or text(entry.get("name")) for entry in objects(tags["models"])
    ]
    gate = asyncio.Semaphore(_AT_ONCE)

    async def asked(name: str) -> Model | None:
        async with gate:
            return _of_ollama(provider, name, await _show(transport, name))

    kept = [name for name in names[:_MOST_SHOWN] if NAME.fullmatch(name)]
    models = await asyncio.gather(*(asked(name) for name in kept))
    return tuple(model for model in models if model is not None)


async def _show(transport: Transport, name: str) -> dict[str, Any]:
    """Return what Ollama says of a model; nothing where it cannot."""
    try:
        async with transport.post("/api/show", canonical_json({"model": name})) as reply:
            return mapping(decode(await reply.read())) if reply.status == 200 else {}
    except (AdapterError, ValueError):
        return {}


def _of_ollama(provider: str, name: str, shown: Mapping[str, Any]) -> Model | None:
    """Return a model of Ollama's; None: it embeds and does not chat."""
    able = shown.get("capabilities")
    if not isinstance(able, list):  # an older server: whether there are tools is in the template
        able = ["completion"] + ["tools"] * (".Tools" in text(shown.get("template")))
    if "completion" not in able:
        return None
    info = mapping(shown.get("model_info"))
    most = count(info.get(f"{text(info.get('general.architecture'))}.context_length"))
    chosen = _NUM_CTX.search(text(shown.get("parameters")))
    window = int(chosen[1]) if chosen else min(most or _OLLAMA_WINDOW, _OLLAMA_WINDOW)
    told = Description(
        window=window,
        tools="tools" in able,
        images="vision" in able,
        thinking="thinking" in able,
        levels=() if "gpt-oss" in name else _YES_OR_NO,
        schema=True,
        known=bool(shown),
    )
    return model_from_description(provider, name, told)


async def _llama_cpp(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    props = mapping(await transport.get("/props"))
    settings = mapping(props.get("default_generation_settings"))
    if not settings:
        return None
    able, takes = mapping(props.get("chat_template_caps")), mapping(props.get("modalities"))
    told = Description(
        window=count(settings.get("n_ctx")),
        tools=able.get("supports_tools") is True,
        images=takes.get("vision") is True,
        audio=takes.get("audio") is True,
    )
    listed = entries(await transport.get("/v1/models"))
    return tuple(model_from_description(provider, name, told) for name, _ in listed)


async def _lm_studio(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    try:
        listed = mapping(await transport.get("/api/v1/models")).get("models")
    except AdapterError:
        listed = None
    if isinstance(listed, list):
        return tuple(filter(None, (_of_lm_studio(provider, each) for each in objects(listed))))
    older = mapping(await transport.get("/api/v0/models")).get("data")
    if not isinstance(older, list):
        return None
    return tuple(filter(None, (_of_older_lm_studio(provider, each) for each in objects(older))))


def _of_lm_studio(provider: str, entry: Mapping[str, Any]) -> Model | None:
    name = text(entry.get("key"))
    if entry.get("type") != "llm" or not NAME.fullmatch(name):
        return None
    able = mapping(entry.get("capabilities"))
    loaded = [
        size
        for each in objects(entry.get("loaded_instances"))
        if (size := count(mapping(each.get("config")).get("context_length")))
    ]
    told = Description(
        window=min(loaded) if loaded else count(entry.get("max_context_length")),
        tools=able.get("trained_for_tool_use") is True,
        images=able.get("vision") is True,
    )
    return model_from_description(provider, name, told)


def _of_older_lm_studio(provider: str, entry: Mapping[str, Any]) -> Model | None:
    name, able = text(entry.get("id")), entry.get("capabilities")
    if entry.get("type") not in ("llm", "vlm") or not NAME.fullmatch(name):
        return None
    loaded, most = entry.get("loaded_context_length"), entry.get("max_context_length")
    told = Description(
        window=count(loaded) or count(most),
        tools=isinstance(able, list) and "tool_use" in able,
        images=entry.get("type") == "vlm",
    )
    return model_from_description(provider, name, told)


async def _vllm(transport: Transport, provider: str) -> tuple[Model, ...] | None:
    listed = entries(await transport.get("/v1/models"))
    own = [(name, entry) for name, entry in listed if entry.get("owned_by") == "vllm"]
    if not own:
        return None
    return tuple(
        model_from_description(provider, name, Description(window=window_of(entry)))
        for name, entry in own
    )


_READERS: Mapping[str, Read] = {
    "ollama": ask_ollama,
    "llama-cpp": _llama_cpp,
    "lm-studio": _lm_studio,
    "vllm": _vllm,
}
