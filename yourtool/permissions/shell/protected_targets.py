"""Protected places in a command line.

Globs and links in the names of its files are resolved.
"""

import os
import re
from pathlib import Path

from yourtool.foundation.files import real_path
from yourtool.permissions.configured_places import Protection
from yourtool.permissions.globs import matches_glob
from yourtool.permissions.protected_places import is_protected

HERE = "."
"""Target of programs whose input names the files that they write, such as `patch` and `tar`."""
_GLOB = re.compile(r"[*?\[]")


def is_protected_target(target: str, directory: Path, protection: Protection) -> bool:
    """Whether a word that a line writes to may name a protected place; blocks.

    `directory`: where the command runs.
    """
    if not target or target == "-" or "\0" in target:
        return False
    root = protection.root
    protection.expect(str(directory / target))
    if any(is_protected(make_relative(each, root)) for each in (target, str(directory / target))):
        return True
    folder, _, pattern = target.rpartition("/")
    if _GLOB.search(folder):
        return any(_matches_protected(part) for part in target.split("/")) or (
            protection.may_expand_to_place(make_relative(str(directory / target), root))
        )
    if _GLOB.search(pattern):
        if "[" in pattern and pattern.startswith("."):
            return True
        try:
            names = os.listdir(directory / folder)  # noqa: PTH208 - only the names are needed
        except OSError:
            names = []
        matching = (each for each in names if "[" in pattern or matches_glob(pattern, each))
        hidden = pattern.startswith(".")
        return any(
            _is_protected_path(directory / folder / each, protection)
            for each in matching
            if hidden or not each.startswith(".")
        )
    return _is_protected_path(directory / target, protection)


def _is_protected_path(path: Path, protection: Protection) -> bool:
    paths = dict.fromkeys((make_relative(str(path), protection.root), str(real_path(path))))
    return any(protection.find(make_relative(each, protection.root)) is not None for each in paths)


def _matches_protected(pattern: str) -> bool:
    """Whether a part of a path may become the name of a directory with programs or settings."""
    return _GLOB.search(pattern) is not None and pattern.startswith((".", "?", "["))


def make_relative(path: str, root: Path) -> str:
    """Return a path relative to the workspace, if it is in it."""
    normal = os.path.normpath(path)
    return HERE if normal == str(root) else normal.removeprefix(f"{root}/")
