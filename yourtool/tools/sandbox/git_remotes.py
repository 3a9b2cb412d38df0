"""Repositories elsewhere that a git command asks.

Git itself is not run for it.

https://git-scm.com/docs/git-clone#_git_urls
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from yourtool.effects import NetworkOffer
from yourtool.foundation.files import real_path
from yourtool.git.config import read_addresses
from yourtool.git.repositories import find_repository
from yourtool.permissions.hosts import parse_host
from yourtool.permissions.shell.programs.git_commands import GitCommand, read_git

_NOTHING_FETCHED = frozenset({"--dry-run", "-n", "--help", "-h"})
_SHORT_ADDRESS = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!/?/).*")
"""Such as `git@example.org:me/project`."""
_DEFAULT = "origin"


def find_need(arguments: Sequence[str], directory: Path) -> NetworkOffer | None:
    """Return what the arguments of git need of a network; None: nothing. Blocks.

    `directory`: where it runs.
    """
    given = read_git(arguments)
    for option, value in given.settings:
        directory = directory / value if option == "-C" else directory
    if not _NOTHING_FETCHED.isdisjoint(given.words[:1]):
        return None
    addresses = [each for each in _find_addresses(given, directory) if _is_remote(each)]
    if not addresses:
        return None
    hosts = tuple(dict.fromkeys(map(_get_host, addresses)))
    named = f"git {given.verb}"
    return NetworkOffer(
        programs=(named,), hosts=hosts if all(hosts) else (), outside=(f"{named} *",)
    )


def _find_addresses(given: GitCommand, directory: Path) -> Iterator[str]:
    command, plain = given.verb, (*given.names, *given.after)
    if command == "clone":
        yield from plain[:1]
    elif given.row.asks:
        remotes = dict(_read_remotes(directory))
        if "--all" in given.words:
            yield from remotes.values()
        else:
            name = plain[0] if plain else _DEFAULT
            yield remotes.get(name, name)
    elif command == "remote" and plain[:1] in (("update",), ("show",)):
        yield from (url for _, url in _read_remotes(directory))
    elif command == "submodule" and plain[:1] == ("add",):
        yield from plain[1:2]
    elif command == "submodule" and plain[:1] == ("update",):
        yield from (url for _, url in read_addresses(directory / ".gitmodules", "submodule"))


def _read_remotes(directory: Path) -> Iterator[tuple[str, str]]:
    if (repository := find_repository(real_path(Path(directory)))) is not None:
        yield from read_addresses(repository.common / "config", "remote")


def _is_remote(address: str) -> bool:
    """Whether an address is one of another machine."""
    if "://" in address:
        scheme, _, _ = address.partition("://")
        return scheme.lower() != "file"
    return not os.path.lexists(address) and _SHORT_ADDRESS.fullmatch(address) is not None


def _get_host(address: str) -> str:
    """Return the host that a proxy can reach; empty for an address of SSH."""
    found = parse_host(address) if re.match(r"https?:", address, re.IGNORECASE) else None
    return "" if found is None else found[1]
