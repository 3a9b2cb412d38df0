"""The two measured programs: how to start and drive each."""

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.provider import Provider
from benchmarks.terminal import Terminal

ROOT = Path(__file__).parents[1]
PROBES = "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"
"""Letters that are on no screen before they are typed."""
FILES = 20
SETTINGS = """\
model = "local:any"

[providers.local]
api = "chat"
base_url = "{url}/v1"
"""
PATIENCE = 60.0
"""Timeout in seconds for a program that shows nothing."""


class Program:
    """A command with its own home and repository."""

    def __init__(self, name: str, module: str, provider: Provider, root: Path) -> None:
        self.name = name
        script = Path(sys.executable).with_name(module)  # what users start, without `runpy`
        self._command = [str(script)] if script.exists() else [sys.executable, "-m", module]
        self.work = root / name / "work"
        self.work.mkdir(parents=True)
        for number in range(FILES):
            (self.work / f"f{number}.txt").write_text(f"file {number}\nline two\n")
        subprocess.run(["git", "init", "-q", str(self.work)], check=False)
        home = root / name / "home"
        home.mkdir()
        hidden = root / name / "hidden"
        hidden.mkdir()
        # Users do not have `click`; if it is installed, httpx2 imports its own command line.
        (hidden / "click.py").write_text("raise ImportError('only for development')\n")
        settings = home / "yourtool" / "config.toml"
        settings.parent.mkdir()
        settings.write_text(SETTINGS.format(url=provider.url))
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": f"{ROOT}:{hidden}",
            "YOURTOOL_HOME": str(home / "yourtool"),
            "LIMIT_URL": provider.url,
        }

    def spawn(self) -> Terminal:
        """Start it and do not wait."""
        return Terminal(self._command, cwd=self.work, env=self._environ)

    def answer(self, prompt: str) -> float:
        """Answer one prompt without an interface (`-p`); return when it was started."""
        began = time.monotonic()
        subprocess.run(
            [*self._command, "-p", prompt],
            cwd=self.work,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return began

    def start(self) -> tuple[Terminal, dict[str, float]]:
        """Start it, type until a letter is echoed, and return the time.

        Raises:
            RuntimeError: it never echoed one.
        """
        terminal = self.spawn()
        painted = terminal.wait_for_paint(PATIENCE)
        echoed, typed = None, 0
        while painted and echoed is None and typed < len(PROBES):
            terminal.send(PROBES[typed])
            typed += 1
            echoed = terminal.wait_for(PROBES[:typed], 0, 0.05)
        if painted is None or echoed is None:
            shown = terminal.output[-2000:]
            terminal.close()
            raise RuntimeError(f"{self.name} takes no keys; its last output is {shown!r}")
        figures = {
            "paint_s": painted - terminal.began,
            "usable_s": echoed - terminal.began,
            "usable_cpu_s": terminal.cpu(),
        }
        erase(terminal, typed)
        return terminal, figures


def erase(terminal: Terminal, letters: int) -> None:
    """Empty the input."""
    for _ in range(letters):
        terminal.send("\x7f")
        time.sleep(0.004)


def submit(terminal: Terminal, text: str = "go", gap: float = 0.03) -> float:
    """Type a line and send it; return when Enter was pressed."""
    for letter in text:
        terminal.send(letter)
        time.sleep(gap)
    time.sleep(0.1)  # Enter right after a key would be part of a paste
    return terminal.send("\r")
