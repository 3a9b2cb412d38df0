"""Random command lines, and what bash runs for them."""

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

BASH = ("/bin/bash", "--noprofile", "--norc", "-c")
STUB = r"""#!/bin/sh
{
    printf '%s' "${0##*/}"
    for word in "$@"; do printf '\037%s' "$word"; done
    printf '\036'
} >> "$RAN/$$"
"""
"""Writes its name and arguments to a separate file, because others run at the same time."""
NAMES = ("show", "evil")
_PIECES = (
    "show", "show", "evil", "evil", "'show'", '"evil"', "ev\\il", "e'vi'l", "$'evil'",
    "$'\\x65vil'", "a", "b.txt", "-x", "--y=z", "'a b'", '"a b"', '"$x"', "$x", "${x:-evil}",
    "*", "a*", "{a,b}",
    "{evil,a}", "$(evil)", "`evil`", '"$(evil a)"', "<(evil)", "x=1", "x=evil", "LANG=C", "#", "~",
    "&&", "||", ";", "|", "&", "\n", "\\\n", "|&", "!", "(", ")", "{", "}", "((", "))", "[[", "]]",
    "if", "then", "fi", "while", "do", "done", "for", "in", "case", "esac", "a)", ";;", "function",
    "f()", "> out", ">> out", "< b.txt", "2>&1", ">/dev/null", "2>/dev/null", "<<< evil", "<<X\n",
    "X\n", "env", "command", "exec", "eval", "time", "xargs", "bash -c", "'evil a'", '"evil; a"',
    "coproc", "trap", "EXIT", "export", "test", "[", "]", "\t", "\\", "'", '"', "$",
)  # fmt: skip
_DOCUMENT_PIECES = (
    "show", "show", "evil", "a", "'a b'", "&&", "|", ";", "\n", "\\", "'", '"', "$", "#", "(",
    ")", "`", "<<'X'", "<<'X'\n", "<< 'X' ", "\nX\n", "X\n", "\nX", "\nY\n", "<<'Y'\n",
    "\"$(cat <<'X'\n", "\nX\n)\"",
    "\nX\n)", "evil\nX\n", "'\nevil\n'", '"\nevil\n"', "2>&1", "\\\n", "<<<", "-x",
)  # fmt: skip
"""Parts of documents with a quoted delimiter, and of what can make other text of them."""


def make_line(seed: random.Random) -> str:
    """Return a line of random pieces, most of which are joined by spaces."""
    pieces = seed.choices(_PIECES, k=seed.randint(1, 8))
    return "".join(piece + seed.choice((" ", " ", " ", " ", "")) for piece in pieces)


def make_document(seed: random.Random) -> str:
    """Return a line of random pieces, of which some are parts of a document."""
    start = seed.choice(("show ", "show a <<'X'\n", "show \"$(cat <<'X'\n", "show 'a\nb' "))
    pieces = seed.choices(_DOCUMENT_PIECES, k=seed.randint(1, 7))
    return start + "".join(piece + seed.choice((" ", " ", "")) for piece in pieces)


class Sandbox:
    """A directory with programs that only record how they are run."""

    def __init__(self, root: Path) -> None:
        self.programs, self.workspace = root / "bin", root / "work"
        self._ran = root / "ran"
        self.programs.mkdir()
        self.workspace.mkdir()
        (self.workspace / "b.txt").write_text("evil\n")
        for name in NAMES:
            (self.programs / name).write_text(STUB)
            (self.programs / name).chmod(0o755)

    def run(self, line: str) -> Sequence[Sequence[str]]:
        """Run a line with bash; return the words of each program that ran."""
        shutil.rmtree(self._ran, ignore_errors=True)
        self._ran.mkdir()
        for path in set(self.workspace.iterdir()) - {self.workspace / "b.txt"}:
            path.unlink()
        environment = {"PATH": f"{self.programs}:/usr/bin:/bin", "RAN": str(self._ran)}
        process = subprocess.Popen(
            ["timeout", "-s", "KILL", "5", *BASH, line],
            start_new_session=True,
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        process.wait()
        with suppress(ProcessLookupError):  # what it left running must not disturb the next line
            os.killpg(process.pid, signal.SIGKILL)
        texts = [each.read_text("utf-8", "surrogateescape") for each in self._ran.iterdir()]
        return [words.split("\x1f") for text in texts for words in text.split("\x1e")[:-1]]

    @property
    def files(self) -> set[str]:
        """The names of the files in the workspace."""
        return {path.name for path in self.workspace.iterdir()}
