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

_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
_OF_REMOTES = frozenset({"fetch", "pull", "push", "ls-remote"})
_NOTHING_FETCHED = frozenset({"--dry-run", "-n", "--help", "-h"})
_VALUES = frozenset(
    {"-o", "--push-option", "--depth", "--upload-pack", "--receive-pack", "-b", "--branch", "-j",
     "--jobs", "--reference", "--origin", "--server-option", "--filter", "-c", "--config"}
)  # fmt: skip
_SHORT_ADDRESS = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!/?/).*")
"""Such as `git@example.org:me/project`."""
_DEFAULT = "origin"


def find_need(arguments: Sequence[str], directory: Path) -> NetworkOffer | None:
    """Return what the arguments of git need of a network; None: nothing. Blocks.

    `directory`: where it runs.
    """
    words = list(arguments)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in _WITH_VALUE and words:
            value = words.pop(0)
            directory = directory / value if option == "-C" else directory
    if not words or not _NOTHING_FETCHED.isdisjoint(words[1:2]):
        return None
    command, *rest = words
    addresses = [each for each in _find_addresses(command, rest, directory) if _is_remote(each)]
    if not addresses:
        return None
    hosts = tuple(dict.fromkeys(map(_get_host, addresses)))
    named = f"git {command}"
    return NetworkOffer(
        programs=(named,), hosts=hosts if all(hosts) else (), outside=(f"{named} *",)
    )


def _find_addresses(command: str, words: Sequence[str], directory: Path) -> Iterator[str]:
    plain = _without_options(words)
    if command == "clone":
        yield from plain[:1]
    elif command in _OF_REMOTES:
        remotes = dict(_read_remotes(directory))
        if "--all" in words:
            yield from remotes.values()
        else:
            name = plain[0] if plain else _DEFAULT
            yield remotes.get(name, name)
    elif command == "remote" and plain[:1] in (["update"], ["show"]):
        yield from (url for _, url in _read_remotes(directory))
    elif command == "submodule" and plain[:1] == ["add"]:
        yield from plain[1:2]
    elif command == "submodule" and plain[:1] == ["update"]:
        yield from (url for _, url in read_addresses(directory / ".gitmodules", "submodule"))


def _without_options(words: Sequence[str]) -> list[str]:
    found, skips = list[str](), False
    for word in words:
        if skips:
            skips = False
        elif word.startswith("-"):
            skips = word in _VALUES
        else:
            found.append(word)
    return found


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
