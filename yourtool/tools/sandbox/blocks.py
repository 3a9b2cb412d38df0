"""Finds out why a command failed that the sandbox may have blocked."""

import re
from collections.abc import Sequence

from yourtool.messages.blocks import ImageBlock, TextBlock
from yourtool.sandbox_config import SandboxLevel
from yourtool.tools.sandbox.sandbox import Sandbox

_FILES = re.compile(
    r"read-only file system|\bEROFS\b|device or resource busy|\bEBUSY\b|operation not permitted"
    r"|\bEPERM\b|no new privileges|gpg failed to sign|\bbwrap: ",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"could not resolve|temporary failure in name resolution|name or service not known"
    r"|network is unreachable|nodename nor servname|\bENOTFOUND\b|\bEAI_AGAIN\b|no such host"
    r"|failed to lookup address|unknown host|name resolution|from proxy after CONNECT"
    r"|tunnel connection failed",
    re.IGNORECASE,
)
_ACCESS = re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE)
_END_CHARACTERS = 20_000


def find_block(
    sandbox: Sandbox, content: Sequence[TextBlock | ImageBlock], refused_hosts: Sequence[str]
) -> str | None:
    """Return what the sandbox probably blocked in a failed command, or None."""
    if sandbox.level in (None, SandboxLevel.NONE):
        return None
    if refused_hosts:
        return f"the sandbox refused a connection to {', '.join(refused_hosts)}"
    printed = "".join(each.text for each in content if isinstance(each, TextBlock))
    printed = printed[-_END_CHARACTERS:]
    if _NETWORK.search(printed):
        return "the sandbox has no network"
    if _FILES.search(printed):
        return "the sandbox protects files outside the workspace, and protected places in it"
    if sandbox.level is SandboxLevel.LANDLOCK and _ACCESS.search(printed):
        return "the sandbox protects files outside the workspace, and the workspace itself"
    return None
