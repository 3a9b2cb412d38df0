"""Asking a provider, wherever it is, for its own list of its models."""

from yourtool.errors import OtherAdapterError
from yourtool.models import Model
from yourtool.providers.base import Transport
from yourtool.providers.catalogue.listings import hosted
from yourtool.providers.catalogue.local_servers import ask_ollama
from yourtool.providers.registry import Registry
from yourtool.providers.rows import ProviderRow

_LISTS = {"messages": "/v1/models?limit=1000", "generate-content": "/v1beta/models?pageSize=1000"}


async def own_models(registry: Registry, provider: str) -> tuple[Model, ...]:
    """Ask a provider for its own models; Ollama describes them, the others mostly name them.

    Raises:
        AdapterError: it cannot be used, or the list could not be had.
    """
    async with registry.connection(provider) as (row, transport):
        return await listed(row, transport)


async def listed(row: ProviderRow, transport: Transport) -> tuple[Model, ...]:
    """Return the models that a provider lists; a script has none.

    Raises:
        AdapterError: the list could not be had.
    """
    if row.api == "scripted":
        return ()
    if row.api == "ollama":
        if (models := await ask_ollama(transport, row.name)) is None:
            raise OtherAdapterError(
                f"`{row.base_url}` does not answer as Ollama does; `OLLAMA_HOST` or `base_url` of"
                f" `[providers.{row.name}]` says where it is"
            )
        return models
    return hosted(row.name, await transport.get(_LISTS.get(row.api, "/models")))
