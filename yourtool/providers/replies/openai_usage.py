"""Token usage in OpenAI's formats.

The counters of Chat Completions and Responses become disjoint buckets. `prompt_tokens` includes
cache reads and, at OpenRouter and OpenAI, cache writes. Cache reads have other names at DeepSeek
(`prompt_cache_hit_tokens`), Moonshot (`cached_tokens` without an object around it) and Mistral
(`num_cached_tokens`). At xAI and Mistral they can exceed `prompt_tokens`, and at xAI
`completion_tokens` excludes the reasoning, which `total_tokens` reveals.
"""

import logging
from decimal import Decimal
from typing import Any

from yourtool.events.deltas import TokenUsage
from yourtool.providers.json_access import count, mapping

_CACHED_COUNTERS = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")

_log = logging.getLogger(__name__)


class OpenAIUsageParser:
    """Parser of the counters of one reply."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._has_warned = False

    def parse(self, counters: dict[str, Any]) -> TokenUsage | None:
        """Return the usage; None if counters are missing."""
        prompt = count(counters.get("prompt_tokens"))
        output = count(counters.get("completion_tokens"))
        if prompt is None or output is None:
            return None
        details = mapping(counters.get("prompt_tokens_details"))
        cached = count(details.get("cached_tokens"))
        if cached is None:
            cached = max(count(counters.get(name)) or 0 for name in _CACHED_COUNTERS)
        written = count(details.get("cache_write_tokens")) or 0
        reasoning = count(
            mapping(counters.get("completion_tokens_details")).get("reasoning_tokens")
        )
        if reasoning and count(counters.get("total_tokens")) == prompt + output + reasoning:
            output += reasoning
        rest = prompt - cached - written
        if rest < 0 and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "`%s` reports %d prompt tokens, but %d cache reads and %d cache writes; the rest is"
                " counted as 0",
                self._provider,
                prompt,
                cached,
                written,
            )
        return TokenUsage(
            input_tokens=max(0, rest),
            output_tokens=output,
            cached_input_tokens=cached,
            cache_creation_input_tokens=written,
            reasoning_tokens=reasoning,
            image_tokens=_count_modality("image_tokens", counters),
            audio_tokens=_count_modality("audio_tokens", counters),
            reported_cost_usd=parse_cost(counters.get("cost")),
        )


def _count_modality(kind: str, counters: dict[str, Any]) -> int | None:
    """Return the tokens of one modality in prompt and output; None for 0."""
    sides = ("prompt_tokens_details", "completion_tokens_details")
    return sum(count(mapping(counters.get(side)).get(kind)) or 0 for side in sides) or None


def parse_cost(reported: Any) -> Decimal | None:
    """Return the US dollars that OpenRouter reports; 0 is valid."""
    if isinstance(reported, bool) or not isinstance(reported, int | float):
        return None
    cost = Decimal(str(reported))
    return cost if cost.is_finite() and cost >= 0 else None
