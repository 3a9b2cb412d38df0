"""Host and origin of base URLs, and detection of loopback addresses."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
_OLLAMA_PORT = 11434
_WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
"""Addresses that a server listens on, and the ones that a client connects to instead."""


def host_of(url: str) -> str:
    """Return the host, with the port if it is not the default, for display."""
    parts = _split(url)
    if parts is None or not parts.hostname:
        return "the provider"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port
    return host if port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"


def origin_of(url: str) -> str:
    """Return scheme, host and port; keys are bound to the origin."""
    parts = _split(url)
    return f"{parts.scheme}://{host_of(url)}" if parts else url


def is_loopback(url: str) -> bool:
    """Return whether a base URL has a loopback address."""
    parts = _split(url)
    host = parts.hostname if parts else None
    if not host:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_http_url(url: str) -> bool:
    """Return whether this is an HTTP URL with a host and only printable characters."""
    if not url.startswith(("https://", "http://")) or " " in url or not url.isprintable():
        return False
    parts = _split(url)
    return parts is not None and bool(parts.hostname)


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
    parts = _split(f"{scheme}://{rest}")
    if parts is None:
        return host
    name = parts.hostname or "127.0.0.1"
    name = _WILDCARD_HOSTS.get(name, name)
    port = parts.port if has_scheme or parts.port else _OLLAMA_PORT
    where = f"[{name}]" if ":" in name else name
    return f"{scheme}://{where}{f':{port}' if port else ''}{parts.path}"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
