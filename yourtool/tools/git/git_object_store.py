"""Saved objects of repositories.

For each repository there is a bare one in the program's own data directory. Its objects are hard
links to those of the repository, which cost no space while the repository has them, and the
safety copies. It finds every other object through `alternates`. All functions block.
"""

import errno
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from yourtool.foundation.files import path_exists, read_small_file
from yourtool.tools.workspace.directory_opening import CREATE, LIST, READ
from yourtool.tools.workspace.replacing import make_directories, new_temporary_name

COPIES = "refs/copies/"
"""The safety copies."""
DAYS = 30
"""How long objects stay that the repository does not have any more."""
MAX_SAVED_BYTES = 2 * 2**30
"""Of such objects, in one repository."""
MAX_LINKS = 20_000
"""New links before one command; the next command continues."""
MAX_COPIED_BYTES = 64 * 2**20
"""Objects that are copied where links are impossible."""
_NOT_LINKABLE = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES)
_CLOCK_TICK_NS = 20_000_000
_OBJECT = re.compile(
    r"[0-9a-f]{38}|[0-9a-f]{62}|[0-9a-f]{64}"
    r"|pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|bitmap|mtimes|keep|promisor)"
)
_FOLDER = re.compile(r"[0-9a-f]{2}|pack")
_SHA256 = re.compile(
    rb"^[ \t]*objectformat[ \t]*=[ \t]*sha256[ \t\r]*$", re.IGNORECASE | re.MULTILINE
)
_CONFIG = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[gc]\n\tauto = 0\n"
_CONFIG_SHA256 = "[extensions]\n\tobjectformat = sha256\n"
_MAX_CONFIG_BYTES = 2**20
_PRUNED = "pruned"
"""A file whose time is that of the last removal of old objects."""


class GitObjectStore:
    """The saved objects of one repository."""

    def __init__(self, stores: Path, source: Path) -> None:
        """`stores`: the directory of all stores; `source`: the real path of a git directory."""
        name = hashlib.sha256(os.fsencode(source)).hexdigest()[:32]
        self.directory = stores / f"{name}.git"
        """The bare repository."""
        self.source = source
        self.problem = ""
        """Why not every object is saved."""
        self._seen: dict[str, int] = {}
        """The modification times of directories whose objects were all linked."""
        self._links = 0
        self._copied = 0

    def open(self) -> None:
        """Create the bare repository if it is missing, and remove what is old.

        Raises:
            OSError: it cannot be created.
        """
        if not path_exists(self.directory / "HEAD"):
            for name in ("objects/info", "refs"):
                (self.directory / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            settings = b""
            with suppress(OSError):
                settings = read_small_file(self.source / "config", _MAX_CONFIG_BYTES)
            (self.directory / "config").write_text(build_config(settings))
            (self.directory / "HEAD").write_text("ref: refs/heads/none\n")
        objects = os.fsencode(self.source / "objects")
        if b"\n" not in objects and not objects.startswith((b'"', b"#")):
            (self.directory / "objects/info/alternates").write_bytes(objects + b"\n")
        self._remove_old()

    # ── saving ──────────────────────────────────────────────────────────────────────────────────

    def save(self, places: Sequence[str]) -> None:
        """Link the objects that are new since the last call.

        `places`: the directories with objects, relative to the git directory.
        """
        self._links, self.problem = 0, ""
        for place in places:
            for folder in (place, *self._iter_folders(place)):
                if self._links >= MAX_LINKS:
                    self.problem = "not all of its objects are linked yet"
                    return
                self._save_folder(folder)

    def _iter_folders(self, place: str, level: int = 0) -> Iterator[str]:
        """Yield the directories of objects below a place."""
        with suppress(OSError), os.scandir(self.source / place) as entries:
            for entry in entries:
                if _FOLDER.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield f"{place}/{entry.name}"
                    if place.startswith("lfs/") and level == 0:
                        yield from self._iter_folders(f"{place}/{entry.name}", 1)

    def _save_folder(self, folder: str) -> None:
        try:
            changed = (self.source / folder).lstat().st_mtime_ns
            if self._seen.get(folder) == changed:
                return
            with os.scandir(self.source / folder) as entries:
                names = [
                    each.name
                    for each in entries
                    if _OBJECT.fullmatch(each.name) and each.is_file(follow_symlinks=False)
                ]
            target = self.directory / folder
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            missing = set(names) - set(os.listdir(target))  # noqa: PTH208 - names are enough
        except OSError as error:
            self.problem = f"its objects cannot be saved: {(error.strerror or str(error)).lower()}"
            return
        # The index of a pack comes last, because git uses a pack as soon as it has its index.
        linked = [
            self._link(self.source / folder / name, target / name)
            for name in sorted(missing, key=lambda each: each.endswith(".idx"))
        ]
        if all(linked) and changed < time.time_ns() - _CLOCK_TICK_NS:
            self._seen[folder] = changed

    def _link(self, source: Path, target: Path) -> bool:
        """Link an object, or copy it where links are impossible; return whether it is saved."""
        try:
            link_object(source, target)
            self._links += 1
        except (FileExistsError, FileNotFoundError):
            pass  # another process linked it, or git deleted it
        except OSError as error:
            if error.errno not in _NOT_LINKABLE:
                self.problem = f"its objects cannot be saved: {error.strerror}"
                return False
            return self._copy(source, target)
        return True

    def _copy(self, source: Path, target: Path) -> bool:
        try:
            size = source.lstat().st_size
            if self._copied + size > MAX_COPIED_BYTES:
                self.problem = (
                    "its objects cannot be linked, because they belong to somebody else or are on"
                    f" another file system than `{self.directory.parent}`, and are too large to"
                    " copy"
                )
                return False
            copy_object(source, target)
        except OSError as error:
            self.problem = f"its objects cannot be saved: {error.strerror}"
            return False
        self._copied += size
        self._links += 1
        return True

    # ── giving back ─────────────────────────────────────────────────────────────────────────────

    def give_back(self, directory: int) -> None:
        """Link what is missing in an open git directory into it; no link is followed.

        Raises:
            OSError: an object cannot be linked or copied.
        """
        for folder, _, names in os.walk(self.directory):
            place = os.path.relpath(folder, self.directory)
            if "objects" not in place.split("/"):
                continue
            with ExitStack() as opened:
                parts = tuple(place.split("/"))
                try:
                    target, _ = make_directories(directory, (), parts, opened)
                except NotADirectoryError:
                    continue  # a link
                present = set(_list(target))
                for name in sorted(set(names) - present, key=lambda each: each.endswith(".idx")):
                    if _OBJECT.fullmatch(name):
                        _give(Path(folder, name), name, target)

    # ── removing ────────────────────────────────────────────────────────────────────────────────

    def _remove_old(self) -> None:
        """Remove, once a day, objects that only this store has: old ones, and too many."""
        mark, now = self.directory / _PRUNED, time.time()
        with suppress(OSError):
            if now - mark.stat().st_mtime < 86_400:
                return
        alone = sorted(self._iter_alone(), reverse=True)
        size = 0
        for changed, path, length in alone:
            size += length
            if changed < now - DAYS * 86_400 or size > MAX_SAVED_BYTES:
                with suppress(OSError):
                    path.unlink()
        with suppress(OSError):
            for path in (self.directory / COPIES).iterdir():
                if path.stat().st_mtime < now - DAYS * 86_400:
                    path.unlink()
        with suppress(OSError):
            mark.touch()

    def _iter_alone(self) -> Iterator[tuple[float, Path, int]]:
        """Yield the time of the last change, path and size of objects without another link."""
        for folder, _, names in os.walk(self.directory):
            for path in (Path(folder, name) for name in names if _OBJECT.fullmatch(name)):
                with suppress(OSError):
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                        yield status.st_ctime, path, status.st_size


def build_config(settings: bytes) -> str:
    """Return the settings of a bare repository for the objects of one with other settings."""
    return _CONFIG + (_CONFIG_SHA256 if _SHA256.search(settings) else "")


def _list(directory: int) -> list[str]:
    """Return the names in a directory that is open as a place."""
    descriptor = os.open(".", LIST, dir_fd=directory)
    try:
        return os.listdir(descriptor)  # noqa: PTH208 - a descriptor
    finally:
        os.close(descriptor)


def _give(source: Path, name: str, directory: int) -> None:
    try:
        link_object(source, Path(name), directory)
    except FileExistsError:
        pass  # another process has just made it
    except OSError:
        copy_object(source, Path(name), directory)


def link_object(source: Path, target: Path, directory: int | None = None) -> None:
    """Make a hard link to an object; `directory`: open, of a target that is a name."""
    os.link(source, target, dst_dir_fd=directory, follow_symlinks=False)


def copy_object(source: Path, target: Path, directory: int | None = None) -> None:
    """Copy an object in one step; one with the same name has the same content."""
    part = target.with_name(new_temporary_name())
    with os.fdopen(os.open(source, READ), "rb") as original:
        if not stat.S_ISREG(os.fstat(original.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", str(source))
        try:
            created = os.open(part, CREATE, 0o444, dir_fd=directory)
            with os.fdopen(created, "wb") as copy:
                shutil.copyfileobj(original, copy)
            os.replace(part, target, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=directory)
            raise
