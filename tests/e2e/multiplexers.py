"""A shell in a plain terminal, in tmux and in screen."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from tests.e2e.terminal import Terminal

SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")
Place: TypeAlias = Literal["plain", "tmux", "screen"]
PLACES: tuple[Place, ...] = ("plain", "tmux", "screen")
_TMUX = """\
set -g status off
set -g destroy-unattached on
set -g default-terminal screen-256color
set -sg escape-time 10
"""
_SCREEN = """\
startup_message off
autodetach off
altscreen on
term screen-256color
"""


def open_shell(place: Place, folder: Path, directory: Path, env: Mapping[str, str]) -> Terminal:
    """Open a terminal with a shell; `folder` gets the files of the multiplexer, which ends with it.

    The type of terminal is one with sequences that `pyte` supports only.
    """
    if place == "plain":
        return Terminal(SHELL, cwd=directory, env=env)
    if shutil.which(place) is None:
        pytest.skip(f"{place} is not installed")
    settings, sockets = folder / f"{place}.conf", folder / "sockets"
    settings.write_text(_TMUX if place == "tmux" else _SCREEN)
    sockets.mkdir(mode=0o700)
    env = {**env, "TERM": "screen-256color", "SCREENDIR": str(sockets), "LC_ALL": "C.UTF-8"}
    if place == "tmux":
        arguments = ("-f", str(settings), "-S", str(sockets / "tmux"), "new", *SHELL)
    else:
        arguments = ("-U", "-c", str(settings), *SHELL)
    return Terminal((place, *arguments), cwd=directory, env=env)
