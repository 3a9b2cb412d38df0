"""Causes of failures in the sandbox."""

import re
from collections.abc import Sequence
from pathlib import Path

from yourtool.messages.blocks import ImageBlock, TextBlock
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.base import Block
from yourtool.tools.sandbox.network.listening import find_listening
from yourtool.tools.sandbox.network.refusals import FailedProxy, Refusal, RefusedHost, RefusedPort
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
_FILES = re.compile(
    r"read-only file system|\bEROFS\b|device or resource busy|\bEBUSY\b|operation not permitted"
    r"|\bEPERM\b",
    re.IGNORECASE,
)
_RIGHTS = re.compile(r"no new privileges|\bbwrap: ", re.IGNORECASE)
_HOOKS = re.compile(r"\.git/(?:[^\s'\"]{0,200}/)?hooks\b", re.IGNORECASE)
_DEVICES = re.compile(r"can only add regular files", re.IGNORECASE)
_CAUSES = (
    (_SOCKETS, "the sandbox hides agents, daemons and other servers of this machine"),
    (_KEYS, "the sandbox hides your keys and what signs with them"),
    (_NETWORK, "the sandbox has no network"),
    (_RIGHTS, "the sandbox gives no program more rights"),
    (_DEVICES, "the sandbox hides files with credentials, which are devices in it"),
)
"""What programs print, and what it is probably about; the first one that fits counts."""
_MISSING = re.compile(
    r"['\"]?(/[^'\"\s:]{1,1000})['\"]?:? (?:no such file|does not appear to be a git repository"
    r"|does not exist|not found)|alternate object path: (/[^\n]{1,1000})",
    re.IGNORECASE,
)
"""A path that a program did not find; the second is of git, whose objects are in another place."""
_ACCESS = re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE)
_THROUGH_PROXY = "Commands reach the allowed hosts through it."
_OWN_LOOPBACK = (
    "the sandbox has a loopback address of its own, so port {} of this machine is not reachable in"
    " it"
)
_TO_PORT = (
    "Ask with `outside` to run the command outside of it; the user can name the port in"
    " `[sandbox] ports` of `config.toml`."
)
_END_CHARACTERS = 20_000
_LAST_CHARACTERS = 2_000
"""Of the output of a command that did not fail; what it printed before is rather its result."""
_MAX_LINE = 200
_MAX_NAMED = 3


def find_block(
    sandbox: Sandbox,
    content: Sequence[TextBlock | ImageBlock],
    refusals: Sequence[Refusal],
    *,
    has_failed: bool = True,
) -> Block | None:
    """Return what the sandbox refused, or None.

    A host that the sandbox refused is certain, but may not matter to a command that did not fail
    and does not complain, such as one that looks for updates. Other causes are guessed from words.
    """
    if not sandbox.is_active:
        return None
    printed = "".join(each.text for each in content if isinstance(each, TextBlock))
    for each in refusals:
        if isinstance(each, FailedProxy):
            return Block(each.problem, is_certain=each.is_certain, remedy=_THROUGH_PROXY)
    refused = [each for each in refusals if isinstance(each, RefusedHost)]
    printed = printed[-(_END_CHARACTERS if has_failed else _LAST_CHARACTERS) :]
    if refused:
        # With several commands at once, its output shows which of them asked.
        sure = [each for each in refused if each.is_certain or each.name in printed]
        is_certain, refused = bool(sure), sure or refused
        matters = has_failed or _NETWORK.search(printed) is not None
        hosts = tuple(each.name for each in refused if not sandbox.allows_host(each.name))
        if not hosts:
            named = _name_hosts(tuple(each.name for each in refused))
            return Block(
                f"the command asked for {named}, which only the proxy reaches", is_certain=False
            )
        are_private = all(each.is_private for each in refused if each.name in hosts)
        why = "with a private address, which the sandbox does not reach" if are_private else ""
        cause = _describe_refused(hosts, why, has_hosts=bool(sandbox.hosts))
        return Block(cause, hosts, are_private=are_private, is_certain=is_certain and matters)
    if (service := _find_service(refusals)) is not None:
        return service
    for found in _MISSING.finditer(printed):
        if sandbox.hides(path := Path(found[1] or found[2])):
            cause = f"the sandbox hides `{path}`; `[sandbox] readable` or `writable` would show it"
            return Block(cause, line=_get_line(printed, found), is_certain=False)
    for pattern, cause in _CAUSES:
        if (found := pattern.search(printed)) is not None:
            return Block(cause, line=_get_line(printed, found), is_certain=False)
    if (found := _FILES.search(printed)) is not None:
        line = _get_line(printed, found)
        return Block(_describe_file(line, sandbox), line=line, is_certain=False)
    if sandbox.level is SandboxLevel.LANDLOCK and (found := _ACCESS.search(printed)):
        cause = "the sandbox protects files outside the workspace, and the workspace itself"
        return Block(cause, line=_get_line(printed, found), is_certain=False)
    return None


def _find_service(refusals: Sequence[Refusal]) -> Block | None:
    """Return the service of this machine that a command looked for in the sandbox."""
    ports = [each for each in refusals if isinstance(each, RefusedPort)]
    listening = find_listening() if ports else frozenset[int]()
    for each in ports:
        if each.port in listening:
            cause = _OWN_LOOPBACK.format(each.port)
            return Block(cause, is_certain=each.is_certain, remedy=_TO_PORT)
    return None


def _describe_file(line: str, sandbox: Sandbox) -> str:
    """Return why a file that a line names cannot be written."""
    if _HOOKS.search(line) is not None:
        return "the sandbox protects the hooks of git"
    if sandbox.has_read_only_workspace:
        return "the workspace is on a read-only file system"
    places = "the workspace and its repository" if sandbox.has_repository else "the workspace"
    return f"the sandbox lets no command write files outside {places}"


def _describe_refused(hosts: tuple[str, ...], why: str, *, has_hosts: bool) -> str:
    default = (
        "which the allowed hosts do not have" if has_hosts else "and the sandbox has no network"
    )
    return f"the command asked for {_name_hosts(hosts)}, {why or default}"


def _name_hosts(hosts: tuple[str, ...]) -> str:
    more = len(hosts) - _MAX_NAMED
    named = ", ".join(f"`{each}`" for each in hosts[:_MAX_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _get_line(printed: str, found: re.Match[str]) -> str:
    start = printed.rfind("\n", 0, found.start()) + 1
    end = printed.find("\n", found.end())
    line = printed[start : end if end >= 0 else len(printed)].strip()
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"
