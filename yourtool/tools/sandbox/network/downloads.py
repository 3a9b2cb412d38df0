"""Programs that need a network.

Only what surely needs one is recognised: a build with a filled cache stays in the sandbox without
a question, and what fails there is seen by its enclosure (`refusals.py`).
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.effects import NetworkOffer
from yourtool.permissions.hosts import allows_host, parse_host
from yourtool.permissions.shell.expanded_commands import ExpandedCommand, get_name, iter_expanded
from yourtool.permissions.shell.programs.table import Downloads, load_programs
from yourtool.tools.sandbox import git_remotes
from yourtool.tools.sandbox.network.known_hosts import MAX_HOSTS, find_hosts

NO_RETRIES: Mapping[str, str] = {
    # The settings `fetch-retries` and `update-notifier` of npm, also read by pnpm.
    "npm_config_fetch_retries": "0",
    "npm_config_update_notifier": "false",
    # https://github.com/sindresorhus/update-notifier#user-settings
    "NO_UPDATE_NOTIFIER": "1",
    # https://pip.pypa.io/en/stable/cli/pip/#cmdoption-retries
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # https://docs.astral.sh/uv/reference/environment/#uv_http_retries
    "UV_HTTP_RETRIES": "0",
    # https://doc.rust-lang.org/cargo/reference/config.html#netretry
    "CARGO_NET_RETRY": "0",
    # https://bundler.io/man/bundle-config.1.html
    "BUNDLE_RETRY": "0",
    # The setting `httpRetry` of Yarn.
    "YARN_HTTP_RETRY": "0",
    # https://rust-lang.github.io/rustup/environment-variables.html
    "RUSTUP_MAX_RETRIES": "0",
}
"""Variables with which programs fail at once without a network, or do not look for updates."""

_ANY = "*"
_ADDRESSES = ("curl", "wget")
_WRAPPED = re.compile(r"-.*|\w+=.*|\d+(?:\.\d+)?[smhd]?")
"""What is between a wrapper and its program."""
_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)?)?")
_REMOTE = re.compile(r"@|://")
_ADDRESS = re.compile(
    r"(?<![\w.-])(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/.*)?", re.IGNORECASE
)
_NAME = re.compile(r"[\w@./:+-]{1,60}", re.ASCII)
"""What a question can name without another meaning."""
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1"})  # noqa: S104 - compared
_MAX_HOSTS, _MAX_WORDS = 8, 200


class Network(Struct, frozen=True):
    """What is known of the network of a sandbox."""

    allowed: tuple[str, ...] = ()
    """Hosts that it reaches."""
    get_refused: Callable[[str], Sequence[str]] = lambda _: ()
    """Returns the hosts that it refused to a program before."""

    def allows(self, hosts: Sequence[str]) -> bool:
        """Whether it reaches hosts, of which there is one at least."""
        return bool(hosts) and all(
            any(allows_host(spec, host) for spec in self.allowed) for host in hosts
        )

    def find_hosts(self, name: str, files: Sequence[str], directory: Path) -> tuple[str, ...]:
        """Return the hosts that a program will ask, as far as anything shows it; blocks.

        What it was refused counts only without files, as the user may have declined it.
        """
        refused = [each for each in self.get_refused(name) if "." in each]
        return find_hosts(files, directory) or tuple(refused[:MAX_HOSTS])


_NO_NETWORK = Network()


def find_need(line: str, workspace: Path, network: Network = _NO_NETWORK) -> NetworkOffer | None:
    """Return what in a line needs a network, and what would give it one; None: nothing. Blocks."""
    commands = iter_expanded(line, os.environ)
    needs = (_find_named(each, workspace, network) for each in commands)
    found = [each for each in needs if each is not None and not network.allows(each.hosts)]
    if not found:
        return None
    join = dict.fromkeys
    return NetworkOffer(
        programs=tuple(join(name for each in found for name in each.programs)),
        # Some of them do not help.
        hosts=tuple(join(host for each in found for host in each.hosts))[:_MAX_HOSTS]
        if all(each.hosts for each in found)
        else (),
        outside=tuple(join(rule for each in found for rule in each.outside)),
        is_enough=all(each.is_enough for each in found),
    )


def _find_named(command: ExpandedCommand, workspace: Path, network: Network) -> NetworkOffer | None:
    """Return the need of a command.

    A program of the workspace is named by its path, and none is always outside.
    """
    if (found := _find_need(command, workspace, network)) is None:
        return None
    name, space, rest = found.programs[0].partition(" ")
    paths = (each.plain or "" for each in command.words if get_name(each) == name)
    if (path := next(paths, name)) == name or path.startswith("/"):
        return found
    if _NAME.fullmatch(path) is None:
        return None
    outside = found.outside if found.is_enough else ()
    return replace(found, programs=(path + space + rest,), outside=outside)


def _find_need(command: ExpandedCommand, workspace: Path, network: Network) -> NetworkOffer | None:
    written = [word.plain or "" for word in command.words[:_MAX_WORDS]]
    words = _unwrap(written, command)
    directory = workspace / (command.directory or "")
    if not words:
        return None
    name, *arguments = words
    if name == "git":
        return git_remotes.find_need(arguments, directory)
    if name in _ADDRESSES:
        return _find_addresses(name, arguments)
    row = _get_downloads(name)
    if row is None or not set(arguments).isdisjoint((*row.offline, "--help", "-h", "--version")):
        return None
    if (used := _find_command(row, arguments, directory)) is None:
        return None
    hosts = () if row.locks is None else network.find_hosts(name, row.locks, directory)
    if row.locks is not None and not hosts and network.allowed:
        # It may ask only those, and a refusal names the others.
        return None
    is_clear = used in row.commands or _NAME.fullmatch(used) is not None
    return NetworkOffer(
        programs=(f"{name} {used}".strip() if is_clear else name,),
        hosts=hosts,
        outside=_build_rules(written, arguments, used.split()),
        is_enough=used in row.contained
        and "sudo" not in written
        and not any(each.partition("=")[0] in row.elsewhere for each in arguments),
    )


def _build_rules(
    written: Sequence[str], arguments: Sequence[str], used: Sequence[str]
) -> tuple[str, ...]:
    """Return the rule that covers a command as it is written, with other arguments."""
    if not used or list(arguments[: len(used)]) != list(used) or not all(written):
        return ()
    start = written[: len(written) - len(arguments) + len(used)]
    return (" ".join((*start, _ANY)),)


def _unwrap(written: Sequence[str], command: ExpandedCommand) -> list[str]:
    """Return a program without its directory, and its arguments."""
    words = list(written)
    if words:
        words[0] = get_name(command.words[0])
    while words and _is_wrapper(words[0]):
        words = words[1:]
        while words and _WRAPPED.fullmatch(words[0]):
            words = words[1:]
        if words:
            words[0] = words[0].rpartition("/")[2]
    if len(words) > 2 and _PYTHON.fullmatch(words[0]) and words[1] == "-m":
        words = words[2:]
    return words


def _is_wrapper(name: str) -> bool:
    row = load_programs().get(name)
    return row is not None and "command" in row.runs and not row.is_fed and row.network is None


def _get_downloads(name: str) -> Downloads | None:
    row = load_programs().get(name)
    return None if row is None else row.network


def _find_command(row: Downloads, arguments: Sequence[str], directory: Path) -> str | None:
    """Return the words of the arguments that need a network; None: they need none."""
    plain = [each for each in arguments if not each.startswith(("-", "+"))]
    if _ANY in row.commands:
        if not plain or _is_local(plain[0], row, directory):
            return None
        return plain[0]
    for used in (" ".join(plain[:2]), *plain[:1], *(() if plain else ("",))):
        if used in row.bare and len(plain) < 2:
            return None
        is_remote = used in row.remote and any(map(_REMOTE.search, plain[1:]))
        if used in row.commands or is_remote:
            return used
    return None


def _is_local(program: str, row: Downloads, directory: Path) -> bool:
    """Whether a program is in a directory of the workspace, so that it is not fetched."""
    places = (directory, *directory.parents)
    return any(os.path.lexists(up / each / program) for up in places for each in row.local)


def _find_addresses(name: str, arguments: Sequence[str]) -> NetworkOffer | None:
    hosts = dict.fromkeys(filter(None, map(_get_host, arguments)))
    # A rule for the program would cover every address, and every file that it writes.
    return NetworkOffer(programs=(name,), hosts=tuple(hosts)) if hosts else None


def _get_host(word: str) -> str | None:
    """Return the host of an address elsewhere, as in rules."""
    if _ADDRESS.fullmatch(word) is None or ("://" not in word and "/" not in word):
        return None
    found = parse_host(word if "://" in word else f"http://{word}")
    if found is None or found[0] in _LOCAL_HOSTS or found[0].endswith(".localhost"):
        return None
    return found[1]
