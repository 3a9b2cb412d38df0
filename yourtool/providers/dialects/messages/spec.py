"""The specification of the dialect."""

import re
from functools import partial

from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.model_lists import fetch_model_list
from yourtool.providers.requests.tool_schema import (
    SchemaRules,
    lower_schema,
    remember_schemas,
)

SPEC = DialectSpec(
    api="messages",
    headers={"anthropic-version": "2023-06-01"},
    key_header="x-api-key",
    key_format="{}",
    token_env="ANTHROPIC_AUTH_TOKEN",  # noqa: S106 - the name of a variable
    sdk="anthropic",
    tool_schema=remember_schemas(
        partial(lower_schema, rules=SchemaRules(property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}")))
    ),
    fetch_models=partial(fetch_model_list, path="/v1/models?limit=1000"),
)
