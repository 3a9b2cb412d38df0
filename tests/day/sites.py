"""The folders of a project: its own one, a home, and a remote next to it."""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

REPORT = """\
import json, pathlib
lines = {str(p): len(p.read_bytes().splitlines()) for p in sorted(pathlib.Path("src").glob("*.*"))}
pathlib.Path("report.json").write_text(json.dumps(lines))
"""
ORDINARY = {
    "README.md": "# A project\n\nIt has a page.\n",
    "src/main.txt": "alpha\nbeta\n",
    "scripts/report.py": REPORT,
    ".gitignore": "build/\n*.log\n.venv/\nnode_modules/\n__pycache__/\n.pytest_cache/\n",
}
GIT_CONFIG = """\
[user]
\tname = Ada
\temail = ada@example.invalid
[init]
\tdefaultBranch = main
[core]
\texcludesFile = ~/.config/git/ignore
[alias]
\tst = status
[protocol "file"]
\tallow = always
"""
DATE = "2026-03-01T12:00:00+0000"


class Site(Struct, frozen=True):
    """The folders of one project: its own one, the home of its user, and what is next to them."""

    root: Path

    @property
    def home(self) -> Path:
        """The home directory."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The folder of the project."""
        return self.root / "work"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a shell of this user."""
        return {
            "HOME": str(self.home),
            "USER": "ada",
            "LOGNAME": "ada",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "PATH": f"{self.home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_DATE": DATE,
        }

    def git(self, directory: Path, *arguments: str) -> str:
        """Run git as this user, and return its output."""
        command = ("git", *arguments)
        return subprocess.run(
            command, cwd=directory, env=self.environment, check=True, capture_output=True, text=True
        ).stdout


def build(site: Site, project: Callable[[Site], Path]) -> Path:
    """Make a home and a project; return the folder in which the program is started."""
    site.work.mkdir(parents=True)
    write(
        site.home,
        {
            ".gitconfig": GIT_CONFIG,
            ".config/git/ignore": "*.swp\n.DS_Store\n",
            ".bashrc": "alias ll='ls -l'\n",
            ".profile": "umask 022\n",
            ".npmrc": "fund=false\n",
            ".ssh/known_hosts": "example.invalid ssh-ed25519 AAAA\n",
            ".local/bin/hello": "#!/bin/sh\necho hello\n",
        },
    )
    (site.home / ".local/bin/hello").chmod(0o755)
    return project(site)


def write(directory: Path, files: Mapping[str, str]) -> None:
    """Write files with these contents."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")


def make_repository(
    site: Site, files: Mapping[str, str], feature: Mapping[str, str], where: Path | None = None
) -> Path:
    """Make a repository with the branches `main` and `feature`, and the remote `origin`.

    `feature` has other contents for files, and the remote a commit more than `main`.
    """
    work = where or site.work
    work.mkdir(parents=True, exist_ok=True)
    site.git(work, "init", "-q")
    commit(site, work, "Start", {**ORDINARY, **files})
    site.git(work, "checkout", "-q", "-b", "feature")
    commit(site, work, "Add a feature", {"src/feature.txt": "new\n", **feature})
    site.git(work, "checkout", "-q", "main")
    commit(site, work, "Add a list of changes", {"CHANGES.md": "- a page\n"})
    add_remote(site, work)
    return add_untracked(work)


def add_untracked(work: Path) -> Path:
    """Write an ignored and an untracked file."""
    write(work, {"build/out.txt": "built\n", "notes.txt": "not tracked\n"})
    return work


def commit(site: Site, work: Path, subject: str, files: Mapping[str, str]) -> None:
    """Write files, and commit everything except for the untracked file."""
    write(work, files)
    site.git(work, "add", "-A", "--", ".", ":(exclude)notes.txt")
    site.git(work, "commit", "-q", "-m", subject, "--no-verify")


def add_remote(site: Site, work: Path) -> None:
    """Make the remote `origin`, to which a colleague has pushed a commit."""
    remote, other = site.root / "remote.git", site.root / "colleague"
    site.git(work, "clone", "-q", "--bare", str(work), str(remote))
    site.git(work, "remote", "add", "origin", str(remote))
    site.git(work, "fetch", "-q", "origin")
    site.git(work, "branch", "-q", "-u", "origin/main")
    site.git(site.root, "clone", "-q", str(remote), str(other))
    commit(site, other, "Add a page of a colleague", {"colleague.md": "hello\n"})
    site.git(other, "push", "-q", "origin", "main")
    shutil.rmtree(other)
