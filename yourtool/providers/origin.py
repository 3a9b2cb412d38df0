"""Where a base URL leads: host, origin, and whether that is this very machine."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

_PORTS = {"http": 80, "https": 443}


def host_of(url: str) -> str:
    """Return host and, if it is not the usual one, port: fit to be shown."""
    parts = _split(url)
    if parts is None or not parts.hostname:
        return "the provider"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port
    return host if port in (None, _PORTS.get(parts.scheme)) else f"{host}:{port}"


def origin_of(url: str) -> str:
    """Return scheme, host and port: what a key is bound to."""
    parts = _split(url)
    return f"{parts.scheme}://{host_of(url)}" if parts else url


def is_loopback(url: str) -> bool:
    """Tell whether a base URL leads to this machine."""
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


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
