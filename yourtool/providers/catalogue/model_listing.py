"""Fetch the model lists of providers and local servers."""

import asyncio
from collections.abc import AsyncGenerator

from yourtool.errors import AdapterError, OtherAdapterError
from yourtool.models import Model
from yourtool.providers.base import Transport
from yourtool.providers.catalogue.listings import parse_model_list
from yourtool.providers.catalogue.local_servers import (
    LocalServer,
    discover_servers,
    fetch_ollama_models,
    well_known_servers,
)
from yourtool.providers.provider_specs import BUILT_IN, ProviderSpec
from yourtool.providers.registry import Registry

_LIST_PATHS = {
    "messages": "/v1/models?limit=1000",
    "generate-content": "/v1beta/models?pageSize=1000",
}
_PROBE_TIMEOUT = 5
"""Seconds for all requests to one server."""


async def find_servers(
    registry: Registry, *, include_remote: bool
) -> AsyncGenerator[LocalServer, None]:
    """Probe local servers on well-known ports and servers in the user's configuration.

    Yields each server as soon as it answers. `include_remote`: also servers on other machines.
    """
    ollama = registry.spec("ollama")
    assert ollama is not None, "it is built in"
    usual = [place for place in well_known_servers(ollama.base_url) if place.is_local]
    known = {(row.name, row.base_url) for row in (*BUILT_IN, *usual)}
    own = [
        row
        for row in registry.providers()
        if (row.name, row.base_url) not in known and (include_remote or row.is_local)
    ]
    asked = [asyncio.ensure_future(_probe(registry, row)) for row in own]
    asked.append(asyncio.ensure_future(discover_servers(specs=usual)))
    try:
        for answer in asyncio.as_completed(asked):
            for server in await answer:
                yield server
    finally:
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def _probe(registry: Registry, row: ProviderSpec) -> tuple[LocalServer, ...]:
    """Return a server with its models; empty if it does not answer."""
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT):
            return (LocalServer(row, await fetch_models(registry, row.name)),)
    except (AdapterError, TimeoutError):
        return ()


async def fetch_models(registry: Registry, provider: str) -> tuple[Model, ...]:
    """Fetch the models of a provider; the demo has none.

    Ollama describes its models, most others only list names.

    Raises:
        AdapterError: the provider is not configured, or the request failed.
    """
    if (row := registry.spec(provider)) is not None and row.is_demo:
        return ()
    async with registry.connection(provider) as (row, transport):
        return await fetch_models_over(row, transport)


async def fetch_models_over(row: ProviderSpec, transport: Transport) -> tuple[Model, ...]:
    """Fetch the models of a provider over an open transport.

    Raises:
        AdapterError: the request failed.
    """
    if row.api == "ollama":
        if (models := await fetch_ollama_models(transport, row.name)) is None:
            raise OtherAdapterError(
                f"`{row.base_url}` does not answer as Ollama does; `OLLAMA_HOST` or `base_url` of"
                f" `[providers.{row.name}]` says where it is"
            )
        return models
    return parse_model_list(row.name, await transport.get(_LIST_PATHS.get(row.api, "/models")))
