"""The specification of the dialect."""

from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.dialects.ollama.models import fetch_models
from yourtool.providers.urls import parse_ollama_host

SPEC = DialectSpec(
    api="ollama",
    parse_base_url=parse_ollama_host,
    fetch_models=fetch_models,
)
