"""The specification of the dialect."""

from yourtool.providers.dialects.base import DialectSpec

SPEC = DialectSpec(
    api="generate-content",
    key_header="x-goog-api-key",
    key_format="{}",
)
