"""Comparable trees: files by name, kind, mode and content, git by meaning.

Two commits of the same files have different names if their times differ, so a repository is
compared by the trees and subjects of its commits, not by the bytes of its objects and index.
"""

import os
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from tests.day.sites import Site

MAX_DIFFERENCES = 6
_OWN = (".yourtool", ".cache", ".local/share", ".local/state")
"""Directories of programs in the home directory."""
_GIT_CONTENTS = re.compile(
    r"config|config\.worktree|description|commondir|(info|hooks)/.*|worktrees/[^/]*/(gitdir|commondir)"
)
"""Files of a `.git` directory that do not name commits."""
_SHORT_NAME = re.compile(r"(?<=: )[0-9a-f]{7,12}\b")
"""The name of a commit in the subject of a stash entry."""


def read_tree(site: Site) -> dict[str, str]:
    """Return a description of everything that belongs to a project, by its path."""
    found = dict[str, str]()
    for path in _walk(site, site.root):
        name = path.relative_to(site.root).as_posix()
        found[name] = _describe(path)
        if _is_repository(path):
            found.update(_read_repository(site, path))
        if path.name == ".git":
            status = _ask(site, path.parent, "status", "--porcelain", "--branch", "--ignored")
            found[f"{name}: status"] = status
    return found


def compare(expected: Mapping[str, str], got: Mapping[str, str]) -> list[str]:
    """Return the differences of two trees, of which only the first are described."""
    names = sorted(name for name in {*expected, *got} if expected.get(name) != got.get(name))
    lines = [_contrast(name, expected.get(name), got.get(name)) for name in names]
    rest = len(lines) - MAX_DIFFERENCES
    return [*lines[:MAX_DIFFERENCES], *([f"and {rest} more"] if rest > 0 else [])]


def _contrast(name: str, expected: str | None, got: str | None) -> str:
    if expected is None:
        return f"`{name}` is there"
    if got is None:
        return f"`{name}` is missing"
    before, after = expected.splitlines(), got.splitlines()
    lost = [line for line in before if line not in after]
    new = [line for line in after if line not in before]
    return f"`{name}`: {'; '.join(new) or 'less'} instead of {'; '.join(lost) or 'less'}"[:300]


def _walk(site: Site, directory: Path) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            path = Path(entry.path)
            if any(path == site.home / own for own in _OWN):
                continue
            yield path
            is_store = entry.name == "objects" and _is_repository(directory)
            if entry.is_dir(follow_symlinks=False) and not is_store:
                yield from _walk(site, path)


def _is_repository(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _describe(path: Path) -> str:
    status = path.lstat()
    mode = stat.filemode(status.st_mode)
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if not path.is_file() or not _is_compared(path):
        return mode
    content = path.read_bytes()
    shown = f" {content.decode('utf-8', 'replace')!r}" if len(content) < 100 else ""
    return f"{mode} {len(content)} bytes {sha256(content).hexdigest()[:12]}{shown}"


def _is_compared(path: Path) -> bool:
    """Return True if the content of a file is reproducible."""
    if path.suffix == ".pyc":
        return False
    parts = [at for at, parent in enumerate(path.parents) if _is_repository(parent)]
    if not parts:
        return True
    return bool(_GIT_CONTENTS.fullmatch(path.relative_to(path.parents[parts[0]]).as_posix()))


def _read_repository(site: Site, path: Path) -> Iterator[tuple[str, str]]:
    name = path.relative_to(site.root).as_posix()
    head = (path / "HEAD").read_text("utf-8")
    yield f"{name}: HEAD", head if head.startswith("ref: ") else "a commit"
    form = "--format=%(refname) %(tree)%(*tree) %(subject) %(upstream)"
    yield f"{name}: references", _ask(site, path, "for-each-ref", form)
    # Commits of the same second are in the order of their names.
    commits = _ask(site, path, "log", "--all", "--format=%T %s").splitlines()
    yield f"{name}: commits", "\n".join(sorted(commits))
    if (path / "logs/refs/stash").is_file():
        stashes = _ask(site, path, "stash", "list", "--format=%T %gs")
        yield f"{name}: stashes", _SHORT_NAME.sub("#", stashes)


def _ask(site: Site, directory: Path, *arguments: str) -> str:
    return subprocess.run(
        ("git", "--no-optional-locks", *arguments),
        cwd=directory,
        env=site.environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
