"""Directories of the user and shipped files.

`YOURTOOL_HOME` moves everything. Otherwise `~/.yourtool` contains the files that a person edits,
and the platform's directories (platformdirs) contain the rest.
"""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from platformdirs import PlatformDirs

from yourtool.errors import UsageError
from yourtool.foundation.files import is_directory
from yourtool.foundation.text import encodable


class Paths(Struct, frozen=True):
    """The directories of one run, which may not exist yet."""

    home: Path
    """Files that a person edits, such as `config.toml` and `permissions.toml`."""
    data: Path
    """The session database and blobs."""
    state: Path
    """Logs, locks, prompt history."""
    cache: Path
    """Files that can be deleted at any time."""

    @property
    def database(self) -> Path:
        """The session database."""
        return self.data / "sessions.db"

    @property
    def blobs(self) -> Path:
        """The attachments of messages; see `yourtool.messages.blobs`."""
        return self.data / "blobs"

    @property
    def price_tables(self) -> Path:
        """The price tables of stored requests."""
        return self.data / "prices"

    @property
    def mcp_servers(self) -> Path:
        """The user's file of MCP servers."""
        return self.home / "mcp.json"

    @property
    def scratch(self) -> Path:
        """The directory of the demo's copies of workspaces."""
        return self.cache / "scratch"

    def spill_directory(self, session_id: str) -> Path:
        """Return the directory of the long tool outputs of a session."""
        return self.state / "spill" / session_id

    @property
    def copied_text(self) -> Path:
        """The last text that was copied where there is no clipboard; mode 0600."""
        return self.state / "copied.txt"

    @property
    def log_file(self) -> Path:
        """The diagnostic log; mode 0600."""
        return self.state / "log" / "yourtool.log"


def own_directories(paths: Paths) -> tuple[Path, ...]:
    """Return the directories of this run, and the default ones, which need a home directory."""
    every = [*_directories(paths)]
    with suppress(RuntimeError):
        every += _directories(_default_paths())
    return tuple(dict.fromkeys(every))


def resolve_paths(session_dir: str | None = None) -> Paths:
    """Return the directories of this run; `session_dir` (an option) only moves the data.

    Raises:
        UsageError: the home directory is unknown, or that of a user whom a path names.
    """
    if override := os.environ.get("YOURTOOL_HOME"):
        root = _find_absolute(override, f"`YOURTOOL_HOME={override}`")
        paths = Paths(root, root / "data", root / "state", root / "cache")
    else:
        try:
            paths = _default_paths()
        except RuntimeError as error:
            problem = "there is no home directory; set `HOME` or `YOURTOOL_HOME` to one"
            raise UsageError(problem) from error
    if session_dir is None:
        return paths
    data = _find_absolute(session_dir, f"`--session-dir {session_dir}`")
    return Paths(paths.home, data, paths.state, paths.cache)


def _find_absolute(text: str, name: str) -> Path:
    try:
        return Path(text).expanduser().absolute()
    except (OSError, RuntimeError) as error:  # no such user, or a deleted working directory
        raise UsageError(f"{name} is not a directory: {error}") from error


def require_data_directory(paths: Paths) -> None:
    """Create the directory of the sessions, and check that files can be created in it.

    Raises:
        UsageError: the directory is not writable; the text names it.
    """
    probe = paths.data / f".probe-{os.getpid()}"
    try:
        paths.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        probe.unlink()
    except OSError as error:
        raise UsageError(
            f"sessions cannot be stored in `{paths.data}`: {error.strerror or error}; name a"
            " directory that you can write with `--session-dir DIR`, or set `YOURTOOL_HOME` to one"
        ) from error


def _default_paths() -> Paths:
    dirs = PlatformDirs("yourtool", appauthor=False)
    return Paths(
        Path.home() / ".yourtool", dirs.user_data_path, dirs.user_state_path, dirs.user_cache_path
    )


def _directories(paths: Paths) -> tuple[Path, ...]:
    return paths.home, paths.data, paths.state, paths.cache, paths.log_file.parent


def shipped_directory(kind: str) -> Path:
    """Return the shipped directory `themes` or `config`, installed or in a checkout."""
    package = Path(__file__).parent
    installed = package / "data" / kind
    return installed if is_directory(installed) else package.parent / kind


def to_stored_path(path: Path) -> str:
    """Return a path as text that can be stored: as a URI if its name is not UTF-8."""
    text = str(path)
    return text if encodable(text) == text else path.as_uri()


def from_stored_path(stored: str) -> Path:
    """Return the path of `to_stored_path`."""
    scheme, is_uri, name = stored.partition("file://")
    return Path(os.fsdecode(unquote_to_bytes(name)) if is_uri and not scheme else stored)
