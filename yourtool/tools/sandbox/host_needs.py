"""Command needs beyond the sandbox.

They are recognised before the command runs, because it would fail, perhaps with half of it done.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from yourtool.foundation.files import is_in
from yourtool.git.config import iter_all_settings
from yourtool.git.repositories import find_repository
from yourtool.permissions.shell.expanded_commands import get_name, iter_expanded
from yourtool.permissions.shell.programs.table import Program, load_programs
from yourtool.permissions.shell.writes import find_protected_write

_SIGNS_NOT = ("--no-gpg-sign", "--no-sign", "--abort", "--quit", "--skip", "-l", "--list")
_FALSE = ("false", "no", "off", "0")


def find_host_need(
    line: str, workspace: Path, sealed: Sequence[Path], writable: Sequence[Path] = ()
) -> str:
    """Return why a line cannot do in the sandbox what it is for; empty if it can. Blocks.

    `sealed`: directories that are read-only there although git or the user can write them;
    `writable`: the directories outside the workspace that commands can write.
    """
    if (written := find_protected_write(line, workspace)) is not None:
        place = Path(os.path.normpath(workspace / os.path.expanduser(written)))  # noqa: PTH111
        if not is_in(place, (workspace, *writable)):
            return f"`{written}` is read-only in the sandbox"
        if any(each.is_relative_to(place) or place.is_relative_to(each) for each in sealed):
            return f"`{written}` has hooks of git, which are read-only in the sandbox"
    for command in iter_expanded(line, os.environ):
        words = [word.plain or "" for word in command.words]
        if words and get_name(command.words[0]) == "git" and command.directory is not None:
            verb = next((each for each in words[1:] if _get_signs(each)), "")
            if verb and _is_signed(verb, words, workspace / command.directory):
                return f"`git {verb}` signs with a key of yours, which the sandbox hides"
    return ""


def _get_signs(verb: str) -> Sequence[str]:
    """Return the options with which a command of git signs."""
    return load_programs().get(f"git {verb}", Program()).signs


def _is_signed(verb: str, words: Sequence[str], directory: Path) -> bool:
    if not set(_SIGNS_NOT).isdisjoint(words):
        return False
    if any(each.partition("=")[0] in _get_signs(verb) for each in words):
        return True
    if (repository := find_repository(directory)) is None:
        return False
    key = "tag.gpgsign" if verb == "tag" else "commit.gpgsign"
    values = {file: each.value for file, each in iter_all_settings(repository) if each.key == key}
    own = values.get(repository.directory / "config.worktree") or values.get(
        repository.common / "config"
    )
    wanted = [own] if own is not None else list(values.values())
    return any(each.lower() not in _FALSE for each in wanted)
