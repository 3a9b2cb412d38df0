"""Models of an Ollama server.

Sources: https://docs.ollama.com/api/tags and https://docs.ollama.com/api/show.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from yourtool.errors import AdapterError, OtherAdapterError
from yourtool.messages.blocks import canonical_json
from yourtool.models import Effort, Model
from yourtool.providers.base import Transport
from yourtool.providers.json_access import count, decode, mapping, objects, text
from yourtool.providers.model_lists import MODEL_NAME, ModelDescription, model_from_description
from yourtool.providers.provider_specs import ProviderSpec

_WINDOW = 32_768
"""Context window that Ollama is asked for if the model supports more; memory grows with it."""
_MAX_MODELS = 200
"""Limit on the number of models; each takes one request."""
_CONCURRENCY = 8
_ON_OFF_EFFORTS: tuple[Effort, ...] = ("off", "high")
"""Efforts of models that only switch reasoning on and off; GPT-OSS supports the usual ones
(https://docs.ollama.com/capabilities/thinking)."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})$", re.MULTILINE)


async def fetch_models(transport: Transport, provider: ProviderSpec) -> tuple[Model, ...]:
    """Fetch the models of an Ollama server.

    Raises:
        AdapterError: it did not answer, or it is not Ollama.
    """
    tags = mapping(await transport.get("/api/tags"))
    if not isinstance(tags.get("models"), list):
        raise OtherAdapterError(
            f"`{provider.base_url}` does not answer as Ollama does; `OLLAMA_HOST` or `base_url` of"
            f" `[providers.{provider.name}]` says where it is"
        )
    names = [
        text(entry.get("model")) or text(entry.get("name")) for entry in objects(tags["models"])
    ]
    gate = asyncio.Semaphore(_CONCURRENCY)

    async def fetch_model(name: str) -> Model | None:
        async with gate:
            return _parse_model(provider.name, name, await _fetch_details(transport, name))

    valid = [name for name in names[:_MAX_MODELS] if MODEL_NAME.fullmatch(name)]
    models = await asyncio.gather(*(fetch_model(name) for name in valid))
    return tuple(model for model in models if model is not None)


async def _fetch_details(transport: Transport, name: str) -> dict[str, Any]:
    """Fetch the details of a model; empty if that fails."""
    try:
        async with transport.post("/api/show", canonical_json({"model": name})) as reply:
            return mapping(decode(await reply.read())) if reply.status == 200 else {}
    except (AdapterError, ValueError):
        return {}


def _parse_model(provider: str, name: str, shown: Mapping[str, Any]) -> Model | None:
    """Return a model from Ollama's details; None: an embedding model."""
    able = shown.get("capabilities")
    if not isinstance(able, list):  # an older server: only the template shows support for tools
        able = ["completion"] + ["tools"] * (".Tools" in text(shown.get("template")))
    if "completion" not in able:
        return None
    info = mapping(shown.get("model_info"))
    trained = count(info.get(f"{text(info.get('general.architecture'))}.context_length"))
    chosen = _NUM_CTX.search(text(shown.get("parameters")))
    window = int(chosen[1]) if chosen else min(trained or _WINDOW, _WINDOW)
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
