"""Finds out why a command failed that the sandbox may have blocked."""

import re
from collections.abc import Sequence

from yourtool.messages.blocks import ImageBlock, TextBlock
from yourtool.sandbox_config import SandboxLevel
from yourtool.tools.sandbox.sandbox import Sandbox

_SOCKETS = re.compile(
    r"docker daemon|docker api at unix:|connection to your authentication agent"
    r"|error connecting to agent|failed to connect to bus|(?:on|through) socket"
    r"|(?:open|connect to) (?:x )?display|\bunix[: ].{0,200}: (?:connect|no such file)"
    r"|\.sock\b.{0,40}no such file",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"gpg failed to sign|failed to write commit object|couldn't load public key"
    r"|permission denied \(publickey",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"could not resolve|temporary failure in name resolution|name or service not known"
    r"|network is unreachable|nodename nor servname|\bENOTFOUND\b|\bEAI_AGAIN\b|no such host"
    r"|failed to lookup address|unknown host|name resolution|from proxy after CONNECT"
    r"|tunnel connection failed",
    re.IGNORECASE,
)
_SERVERS = re.compile(
    r"connection refused|\bECONNREFUSED\b|couldn't connect to server", re.IGNORECASE
)
_FILES = re.compile(
    r"read-only file system|\bEROFS\b|device or resource busy|\bEBUSY\b|operation not permitted"
    r"|\bEPERM\b|no new privileges|\bbwrap: ",
    re.IGNORECASE,
)
_CAUSES = (
    (_SOCKETS, "the sandbox hides agents, daemons and other servers of this machine"),
    (_KEYS, "the sandbox hides your keys and what signs with them"),
    (_NETWORK, "the sandbox has no network"),
    (_SERVERS, "the sandbox has no network, and reaches no server of this machine"),
    (_FILES, "the sandbox protects files outside the workspace, and protected places in it"),
)
"""What programs print, and what it is probably about; the first one that fits counts."""
_ACCESS = re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE)
_END_CHARACTERS = 20_000


def find_block(
    sandbox: Sandbox, content: Sequence[TextBlock | ImageBlock], refused_hosts: Sequence[str]
) -> str | None:
    """Return what the sandbox probably blocked in a failed command, or None."""
    if not sandbox.is_active:
        return None
    if refused_hosts:
        return f"the sandbox refused a connection to {', '.join(refused_hosts)}"
    printed = "".join(each.text for each in content if isinstance(each, TextBlock))
    printed = printed[-_END_CHARACTERS:]
    for pattern, cause in _CAUSES:
        if pattern.search(printed):
            return cause
    if sandbox.level is SandboxLevel.LANDLOCK and _ACCESS.search(printed):
        return "the sandbox protects files outside the workspace, and the workspace itself"
    return None
