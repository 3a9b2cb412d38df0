"""Host and origin of base URLs."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def host_of(url: str) -> str:
    """Return the host, with the port if it is not the default, for display."""
    parts = split_url(url)
    if parts is None or not parts.hostname:
        return "the provider"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port
    return host if port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"


def origin_of(url: str) -> str:
    """Return scheme, host and port; keys are bound to the origin."""
    parts = split_url(url)
    return f"{parts.scheme}://{host_of(url)}" if parts else url


def is_loopback(url: str) -> bool:
    """Return whether a base URL has a loopback address."""
    parts = split_url(url)
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
    parts = split_url(url)
    return parts is not None and bool(parts.hostname)


def split_url(url: str) -> SplitResult | None:
    """Split a URL; None if it is malformed."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
