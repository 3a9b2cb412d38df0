"""The specification of the dialect."""

from functools import partial

from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.dialects.generate_content.schema import google_schema
from yourtool.providers.model_lists import fetch_model_list
from yourtool.providers.requests.tool_schema import remember_schemas

SPEC = DialectSpec(
    api="generate-content",
    key_header="x-goog-api-key",
    key_format="{}",
    tool_schema=remember_schemas(google_schema),
    fetch_models=partial(fetch_model_list, path="/v1beta/models?pageSize=1000"),
)
