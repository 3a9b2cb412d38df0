"""Hosts in permission rules.

Examples are `fetch_url(python.org)`, `fetch_url(*.example.org)` and `fetch_url(a.org:8443)`. An
allow rule for a host covers the ports 80 and 443; other ports must be written out, and subdomains
need `*.`. Non-ASCII hosts are written in ASCII form (`xn--…`), as the approval prompt shows them. A
deny rule covers every port and every subdomain of its host.
"""

import re
from urllib.parse import urlsplit

_SPEC = re.compile(r"(?:\*\.)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::[0-9]{1,5})?")
_DEFAULT_PORTS = (None, 80, 443)


def host_subject(host: str, port: int | None) -> str:
    """Return the subject that rules match: the host, with its port unless it is 80 or 443."""
    name = host.lower().removesuffix(".")
    name = f"[{name}]" if ":" in name else name
    return name if port in _DEFAULT_PORTS else f"{name}:{port}"


def parse_host(address: str) -> tuple[str, str] | None:
    """Return the name of the host in an address, and its subject; None: the address has none."""
    try:
        parts = urlsplit(address)
        name = (parts.hostname or "").removesuffix(".")
        return (name, host_subject(name, parts.port)) if name else None
    except ValueError:
        return None


def is_host_spec(spec: str) -> bool:
    """Whether `spec` is valid in a rule."""
    return _SPEC.fullmatch(spec) is not None


def allows_host(spec: str, subject: str) -> bool:
    """Whether an allow rule with `spec` covers `subject`, a result of `host_subject`."""
    host, port = _split_port(spec)
    name, subject_port = _split_port(subject)
    if port != subject_port:
        return False
    if host.startswith("*."):
        return name.endswith(host[1:]) and name != host[1:]
    return name == host


def denies_host(spec: str, subject: str) -> bool:
    """Whether a deny rule with `spec` covers `subject`: all ports and subdomains."""
    host, port = _split_port(spec)
    name, subject_port = _split_port(subject)
    base = host.removeprefix("*.")
    return (name == base or name.endswith(f".{base}")) and port in (None, subject_port)


def _split_port(spec: str) -> tuple[str, int | None]:
    """Split a host from its port; the ports 80 and 443 become None."""
    host, colon, port = spec.rpartition(":")
    if not colon or spec.endswith("]"):
        host, port = spec, ""
    number = int(port) if port.isdigit() else None
    return host.lower().removesuffix("."), None if number in _DEFAULT_PORTS else number
