"""Well-known credential files.

They are recognised by their names and those of their directories, compared as in `protected`. Names
that match a pattern but mark an example, such as `.env.example`, are ordinary files. Hard links are
recognised by device and inode, if the file itself is at a well-known location. The table in
`docs/security.md` is generated from this module: run `make docs` after a change.
"""

import fnmatch
import itertools
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from yourtool.permissions.own_directories import Identity, identity
from yourtool.permissions.protected_places import folded_name

DIRECTORIES = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".oci", ".password-store", ".yourtool"}
)
NAMES = frozenset(
    {
        ".netrc", "_netrc", ".authinfo", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
        ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg", ".s3cfg", ".boto",
        ".vault-token", ".terraformrc", ".credentials", "credentials", "kubeconfig",
        "secrets.toml", "secrets.yaml", "secrets.yml", "secrets.json",
    }
)  # fmt: skip
PAIRS = frozenset(
    {
        (".config", "gcloud"), (".config", "gh"), (".config", "op"), (".config", "rclone"),
        (".kube", "config"), (".docker", "config.json"), (".cargo", "credentials"),
        (".cargo", "credentials.toml"), (".gem", "credentials"), (".m2", "settings.xml"),
        (".gradle", "gradle.properties"), (".terraform.d", "credentials.tfrc.json"),
        (".codex", "auth.json"), (".gemini", "oauth_creds.json"),
    }
)  # fmt: skip
PATTERNS = (
    ".env*",
    *(f"id_{kind}{end}" for kind in ("rsa", "dsa", "ecdsa", "ed25519") for end in ("", "[._-]*")),
    *(f"?*.{end}" for end in ("pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "ppk")),
    *(
        f"{purpose}*.{end}"
        for purpose in ("credentials", "client_secret", "service[-_]account")
        for end in ("json", "toml", "yaml", "yml")
    ),
)
_PATTERN = "|".join(fnmatch.translate(pattern) for pattern in PATTERNS)
"""Compiled by its first use, which takes longer than the import of this module."""
EXAMPLES = frozenset({"example", "sample", "template", "tmpl", "dist", "pub"})
_OUTER_DIRECTORIES = frozenset(outer for outer, _ in PAIRS)
_WORD = re.compile(r"[^\s'\"`;&|<>(){}=:,$]+")
_BUNDLED_DOT = re.compile(r"-[A-Za-z0-9]+(?=\.)")
"""Letters of options before a name such as `.env`."""
_MAX_FILES = 20_000
"""Maximum number of credential files that are searched for hard links."""


def is_credential_file(path: str) -> bool:
    """Whether `path` is a well-known credential file, or is inside such a directory."""
    names = tuple(folded_name(name) for name in path.split("/") if name not in ("", "."))
    if not DIRECTORIES.isdisjoint(names) or not PAIRS.isdisjoint(itertools.pairwise(names)):
        return True
    return bool(names) and _is_credential_name(names[-1])


def find_named_credential(line: str) -> str | None:
    """Return the first word of a command line that is the path of a credential file.

    Words that a script computes are not visible in the line. A name without a dot or a slash, such
    as `credentials`, is more often a word than a file.
    """
    words = (word for word in dict.fromkeys(_WORD.findall(line)) if "." in word or "/" in word)
    return next((word for word in words if any(map(is_credential_file, _iter_paths(word)))), None)


def _iter_paths(word: str) -> Iterator[str]:
    """Yield a word, and the path in it that a program reads behind letters or an at sign."""
    yield word
    yield word.rpartition("@")[2]
    if (found := _BUNDLED_DOT.match(word)) is not None:
        yield word[found.end() :]


def credential_names(folder: str, names: Iterable[str]) -> set[str]:
    """Return the names in a directory for which `is_credential_file` is true."""
    if is_credential_file(f"{folder}/-"):
        return set(names)
    last = folded_name(folder.rstrip("/").rpartition("/")[2])
    return {
        name
        for name in names
        if _is_credential_name(folded := folded_name(name))
        or folded in DIRECTORIES
        or (last, folded) in PAIRS
    }


def find_linked_files(places: Iterable[Path]) -> frozenset[Identity]:
    """Return the credential files with further hard links, below each place; blocking.

    Files directly in a place and in the well-known directories there are found.
    """
    linked = set[Identity]()
    files = itertools.chain.from_iterable(map(_iter_credential_files, places))
    for path in itertools.islice(files, _MAX_FILES):
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                linked.add(identity(status))
    return frozenset(linked)


def _iter_credential_files(place: Path) -> Iterator[Path]:
    for folder, directories, names in os.walk(place):
        found = credential_names(folder, (*directories, *names))
        yield from (Path(folder, name) for name in names if name in found)
        directories[:] = [
            name for name in directories if name in found or folded_name(name) in _OUTER_DIRECTORIES
        ]


def _is_credential_name(name: str) -> bool:
    if name in NAMES:
        return True
    return re.fullmatch(_PATTERN, name) is not None and EXAMPLES.isdisjoint(name.split("."))
