"""Files that usually hold credentials: they are asked about before a model reads them.

Known by their names and those of the directories around them, compared as in `protected`. A name
that marks an example, such as `.env.example`, is an ordinary file.
"""

import itertools
import re
from collections.abc import Iterable

from yourtool.permissions.protected import folded_name

_DIRECTORIES = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".oci", ".password-store", ".yourtool"}
)
_NAMES = frozenset(
    {
        ".netrc", "_netrc", ".authinfo", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
        ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg", ".s3cfg", ".boto",
        ".vault-token", ".terraformrc", ".credentials", "credentials", "kubeconfig",
        "secrets.toml", "secrets.yaml", "secrets.yml", "secrets.json",
    }
)  # fmt: skip
_PAIRS = frozenset(
    {
        (".config", "gcloud"), (".config", "gh"), (".config", "op"), (".config", "rclone"),
        (".kube", "config"), (".docker", "config.json"), (".cargo", "credentials"),
        (".cargo", "credentials.toml"), (".gem", "credentials"), (".m2", "settings.xml"),
        (".gradle", "gradle.properties"), (".terraform.d", "credentials.tfrc.json"),
        (".codex", "auth.json"), (".gemini", "oauth_creds.json"),
    }
)  # fmt: skip
_PATTERN = re.compile(
    r"\.env.*"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:[._-].*)?"
    r"|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|(?:credentials|client_secret|service[-_]account).*\.(?:json|toml|ya?ml)",
    re.DOTALL,
)
_EXAMPLES = frozenset({"example", "sample", "template", "tmpl", "dist", "pub"})


def is_credential_file(path: str) -> bool:
    """Tell whether `path` is, or lies in, a well-known place of credentials."""
    names = tuple(folded_name(name) for name in path.split("/") if name not in ("", "."))
    if not _DIRECTORIES.isdisjoint(names) or not _PAIRS.isdisjoint(itertools.pairwise(names)):
        return True
    return bool(names) and _is_credential_name(names[-1])


def credential_names(folder: str, names: Iterable[str]) -> set[str]:
    """Return those of the names in a directory that `is_credential_file` is true of."""
    if is_credential_file(f"{folder}/-"):
        return set(names)
    last = folded_name(folder.rstrip("/").rpartition("/")[2])
    return {
        name
        for name in names
        if _is_credential_name(folded := folded_name(name))
        or folded in _DIRECTORIES
        or (last, folded) in _PAIRS
    }


def _is_credential_name(name: str) -> bool:
    if name in _NAMES:
        return True
    return _PATTERN.fullmatch(name) is not None and _EXAMPLES.isdisjoint(name.split("."))
