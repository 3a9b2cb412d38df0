"""The specification of the dialect."""

from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.dialects.ollama.models import fetch_models
from yourtool.providers.urls import split_url

_DEFAULT_PORT = 11434
_WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
"""Addresses that a server listens on, and the ones that a client connects to instead."""


def parse_ollama_host(host: str) -> str:
    """Return the base URL for a value of `OLLAMA_HOST`: a host, host and port, or a URL.

    As in Ollama, the default port is that of the scheme if there is one, else 11434. A trailing
    `/v1`, which other clients require, is removed.
    """
    host = host.strip().strip("\"'").rstrip("/").removesuffix("/v1")
    if not host:
        return ""
    scheme, has_scheme, rest = host.partition("://")
    if not has_scheme:
        scheme, rest = "http", f"[{host}]" if host.count(":") > 1 and host[0] != "[" else host
    parts = split_url(f"{scheme}://{rest}")
    if parts is None:
        return host
    name = parts.hostname or "127.0.0.1"
    name = _WILDCARD_HOSTS.get(name, name)
    port = parts.port if has_scheme or parts.port else _DEFAULT_PORT
    where = f"[{name}]" if ":" in name else name
    return f"{scheme}://{where}{f':{port}' if port else ''}{parts.path}"


SPEC = DialectSpec(
    api="ollama",
    parse_base_url=parse_ollama_host,
    fetch_models=fetch_models,
)
