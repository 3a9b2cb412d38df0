"""Environment of this process.

The kernel shows the initial environment of a process to every process of the same user (`ps e`,
`/proc/PID/environ`), so values that might be keys are overwritten there. `os.environ` is the
interpreter's own copy and still contains them. Import only small modules here, not even `re`: every
start imports this module before it paints.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping
from itertools import count

HOOK_DEPTH = "YOURTOOL_HOOK_DEPTH"
"""How many hooks a process runs in, one started in the other."""
PUBLIC = frozenset(
    {
        "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV",
        "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "RBENV_ROOT", "NVM_DIR", "VOLTA_HOME",
        "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME",
        "ANDROID_HOME", "DOTNET_ROOT", "SDKROOT", "DEVELOPER_DIR", "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
        "CI", "NO_COLOR", "FORCE_COLOR", HOOK_DEPTH,
    }
)  # fmt: skip
"""Variables without keys; read-only commands without an approval get only these."""

CALL = "YOURTOOL_CALL"
"""Set for all processes of a tool call, so that they can be found."""

_VISIBLE = PUBLIC | {"PATH", "TERM", "SHELL", "PWD", CALL}
_SECRET_WORDS = frozenset(
    {
        "key", "keys", "token", "tokens", "secret", "secrets", "password", "passwords", "passwd",
        "passphrase", "pwd", "pat", "credential", "credentials", "auth", "authorization", "cookie",
        "pass", "passcode", "creds", "jwt", "bearer", "mnemonic",
    }
)  # fmt: skip
_SECRET_ENDINGS = ("key", "token", "secret", "password", "passwd", "pass")
_SECRET_NAMES = ("bw_session", "op_session")
"""Beginnings of the names of variables that unlock password managers."""
_SECRET_BEGINNINGS = (
    "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xoxa-",
    "xoxb-", "xoxp-", "xai-", "gsk_", "hf_", "r8_", "pplx-", "nvapi-", "fw_", "tgp_", "csk-",
    "AIza", "AKIA", "ASIA", "ya29.", "eyJ", "xapp-", "xoxe", "SG.", "npm_", "pypi-", "shpat_",
    "dop_v1_", "hvs.", "glsa_", "AGE-SECRET-KEY-", "-----BEGIN ", "Bearer ", "Basic ",
    "https://hooks.slack.com/",
)  # fmt: skip
"""Prefixes of the keys of well-known services."""
_ACCOUNT_KEY = "AccountKey="
"""Part of the connection strings of Azure."""
_NOT_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
_ASKING = "askpass"
"""End of the names of variables with a program that asks for a password."""
_GIT_SETTING = "git_config_key_"
"""Beginning of the names of variables with the name of a setting of git."""


def get_hook_depth(environ: Mapping[str, str]) -> int:
    """Return how many hooks a process with this environment runs in."""
    text = environ.get(HOOK_DEPTH, "")
    return int(text[:9]) if text.isascii() and text.isdigit() else 0


def find_virtual_environment(outer: Mapping[str, str]) -> str:
    """Return the directory of programs of the active virtual environment; empty without one."""
    active = outer.get("VIRTUAL_ENV", "")
    return os.path.join(active, "bin") if active else ""  # noqa: PTH118 - pathlib is too slow


def find_absolute_path(outer: Mapping[str, str]) -> list[str]:
    """Return the directories of `PATH`, without relative ones."""
    entries = outer.get("PATH", os.defpath).split(os.pathsep)
    return [entry for entry in entries if entry.startswith("/")]


def find_outside_path(outer: Mapping[str, str], workspace: str) -> list[str]:
    """Return the directories of `PATH` in which no workspace file can shadow a program."""
    return [entry for entry in find_absolute_path(outer) if not is_inside(entry, workspace)]


def find_command_path(outer: Mapping[str, str], workspace: str) -> list[str]:
    """Return the directories of `PATH` outside the workspace, and the active environment."""
    own = find_virtual_environment(outer)
    outside = find_outside_path(outer, workspace)
    return [entry for entry in find_absolute_path(outer) if entry == own or entry in outside]


def is_inside(directory: str, workspace: str) -> bool:
    """Return whether a directory, whose links are followed, is the workspace or below it."""
    inside = os.path.join(workspace, "")  # noqa: PTH118
    return os.path.join(os.path.realpath(directory), "").startswith(inside)  # noqa: PTH118


def is_secret_name(name: str) -> bool:
    """Return whether a variable or header of this name usually contains a secret."""
    folded = name.casefold()
    if name in _NOT_SECRET or folded.endswith(_ASKING) or folded.startswith(_GIT_SETTING):
        return False
    words = folded.replace("-", "_").split("_")
    is_ending = folded.endswith(_SECRET_ENDINGS) or folded.startswith(_SECRET_NAMES)
    return is_ending or not _SECRET_WORDS.isdisjoint(words)


def is_key(name: str, value: str) -> bool:
    """Return whether a variable probably is a key, which commands of models do not get."""
    return is_secret_name(name) or value.startswith(_SECRET_BEGINNINGS) or _ACCOUNT_KEY in value


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable probably contains a key or a password."""
    return is_key(name, value) or any(find_logins(value))


def find_logins(value: str) -> Iterator[tuple[str, str]]:
    """Yield user and password of each URL in a value, as in `https://user:password@host`."""
    for rest in value.split("://")[1:]:
        address = rest.split(maxsplit=1)[0] if rest.strip() else ""
        login, at, _ = address.partition("/")[0].rpartition("@")
        user, _, password = login.partition(":")
        if at and password:
            yield user, password


def hide(environ: Mapping[str, str] = os.environ) -> None:
    """Overwrite the environment that other processes can read, except for public variables.

    C code still finds every variable that is not a secret, and a subprocess that is started without
    an explicit environment inherits only those.
    """
    try:
        first = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value
    except (OSError, ValueError):  # this system has no such symbol
        return
    for address, length in _hidden_values(first or 0):
        ctypes.memset(address, 0, length)
    for name in environ:
        os.unsetenv(name)
    for name, value in environ.items():
        if not is_secret(name, value):
            os.putenv(name, value)


def _hidden_values(first: int) -> Iterator[tuple[int, int]]:
    """Yield address and length of each value to hide; `first` is the first pointer's address."""
    size = ctypes.sizeof(ctypes.c_void_p)
    for place in count(first, size) if first else ():
        if (address := ctypes.c_void_p.from_address(place).value) is None:
            return
        text = ctypes.string_at(address)
        name, sign, _ = text.partition(b"=")
        if os.fsdecode(name) not in _VISIBLE and not name.startswith(b"LC_"):
            skipped = len(name) + 1 if sign else 0
            yield address + skipped, len(text) - skipped
