"""The specification of the dialect."""

from yourtool.providers.dialects.base import DialectSpec

SPEC = DialectSpec(
    api="messages",
    headers={"anthropic-version": "2023-06-01"},
    key_header="x-api-key",
    key_format="{}",
    token_env="ANTHROPIC_AUTH_TOKEN",  # noqa: S106 - the name of a variable
    sdk="anthropic",
)
