"""Discovery of models.

The module fetches the model lists of providers and local servers.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

from yourtool.errors import AdapterError
from yourtool.models import Model
from yourtool.providers.catalogue.discovery_cache import new_discovery, save_discoveries
from yourtool.providers.catalogue.local_servers import (
    LocalServer,
    discover_servers,
    well_known_servers,
)
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.provider_specs import BUILT_IN, ProviderSpec
from yourtool.providers.registry import Registry, import_client, load_dialect_spec

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
    await asyncio.to_thread(import_client, (*usual, *own))
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


async def add_servers(
    registry: Registry, catalogue: Catalogue, file: Path, *, include_remote: bool
) -> tuple[LocalServer, ...]:
    """Find servers as `find_servers` does, add their models, and store these in `file`."""
    found = list[LocalServer]()
    async with aclosing(find_servers(registry, include_remote=include_remote)) as servers:
        async for server in servers:
            registry.add_provider(server.spec)
            catalogue.add_discovered(server.spec.name, server.models)
            found.append(server)
    answers = [new_discovery(server.spec, server.models) for server in found]
    with suppress(OSError):  # only a cache
        await asyncio.to_thread(save_discoveries, file, answers)
    return tuple(found)


async def _probe(registry: Registry, row: ProviderSpec) -> tuple[LocalServer, ...]:
    """Return a server with its models; empty if it does not answer."""
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT):
            return (LocalServer(row, await fetch_models(registry, row.name)),)
    except (AdapterError, TimeoutError):
        return ()


async def check_key(registry: Registry, provider: str) -> None:
    """Send the cheapest request that a provider answers only with a valid key.

    OpenRouter's list of models is public; its `/key` describes the key
    (https://openrouter.ai/docs/api-reference/api-keys/get-current-api-key).

    Raises:
        AdapterError: the provider is not configured, or the request failed.
    """
    async with asyncio.timeout(_PROBE_TIMEOUT), registry.connection(provider) as (row, transport):
        if row.name == "openrouter":
            await transport.get("/key")
        else:
            await load_dialect_spec(row).fetch_models(transport, row)


async def fetch_models(registry: Registry, provider: str) -> tuple[Model, ...]:
    """Fetch the models of a provider; the demo has none.

    Ollama describes its models, most others only list names.

    Raises:
        AdapterError: the provider is not configured, or the request failed.
    """
    if (row := registry.spec(provider)) is not None and row.is_demo:
        return ()
    async with registry.connection(provider) as (row, transport):
        return await load_dialect_spec(row).fetch_models(transport, row)
