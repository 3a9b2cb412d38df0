"""Source commits of protected content.

Only commits that existed before a command count, because a command could commit any content and
then check it out.
"""

import logging
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from yourtool.git.repositories import Repository
from yourtool.tools.git.git_program import GitError, GitRunner
from yourtool.tools.protection.entries import Entry, is_executable
from yourtool.tools.protection.verified_objects import (
    NO_FORGERY,
    Blob,
    VerifiedObjects,
    hash_blob,
)

_log = logging.getLogger(__name__)

SECONDS = 3.0
"""Content that is not found in the history in this time counts as a change of the command."""
_SECONDS_OF_LOOKUPS = 10.0
_MAX_LOOKUPS = 10_000
_MAX_BASES = 20
_MAX_SEARCHES = 100
"""Searches in the history for one command."""
_MAX_TIPS = 5_000
_OWN = ".yourtool"
_MAX_VERIFIED = 5
"""Commits with the same content at a path that are verified."""


class Leaf(Struct, frozen=True):
    """A file or link before and after a command."""

    path: str
    """Relative to the work tree."""
    before: Entry | None
    after: Entry | None


class Origins:
    """Looks for content in commits, until a deadline; starts git."""

    def __init__(
        self, repository: Repository, known: Collection[str], head: str | None, now: Iterable[str]
    ) -> None:
        """`known`: the commits that count, `now`: those that refs name after the command."""
        self._git = GitRunner(repository, _SECONDS_OF_LOOKUPS)
        self._history = GitRunner(repository, SECONDS)
        self._objects = VerifiedObjects(self._git)
        self._bases: Sequence[str] | None = None
        self._known = sorted(known)[:_MAX_TIPS]
        self._head = head
        self._now = sorted(set(now) | set(known))[:_MAX_TIPS]
        self._width = max((len(each) for each in self._now), default=40)

    def find_right(self, leaves: Iterable[Leaf]) -> frozenset[str]:
        """Return the paths whose content, or whose absence, comes from a commit."""
        usable = [each for each in leaves if "\n" not in each.path and "\0" not in each.path]
        if not usable or not self._known:
            return frozenset()
        written = {each.path: each.after for each in usable if each.after is not None}
        deleted = {each.path: each.before for each in usable if each.after is None and each.before}
        try:
            right = self._find_written(written, self._known)
            if deleted and (gone := self._find_gone(deleted)):
                lost = {path: deleted[path] for path in gone}
                right |= self._find_written(lost, self._now)
        except (GitError, ValueError) as error:
            _log.info("what commits have at protected places is not known: %s", error)
            return frozenset()
        return frozenset(right)

    # ── content ─────────────────────────────────────────────────────────────────────────────────

    def _find_written(self, entries: dict[str, Entry], tips: Sequence[str]) -> set[str]:
        wanted = {path: set(self._iter_blobs(entry)) for path, entry in entries.items()}
        pairs = [(base, path) for base in self._get_bases() for path in wanted if wanted[path]]
        found = self._objects.find_entries(pairs[:_MAX_LOOKUPS])
        right = {path for (_, path), blob in found.items() if blob in wanted[path]}
        if rest := {path: blobs for path, blobs in wanted.items() if path not in right}:
            right |= self._find_at_tips(rest, tips)
        rest = {path: blobs for path, blobs in rest.items() if path not in right}
        existing = self._find_existing(
            {each.object_id for blobs in rest.values() for each in blobs}
        )
        searches = [
            (path, blob)
            for path, blobs in sorted(rest.items())
            for blob in blobs
            if blob.object_id in existing
        ]
        for path, blob in searches[:_MAX_SEARCHES]:
            if self._is_in_history(path, blob, tips):
                right.add(path)
        return right

    def _find_existing(self, object_ids: Iterable[str]) -> set[str]:
        """Return the ids of existing objects: a command usually writes new content."""
        wanted = sorted(object_ids)
        if not wanted:
            return set()
        return set(filter(None, self._check(wanted)))

    def _iter_blobs(self, entry: Entry) -> Iterator[Blob]:
        if entry.content is None or entry.mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH):
            return
        if entry.kind == "link":
            yield Blob("120000", self._digest(entry.content))
        elif entry.kind == "file":
            mode = "100755" if is_executable(entry) else "100644"
            yield Blob(mode, self._digest(entry.content))
            if b"\r\n" in entry.content and b"\0" not in entry.content:  # `core.autocrlf`, `eol`
                yield Blob(mode, self._digest(entry.content.replace(b"\r\n", b"\n")))

    def _digest(self, content: bytes) -> str:
        return hash_blob(content, self._width)

    def _find_at_tips(self, wanted: dict[str, set[Blob]], tips: Sequence[str]) -> set[str]:
        found = dict[str, set[str]]()
        pairs = [(tip, path) for tip in tips for path in wanted if wanted[path]][:_MAX_LOOKUPS]
        for (tip, path), object_id in zip(pairs, self._look_up(pairs), strict=True):
            if any(blob.object_id == object_id for blob in wanted[path]):
                found.setdefault(path, set()).add(tip)
        entries = self._objects.find_entries(
            (tip, path) for path, tips in found.items() for tip in sorted(tips)[:_MAX_VERIFIED]
        )
        return {path for (_, path), blob in entries.items() if blob in wanted[path]}

    def _look_up(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Return the id of the object that each commit has at a path; empty if it has none."""
        return self._check([f"{tip}:{path}" for tip, path in pairs])

    def _check(self, names: Sequence[str]) -> list[str]:
        """Return the object id of each name; empty if git has no such object."""
        data = _encode("".join(f"{each}\n" for each in names))
        printed = self._git.run(*NO_FORGERY, "cat-file", "--batch-check=%(objectname)", data=data)
        lines = printed.split(b"\n")[: len(names)]
        return ["" if b" " in line else line.decode() for line in lines]

    def _is_in_history(self, path: str, blob: Blob, tips: Sequence[str]) -> bool:
        """Whether a commit adds or removes this content at a path."""
        arguments = (
            *NO_FORGERY, "--literal-pathspecs", "log", f"--find-object={blob.object_id}",
            "--max-count=1", "--diff-merges=separate", "--no-patch", "--root",
            "--no-show-signature", "--format=%H", "--stdin", "--ignore-missing",
        )  # fmt: skip
        data = "".join(f"{tip}\n" for tip in tips) + f"--\n{path}"
        try:
            commit = self._history.run(*arguments, data=_encode(data)).decode().strip()
        except GitError:
            return False  # not found in time
        if not commit or not self._objects.is_ancestor(commit, tips):
            return False
        pairs = [(each, path) for each in (commit, *self._objects.get_parents(commit))]
        return blob in self._objects.find_entries(pairs).values()

    # ── absence ─────────────────────────────────────────────────────────────────────────────────

    def _find_gone(self, paths: Iterable[str]) -> set[str]:
        """Return the paths that the checked out commit does not have.

        Before the commit that added a path the repository had none there, so what is gone is as
        known as older content. Our own settings of a project only forbid things: without them more
        is allowed, so a commit from before the command has to be without them, too.
        """
        if self._head is None:
            return set()
        gone = self._find_missing((self._head,), paths)
        own = {path for path in gone if _OWN in path.split("/")}
        return gone - own | self._find_missing(self._get_bases(), own)

    def _find_missing(self, commits: Iterable[str], paths: Iterable[str]) -> set[str]:
        """Return the paths that one of the commits does not have."""
        pairs = [(commit, path) for commit in commits for path in paths][:_MAX_LOOKUPS]
        found = zip(pairs, self._look_up(pairs), strict=True)
        return {path for (_, path), object_id in found if not object_id}

    # ── commits ─────────────────────────────────────────────────────────────────────────────────

    def _get_bases(self) -> Sequence[str]:
        """Return the latest known commits on which the checked out commit is based.

        That is the commit itself unless the command made it. They are looked at first, because most
        commands check them out.
        """
        if self._bases is None:
            self._bases = self._find_bases() if self._head else ()
        return self._bases

    def _find_bases(self) -> Sequence[str]:
        if self._head in self._known:
            return [self._head]
        data = "".join(f"^{each}\n" for each in self._known) + f"{self._head}\n"
        arguments = ("rev-list", "--boundary", "--ignore-missing", "--stdin")
        printed = self._git.run(*NO_FORGERY, *arguments, data=data.encode()).decode().split()
        bases = [each[1:] for each in printed if each.startswith("-")] or [self._head or ""]
        return [each for each in bases[:_MAX_BASES] if self._objects.is_ancestor(each, self._known)]


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
