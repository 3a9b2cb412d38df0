"""File changes of a command.

A scan reads names, times and sizes, not content. To restore a file that a command will change, its
content has to be known before: it is the object that git has for an unchanged tracked file, or
or else copied into memory, up to a limit. Files that git ignores count only if they are deleted,
unless they are tracked or a call changed them. What a command moved here from a place that is not
watched was not written by it, so the change cannot be taken back.
"""

import logging
import os
import stat
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.errors import ToolError
from yourtool.foundation.file_images import ABSENT_FILE, FileImage, FileState
from yourtool.settings.agent_config import UndoConfig
from yourtool.tools.changes.command_changes import (
    CommandChange,
    CommandChanges,
    Signature,
    is_storable_path,
    with_equal_content,
)
from yourtool.tools.changes.ignored_files import (
    NO_IGNORED_FILES,
    IgnoredFiles,
    find_ignored_files,
    find_missing,
)
from yourtool.tools.git.git_index import GitIndex, read_index
from yourtool.tools.git.repository_watch import RepositoryWatch
from yourtool.tools.workspace.directory_walk import open_tree
from yourtool.tools.workspace.file_states import MAX_STORED_BYTES, read_state
from yourtool.tools.workspace.replacing import digest, is_temporary_name
from yourtool.tools.workspace.workspace import Workspace

_log = logging.getLogger(__name__)

MAX_WATCHED_FILES = 100_000
MAX_COMMAND_CHANGES = 1_000
"""Further files that one command changes are only counted."""
MAX_DELETED_FILES = 5_000
"""Further files that one command deletes are only counted."""
_MAX_TOTAL_STORED_BYTES = 64 * 2**20
"""The content of further changed files is not stored."""
_MAX_NAMED_DIRECTORIES = 100
_CLOCK_TICK_NS = 20_000_000
"""File systems use a clock that can be this late."""
_LIMITS = UndoConfig()
_UNKNOWN = FileState(FileImage("other"))


class _Scan(Struct, frozen=True):
    signatures: dict[str, Signature]
    folders: set[str]
    """The directories that were read, each with a slash at the end."""
    clean: dict[str, str]
    """Ids of the git objects of unchanged tracked files."""
    index: GitIndex
    ignored: IgnoredFiles
    is_complete: bool
    started_ns: int

    def is_recent(self, path: str) -> bool:
        """Whether a file can change again without a change of its times."""
        signature = self.signatures.get(path)
        return signature is not None and self.is_after_start(signature)

    def is_after_start(self, signature: Signature) -> bool:
        """Whether a file changed so late that its times may be those of its next change."""
        return signature.ctime_ns >= self.started_ns


class WorkspaceWatch:
    """Finds the changes of commands; all methods block, and are thread-safe.

    Commands that run at the same time share a scan, and a change belongs to the first that ends.
    """

    def __init__(
        self, workspace: Workspace, stores: Path | None = None, limits: UndoConfig = _LIMITS
    ) -> None:
        """`stores`: the directory of saved objects of git; None: its repository is not watched."""
        self.limits = limits
        self._workspace = workspace
        self._repository = RepositoryWatch(workspace.root, stores) if stores else None
        self._lock = threading.Lock()
        self._running = 0
        self._scan: _Scan | None = None
        self._known: dict[str, tuple[Signature, FileState]] = {}
        """Copies of files, each with the signature that the file had."""
        self._recent: set[str] = set()
        """Files that had just changed when they were copied, so they are copied each time."""
        self._touched: dict[str, None] = {}
        """Paths that calls changed, which are watched also if git ignores them."""

    def begin(self, copy: GitIndex | None = None, *, only_reads: bool = False) -> None:
        """Prepare for a command; `copy` has the content of files that git does not track.

        `only_reads`: the command is known to change nothing, so the repository is not noted.
        """
        with self._lock:
            self._running += 1
            if self._repository is not None and not only_reads:
                self._repository.begin()
            if self._running > 1:
                return
            try:
                index = read_index(self._workspace.root).join(copy)
                if self._repository is not None and self._repository.objects is not None:
                    index = replace(index, directory=self._repository.objects)
                self._scan = self._scan_files(index)
                self._copy_unknown_files(self._scan)
            except (OSError, ToolError) as error:
                _log.warning("changes of commands cannot be undone: %s", error)
                self._scan = None

    def end(self) -> CommandChanges:
        """Return what changed since the start of the command, or since another one ended."""
        with self._lock:
            self._running -= 1
            return self._take_all()

    def take(self) -> CommandChanges:
        """Return what changed so far; only later changes are those of commands that run now."""
        with self._lock:
            return self._take_all()

    def _take_all(self) -> CommandChanges:
        found = self._take()
        if self._repository is None:
            return found
        changes = self._repository.take(is_last=not self._running)
        noted = [
            CommandChange(each.path, each.before, each.after, each.directories) for each in changes
        ]
        more = max(0, len(noted) - MAX_COMMAND_CHANGES)
        return CommandChanges((*noted[:MAX_COMMAND_CHANGES], *found.changes), found.omitted + more)

    def _take(self) -> CommandChanges:
        before, self._scan = self._scan, None
        if before is None:
            return CommandChanges()
        try:
            after = self._scan_files(before.index, like=before)
        except (OSError, ToolError) as error:
            _log.warning("the changes of a command cannot be undone: %s", error)
            return CommandChanges()
        found = self._compare(before, after)
        deleted = self._find_deleted(before.ignored)
        if self._running:
            # A new directory without a file of this command is one that another just made.
            created = {f"{name}/" for each in found.changes for name in each.directories}
            changed = {each.path for each in found.changes}
            self._scan = replace(
                after,
                folders=after.folders & (before.folders | created),
                clean={path: key for path, key in before.clean.items() if path not in changed},
                ignored=before.ignored.without(each.path for each in deleted),
                started_ns=before.started_ns,
            )
            for each in found.changes:  # the next change of the file starts from this state
                signature = after.signatures.get(each.path)
                if each.after.content is not None and signature is not None:
                    self._known[each.path] = signature, each.after
        return CommandChanges((*found.changes, *deleted), found.omitted)

    def _find_deleted(self, ignored: IgnoredFiles) -> list[CommandChange]:
        """Return the files that git ignores and that a command deleted."""
        try:
            files, directories = find_missing(self._workspace, ignored)
        except ToolError:
            return []
        changes = [
            CommandChange(
                path, self._earlier_state(path, ignored.files[path], None), FileState(ABSENT_FILE)
            )
            for path in list(filter(is_storable_path, files))[:MAX_DELETED_FILES]
        ]
        named = list(filter(is_storable_path, directories))[:_MAX_NAMED_DIRECTORIES]
        return changes + [CommandChange(path, _UNKNOWN, FileState(ABSENT_FILE)) for path in named]

    @contextmanager
    def writing(self, path: str) -> Generator[None, None, None]:
        """A file tool writes a file: not a change of a command that runs meanwhile."""
        with self._lock:
            yield
            self._touched[path] = None
            if self._scan is not None:
                self._begin_again(self._scan, path)

    def take_file(self, path: str) -> CommandChanges:
        """Return how the commands that run now changed a file, which a file tool will write."""
        with self._lock:
            if (before := self._scan) is None:
                return CommandChanges()
            known = before.signatures.get(path)
            if known == self._get_signature(path) and not before.is_recent(path):
                return CommandChanges()
            try:
                after = self._scan_files(before.index, like=before)
            except (OSError, ToolError) as error:
                _log.warning("the change of a command cannot be undone: %s", error)
                return CommandChanges()
            found = self._compare(before, after, path)
            if found:
                created = (name for each in found.changes for name in each.directories)
                before.folders.update(f"{name}/" for name in created)
                self._begin_again(before, path)
            return found

    def _begin_again(self, scan: _Scan, path: str) -> None:
        """Let the next change of a file start from its present state."""
        if (signature := self._get_signature(path)) is None:
            scan.signatures.pop(path, None)
        else:
            scan.signatures[path] = signature
            if (state := self._read(path, signature)).content is not None:
                self._known[path] = signature, state
        scan.clean.pop(path, None)

    def _get_signature(self, path: str) -> Signature | None:
        try:
            with self._workspace.open_parent(path) as parent:
                if parent is None:
                    return None
                status = os.stat(parent.name, dir_fd=parent.descriptor, follow_symlinks=False)
        except (OSError, ToolError):
            return None
        return Signature.of(status)

    def _scan_files(self, index: GitIndex, like: _Scan | None = None) -> _Scan:
        """Return the signatures of the watched files.

        `like`: an earlier scan; if it was incomplete, only its files are compared.
        """
        signatures, clean, is_complete = dict[str, Signature](), dict[str, str](), True
        started, folders = time.time_ns() - _CLOCK_TICK_NS, set[str]()
        with open_tree(self._workspace, ".", threading.Event()) as tree:

            def add(path: str) -> None:
                try:
                    status = os.stat(path, dir_fd=tree.descriptor, follow_symlinks=False)
                except OSError:
                    return
                if not stat.S_ISDIR(status.st_mode):
                    signatures[path] = Signature.of(status)
                    entry = index.entries.get(path)
                    if entry is not None and entry.is_clean(status):
                        clean[path] = entry.object_id

            if like is not None and not like.is_complete:
                for path in like.signatures:
                    add(path)
                return _Scan(signatures, folders, clean, index, like.ignored, False, started)
            for folder in tree.folders:
                folders.add(folder.path)
                for name in (*folder.names, *folder.links):
                    if not is_temporary_name(name):  # of a write tool that runs at the same time
                        add(folder.path + name)
                if len(signatures) >= MAX_WATCHED_FILES:
                    is_complete = False
                    break
            known = () if like is None else like.signatures
            for path in {*index.entries, *self._touched, *known} - signatures.keys():
                add(path)
        ignored = NO_IGNORED_FILES if like is None else like.ignored
        if like is None and is_complete:
            ignored = find_ignored_files(self._workspace, signatures, folders)
        return _Scan(signatures, folders, clean, index, ignored, is_complete, started)

    def _copy_unknown_files(self, scan: _Scan) -> None:
        """Copy files whose content would be lost: links, then the latest, up to the limits."""
        every = {**scan.signatures, **scan.ignored.files}
        known = {
            path: (signature, state)
            for path, (signature, state) in self._known.items()
            if every.get(path) == signature and path not in self._recent
        }
        self._recent = {path for path, each in every.items() if scan.is_after_start(each)}
        self._known = known
        total = sum(len(state.content or b"") for _, state in known.values())
        wanted = [
            (stat.S_ISLNK(signature.mode), signature.mtime_ns, path)
            for path, signature in every.items()
            if path not in known
            and path not in scan.clean
            and signature.size <= self.limits.max_file_bytes
        ]
        count = len(known)
        for is_link, _, path in sorted(wanted, reverse=True):
            signature = every[path]
            is_beyond = total + signature.size > self.limits.max_bytes
            if not is_link and (count >= self.limits.max_files or is_beyond):
                continue
            if (state := self._read(path, signature)).content is not None:
                count += 1
                total += len(state.content)
                known[path] = signature, state

    def _read(self, path: str, signature: Signature, limit: int = MAX_STORED_BYTES) -> FileState:
        """Return the state of a file; unknown if it is secret, unreadable, or just changing."""
        try:
            is_link = stat.S_ISLNK(signature.mode)  # its target is a name, which is no secret
            if not is_link and self._workspace.is_credential_file(f"./{path}"):
                return _UNKNOWN
            state = read_state(self._workspace, path, limit)
        except ToolError:
            return _UNKNOWN
        return state if self._get_signature(path) == signature else _UNKNOWN

    def _compare(self, before: _Scan, after: _Scan, only: str | None = None) -> CommandChanges:
        """Return the changes between two scans; `only`: those of one path."""
        every = sorted({*before.signatures, *after.signatures})
        different = [
            path
            for path in every
            if before.signatures.get(path) != (new := after.signatures.get(path))
            and not before.ignored.has_unchanged(path, new, before.started_ns)
        ]
        storable = [path for path in different if is_storable_path(path)]
        gone = [path for path in storable if path not in after.signatures]
        rest = [path for path in storable if path in after.signatures]
        paths = sorted((*gone[:MAX_DELETED_FILES], *rest[:MAX_COMMAND_CHANGES]))
        omitted = len(different) - len(paths)
        recent = [path for path in every if before.is_recent(path) and is_storable_path(path)]
        paths = list(dict.fromkeys((*paths, *recent[:MAX_COMMAND_CHANGES])))
        moved_in = self._moved_in(before, after, paths)
        if only is not None:
            paths, omitted = [path for path in paths if path == only], 0
        ids = [before.clean[path] for path in paths if path in before.clean]
        objects = before.index.read_objects(ids, MAX_STORED_BYTES)
        changes, room = list[CommandChange](), _MAX_TOTAL_STORED_BYTES
        for path in paths:
            old, new = before.signatures.get(path), after.signatures.get(path)
            limit = MAX_STORED_BYTES if room > 0 else 0
            state = FileState(ABSENT_FILE) if new is None else self._read(path, new, limit)
            if state is _UNKNOWN and (new := self._get_signature(path)) not in (None, old):
                after.signatures[path] = new  # it has changed since the scan
                state = self._read(path, new, limit)
            content = objects.get(before.clean.get(path, ""))
            earlier = self._earlier_state(path, old, content)
            earlier = with_equal_content(earlier, state, old, new)
            earlier = _UNKNOWN if path in moved_in else earlier
            if not earlier.image.is_same(state.image):
                room -= len(state.content or b"")
                created = _find_created(path, before, after) if old is None else ()
                changes.append(CommandChange(path, earlier, state, created))
        self._touched |= dict.fromkeys(change.path for change in changes)
        return CommandChanges(tuple(changes), omitted)

    def _moved_in(self, before: _Scan, after: _Scan, paths: list[str]) -> set[str]:
        """Return the paths whose content may come from a file that was not watched."""
        inodes = {each.inode for each in before.signatures.values()}
        rules_changed = any(path.rpartition("/")[2] == ".gitignore" for path in paths)
        is_unclear = rules_changed and not before.ignored.is_complete
        return {
            path
            for path in paths
            if (new := after.signatures.get(path)) is not None
            and (
                (new.mtime_ns < before.started_ns and new.inode not in inodes)
                or (path not in before.signatures and before.ignored.has(path))
                or (is_unclear and path not in before.signatures and path[-10:] != ".gitignore")
            )
        }

    def _earlier_state(
        self, path: str, signature: Signature | None, content: bytes | None
    ) -> FileState:
        """Return the state of a file before the command; `content`: from the git object."""
        if signature is None:
            return FileState(ABSENT_FILE)
        known = self._known.get(path)
        if known is not None and known[0] == signature:
            return known[1]
        mode = stat.S_IMODE(signature.mode)
        if content is not None and len(content) == signature.size:
            return FileState(FileImage("file", digest(content), mode, len(content)), content)
        kind = "link" if stat.S_ISLNK(signature.mode) else "file"
        is_file = stat.S_ISREG(signature.mode) or kind == "link"
        return FileState(FileImage(kind if is_file else "other", "", mode, signature.size))


def _find_created(path: str, before: _Scan, after: _Scan) -> tuple[str, ...]:
    """Return the directories of a path that did not exist before."""
    parts = path.split("/")
    above = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return tuple(
        each for each in above if f"{each}/" in after.folders and f"{each}/" not in before.folders
    )
