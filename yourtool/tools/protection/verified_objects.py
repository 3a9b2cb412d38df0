"""Git objects with verified hashes.

Commands can write in the directory of objects, and git does not compare the hashes of all objects
that it reads: a pack could name a forged tree by the id of an existing one.
https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from yourtool.tools.git.git_program import GitRunner

NO_FORGERY = ("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false")
"""Options against files that commands can write and that name parents of commits."""
_MAX_COMMITS = 20_000


class Blob(Struct, frozen=True):
    """What a commit has at a path."""

    mode: str
    object_id: str


class _Missing(Exception):  # noqa: N818 - a request, not an error
    def __init__(self, object_id: str) -> None:
        super().__init__(object_id)
        self.object_id = object_id


class VerifiedObjects:
    """Reads commits and trees; starts git."""

    def __init__(self, git: GitRunner) -> None:
        self._git = git
        self._known: dict[str, tuple[str, bytes] | None] = {}
        """Type and content by id; None: missing or forged."""

    def find_entries(self, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], Blob]:
        """Return what commits have at paths, for each pair of both that has something there."""
        found, waiting = dict[tuple[str, str], Blob](), list(pairs)
        self._read(_iter_requests(waiting))
        while waiting:
            missing, again = set[str](), list[tuple[str, str]]()
            for pair in waiting:
                try:
                    entry = self._find_entry(*pair)
                except _Missing as request:
                    missing.add(request.object_id)
                    again.append(pair)
                else:
                    if entry is not None:
                        found[pair] = entry
            self._read(missing)
            waiting = again
        return found

    def is_ancestor(self, commit: str, tips: Sequence[str]) -> bool:
        """Whether a commit is one of these, or before one of them, by verified commits."""
        if commit in tips:
            return True
        data = "".join(f"{tip}\n" for tip in tips) + f"^{commit}\n"
        options = ("--parents", "--ancestry-path", f"--max-count={_MAX_COMMITS}")
        printed = self._git.run(
            *NO_FORGERY, "rev-list", *options, "--ignore-missing", "--stdin", data=data.encode()
        )
        parents = {line.split()[0]: line.split()[1:] for line in printed.decode().splitlines()}
        chain = _find_chain(commit, [tip for tip in tips if tip in parents], parents)
        self._read(chain)
        return bool(chain) and all(
            younger == older or older in self._get_parents(younger)
            for younger, older in itertools.pairwise(chain)
        )

    def get_parents(self, commit: str) -> Sequence[str]:
        """Return the ids of the parents of a commit; nothing if it is missing or forged."""
        self._read([commit])
        return self._get_parents(commit)

    def _find_entry(self, commit: str, path: str) -> Blob | None:
        entry: Blob | None = Blob("40000", self._get_field(commit, b"tree"))
        for name in path.split("/"):
            if entry is None or entry.mode != "40000":
                return None
            names = dict(_iter_tree(self._get(entry.object_id, "tree"), len(commit) // 2))
            entry = names.get(name.encode("utf-8", "surrogateescape"))
        return entry

    def _get_field(self, commit: str, name: bytes) -> str:
        for line in self._get(commit, "commit").split(b"\n\n")[0].split(b"\n"):
            if line.startswith(name + b" "):
                return line.split(b" ")[1].decode("ascii", "replace")
        return ""

    def _get_parents(self, commit: str) -> Sequence[str]:
        lines = self._get(commit, "commit").split(b"\n\n")[0].split(b"\n")
        return [line[7:].decode("ascii", "replace") for line in lines if line[:7] == b"parent "]

    def _get(self, object_id: str, kind: str) -> bytes:
        """Return the content of an object; empty if there is no such object."""
        if not object_id:
            return b""
        if object_id not in self._known:
            raise _Missing(object_id)
        found = self._known[object_id]
        return b"" if found is None or found[0] != kind else found[1]

    def _read(self, names: Iterable[str]) -> None:
        """Read objects by id, or by another name of git; each is then known by its id."""
        wanted = [each for each in dict.fromkeys(names) if each not in self._known]
        if not wanted:
            return
        data = "".join(f"{each}\n" for each in wanted).encode("utf-8", "surrogateescape")
        printed = self._git.run(*NO_FORGERY, "cat-file", "--batch", data=data)
        self._known.update(dict.fromkeys(wanted))
        at = 0
        for _ in wanted:
            end = printed.index(b"\n", at)
            line = printed[at:end]
            at = end + 1
            if line.endswith((b" missing", b" ambiguous")):
                continue
            fields = line.split(b" ")
            content = printed[at : at + int(fields[2])]
            at += int(fields[2]) + 1
            object_id = fields[0].decode()
            if _hash(fields[1], content, len(object_id)) == object_id:
                self._known[object_id] = fields[1].decode(), content


def _iter_requests(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the names of commits with all trees above paths, which one process then reads."""
    for commit, path in pairs:
        yield commit
        yield f"{commit}^{{tree}}"
        directory = path.rpartition("/")[0]
        while directory:
            yield f"{commit}:{directory}"
            directory = directory.rpartition("/")[0]


def _find_chain(
    commit: str, tips: Sequence[str], parents: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """Return the commits from one of the tips to a commit; nothing without a connection."""
    younger: dict[str, str | None] = dict.fromkeys(tips)
    waiting = list(tips)
    for each in waiting:
        for parent in parents.get(each, ()):
            if parent not in younger:
                younger[parent] = each
                waiting.append(parent)
    if commit not in younger:
        return ()
    chain, at = list[str](), commit
    while True:
        chain.append(at)
        above = younger[at]
        if above is None:
            return chain[::-1]
        at = above


def _iter_tree(content: bytes, width: int) -> Iterator[tuple[bytes, Blob]]:
    """Yield the entries of a tree; `width`: bytes of an id."""
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        at = end + 1 + width
        yield name, Blob(mode.decode("ascii", "replace"), content[end + 1 : at].hex())


def _hash(kind: bytes, content: bytes, length: int) -> str:
    new = hashlib.sha256 if length == 64 else hashlib.sha1
    return new(b"%s %d\0" % (kind, len(content)) + content).hexdigest()


def hash_blob(content: bytes, length: int) -> str:
    """Return the id of a file's content, with this number of hexadecimal digits."""
    return _hash(b"blob", content, length)
