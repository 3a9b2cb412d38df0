"""The specification of the dialect."""

from functools import partial

from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.model_lists import fetch_model_list

SPEC = DialectSpec(
    api="messages",
    headers={"anthropic-version": "2023-06-01"},
    key_header="x-api-key",
    key_format="{}",
    token_env="ANTHROPIC_AUTH_TOKEN",  # noqa: S106 - the name of a variable
    sdk="anthropic",
    fetch_models=partial(fetch_model_list, path="/v1/models?limit=1000"),
)
