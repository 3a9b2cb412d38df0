"""Hosts in rules: `fetch_url(python.org)`, `fetch_url(*.example.org)`, `fetch_url(a.org:8443)`.

A host covers itself on the usual ports, 80 and 443. Another port is part of the name, subdomains
need a rule with `*.`, and letters beyond ASCII are written in their ASCII form (`xn--…`), as the
question shows them. A prohibition covers every port and every subdomain of its host.
"""

import re

_SPEC = re.compile(r"(?:\*\.)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::[0-9]{1,5})?")
_USUAL_PORTS = (None, 80, 443)


def host_subject(host: str, port: int | None) -> str:
    """Return what rules compare of an address: the host, and its port where it is unusual."""
    name = host.lower().removesuffix(".")
    name = f"[{name}]" if ":" in name else name
    return name if port in _USUAL_PORTS else f"{name}:{port}"


def is_host_spec(spec: str) -> bool:
    """Tell whether a rule can be about `spec`."""
    return _SPEC.fullmatch(spec) is not None


def covers_host(spec: str, subject: str) -> bool:
    """Tell whether a permission for `spec` covers a host, as `host_subject` writes it."""
    host, port = _split(spec)
    name, given = _split(subject)
    if port != given:
        return False
    if host.startswith("*."):
        return name.endswith(host[1:]) and name != host[1:]
    return name == host


def forbids_host(spec: str, subject: str) -> bool:
    """Tell whether a prohibition of `spec` covers a host: every port, and subdomains too."""
    host, port = _split(spec)
    name, given = _split(subject)
    base = host.removeprefix("*.")
    return (name == base or name.endswith(f".{base}")) and port in (None, given)


def _split(spec: str) -> tuple[str, int | None]:
    """Take a host and its port apart; a usual port counts as none."""
    host, colon, port = spec.rpartition(":")
    if not colon or spec.endswith("]"):
        host, port = spec, ""
    number = int(port) if port.isdigit() else None
    return host.lower().removesuffix("."), None if number in _USUAL_PORTS else number
