"""Costs that a provider reports later.

Source: https://openrouter.ai/docs/api/api-reference/generations/get-generation.
"""

import asyncio
import logging
from collections.abc import Sequence
from decimal import Decimal
from urllib.parse import quote

from yourtool.errors import AdapterError, AuthError
from yourtool.providers.json_access import mapping
from yourtool.providers.registry import Registry
from yourtool.providers.replies.openai_usage import parse_cost

DELAYS = (1, 3, 10, 30, 120)
"""Seconds before each question: after a stop, a provider can need a while."""

_log = logging.getLogger(__name__)


def reports_costs(registry: Registry, provider: str) -> bool:
    """Return whether a provider reports costs later, and has a key for the question."""
    row = registry.spec(provider)
    return bool(row and row.quirks.get("generation_costs")) and registry.has_key(provider)


async def wait_for_cost(
    registry: Registry, provider: str, response_id: str, delays: Sequence[float] = DELAYS
) -> Decimal | None:
    """Return the cost of a reply in US dollars; None: the provider did not answer with one.

    Raises:
        AuthError: the provider does not report costs to this key.
    """
    for delay in delays:
        await asyncio.sleep(delay)
        try:
            return await fetch_cost(registry, provider, response_id)
        except AuthError:
            raise
        except AdapterError as error:
            level = logging.DEBUG if error.status == 404 else logging.INFO
            _log.log(level, "the cost of `%s` is not known yet: %s", response_id, error)
    _log.info("`%s` reported no cost of `%s`", provider, response_id)
    return None


async def fetch_cost(registry: Registry, provider: str, response_id: str) -> Decimal | None:
    """Fetch the cost of a reply by its id; None: the answer has none.

    Raises:
        AdapterError: the request failed; with status 404 the cost is not there yet.
    """
    async with registry.connection(provider) as (_, transport):
        answer = await transport.get(f"/generation?id={quote(response_id, safe='')}")
    return parse_cost(mapping(mapping(answer).get("data")).get("total_cost"))
