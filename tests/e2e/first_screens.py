"""First screens, so that a start shows the early prompt."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.sandbox_here import get_variables

_FILE = "from yourtool.process.early_prompt.first_screen import *; print(first_screen_file({}, {}))"


def know_first_screen(
    work: Path, env: Mapping[str, str], columns: int = 100, rows: int = 30
) -> None:
    """Store the first screen of a program that is started with `env`."""
    settings = Path(env["YOURTOOL_HOME"], "config.toml")
    settings.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not settings.exists():  # the first start would write it: then the first screen is another
        settings.touch()
    file = _file(env, columns, rows)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_bytes(_content(work, columns, rows))


@lru_cache
def _content(work: Path, columns: int, rows: int) -> bytes:
    """Return the file that the program writes when it starts without one."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"YOURTOOL_HOME": folder}
        with Terminal(YOURTOOL, cwd=work, env=env, columns=columns, rows=rows) as terminal:
            files = Path(folder, "cache", "first-screens")
            terminal.wait("demo:tour", lambda _: any(files.glob("[0-9a-f]*")))
            terminal.send("\x04")
            terminal.end()
        [file] = files.iterdir()
        return file.read_bytes()


def _file(env: Mapping[str, str], columns: int, rows: int) -> Path:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "LC_ALL")}
    done = subprocess.run(
        [*YOURTOOL[:2], "-c", _FILE.format(columns, rows)],
        env={**kept, "TERM": "xterm-256color", **get_variables(), **env},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip())
