"""The specification of the dialect."""

from yourtool.providers.dialects.base import DialectSpec

SPEC = DialectSpec(
    api="responses",
    sdk="openai",
)
