"""Random command lines, what the gate plans for them, and what bash executes.

Programs are replaced with one that appends its words and some variables to a file. Many lines run
in one shell, each in a subshell, and the files around are compared after each batch.
"""

import glob
import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tests.permissions.shell.bash_lines import make_line as make_hostile_line
from tests.security.everyday import GRANTED, READING
from yourtool.effects import Subject
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.permissions.shell.lines.plain import PlainCommand, parse_plain
from yourtool.permissions.shell.lines.syntax import Word
from yourtool.permissions.shell.wrapped import find_inner_start
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell

BATCH = 500
_OPENED_SHARE = 8
"""One of so many lines that run in mode `auto` is executed, as each needs another shell."""
_BUILTINS = ("[", "cd", "echo", "false", "printf", "pwd", "test", "true")
_REAL = ("bash", "env", "sh", "timeout", "xargs")
_FIRST = {
    word
    for command in (*READING, *GRANTED)
    for part in re.split(r"[|&;]+", command)
    for word in part.split()[:1]
}
_NAMES = sorted(
    {"evil", "show", "git", "python", *(name for name in _FIRST if name.isidentifier())}
    - {*_BUILTINS, *_REAL}
)
"""The programs that only record how they are run. No other ones can be found."""
_VARIABLES = ("FOO", "CI", "LD_PRELOAD", "PATH", "GIT_PAGER")
_STUB = """#!/bin/sh
record=$0
for word in "$@"; do record="$record\x1f$word"; done
printf '%s\x1c%s\x1c%s\x1c%s\x1c%s\x1c%s\x1e' \\
    "$record" "$FOO" "$CI" "$LD_PRELOAD" "$PATH" "$GIT_PAGER" >> "$RAN"
"""
"""Its record is written at once, so that those of a pipeline are never mixed."""
_UNDERSTOOD = r"""while IFS= read -r -d '' line; do
    ( eval "$line" ) < /dev/null > /dev/null 2>&1
    printf '\035' >> "$RAN"
done"""
_ANY = r"""while IFS= read -r -d '' line; do
    timeout -s KILL 1 /bin/bash --noprofile --norc -c "$line" < /dev/null > /dev/null 2>&1
    printf '\035' >> "$RAN"
done"""
_RULES = (
    "show*", "git log*", "git*", "grep*", "find*", "cat*", "sed*", "sort*", "make test*",
    "FOO=1 make*", "npm run*", "cargo test", "go test*", "pytest*", "printf*", "ruff*", "mypy src",
)  # fmt: skip
_EDITS = (
    "'", '"', "\\", "$", "`", "\n", "\r", "\t", " ", "#", "~", "*", "?", "[a]", "{a,b}", ";", "&",
    "|", "(", ")", "<", ">", "!", "=", "\0", "\u00a0", "\u200b", "\u202e", "$'\\x65vil'", "evil",
    ";evil", "|evil", "&&evil", " evil ", "$(evil)", "`evil`", "<(evil)", "\nevil\n", "> out",
    " >out ", "2>&1", "2>/dev/null", ">/dev/null", " && ", " || ", " ; ", " | ", "FOO=1 ",
    "CI=1 ", "LD_PRELOAD=x ", "PATH=. ", "GIT_PAGER=evil ", "cd src && ", "cd .. && ", "cd src; ",
    "timeout 5 ", "timeout -k 1 5 ", "git -c core.pager=evil ", " -exec evil {} +", " -delete",
    " --output=out", " --pre=evil", " -o out", " --", " -", " ../x", " /etc/passwd", " .env",
    "${x:-evil}", "$x", "\"$x\"", "''", '""', "\\\n", "a=(evil)", "<<< evil", "<<X\nevil\nX\n",
    "true && ", "false || ", "false && ", "echo x | ", "| cat", "|& cat", "coproc ", "time ", "-n ",
)  # fmt: skip


class Run(Struct, frozen=True):
    """One program that ran, or that is planned."""

    program: str
    words: tuple[str, ...]
    variables: tuple[str, ...]
    """The values of `_VARIABLES`."""


def make_line(seed: random.Random) -> str:
    """Return a command of an ordinary day with some edits, or random pieces."""
    if seed.random() < 0.2:
        return make_hostile_line(seed)
    line = seed.choice((*READING, *GRANTED, "show a 'b c'", "show a* | show", "evil a"))
    if seed.random() < 0.2:
        line += seed.choice((" && ", " || ", "; ", " | ")) + seed.choice(READING)
    for _ in range(seed.choice((0, 0, 1, 1, 1, 1, 2))):
        at = seed.choice((0, len(line), seed.randint(0, len(line)), line.find(" ") + 1))
        line = line[:at] + seed.choice(_EDITS) + line[at + seed.choice((0, 0, 0, 1)) :]
    return line


class Sandbox:
    """A trusted workspace, and programs that only record how they are run."""

    def __init__(self, root: Path, mode: Mode = Mode.ASK) -> None:
        self.root, self.programs, self.workspace = root, root / "bin", root / "work"
        self._ran = root.parent / f"{root.name}.ran"
        for folder in ("bin", "work/src", "work/docs"):
            (root / folder).mkdir(parents=True)
        for name in ("a.txt", "b.txt", "src/a.py", "docs/guide.md", "README.md", "package.json"):
            (self.workspace / name).write_text("evil\n")
        (root / "x").write_text("evil\n")
        for name in (*_NAMES, *_BUILTINS):
            (self.programs / name).write_text(_STUB)
            (self.programs / name).chmod(0o755)
        for name in _REAL:
            (self.programs / name).symlink_to(shutil.which(name) or "/bin/false")
        self.path = str(self.programs)
        allow = tuple(Rule("shell", spec) for spec in _RULES)
        self._denying = RuleSet(deny=(Rule("shell", "evil*"),))
        rules = RuleSet(allow=allow) | self._denying
        self._gate = Gate(rules if mode is Mode.ASK else RuleSet(), mode, is_trusted=True)
        self._open_gate = Gate(self._denying, Mode.AUTO, is_trusted=True)
        self._before = self._files()

    def check(self, lines: Sequence[str]) -> tuple[Counter[str], list[str]]:
        """Return how many lines ran how, and what was not planned."""
        understood: list[tuple[str, str]] = []
        opened: list[str] = []
        for number, line in enumerate(lines):
            if (command := self._decide(self._gate, line)) is not None:
                understood.append((line, command))
            elif number % _OPENED_SHARE == 0 and "\0" not in line:
                opened += filter(None, [self._decide(self._open_gate, line)])
        failures = self._check_understood(understood)
        for line, ran in zip(opened, self._run(_ANY, opened), strict=True):
            if any(self._name(each) == "evil" for each in ran):
                failures.append(f"{line!r} ran a denied program")
        self._clean()
        return Counter(understood=len(understood), opened=len(opened), all=len(lines)), failures

    def _check_understood(self, lines: Sequence[tuple[str, str]]) -> list[str]:
        failures: list[str] = []
        results = self._run(_UNDERSTOOD, [command for _, command in lines])
        for (line, command), ran in zip(lines, results, strict=True):
            planned = list(self._iter_planned(line))
            if Counter(map(self._without_options, ran)) != Counter(planned):
                failures.append(f"{line!r} as {command!r}: {ran}, planned {planned}")
        if (after := self._files()) != self._before:
            changed = after.items() ^ self._before.items()
            failures.append(f"files changed: {changed}, by one of {lines}")
        return failures

    def _decide(self, gate: Gate, line: str) -> str | None:
        """Return what runs unasked, if anything does."""
        subject = Subject("command", line, str(self.workspace))
        found = gate.decide(shell.definition, CallSubjects((subject,)), None)
        return (found.command or line) if found.verdict == "allow" else None

    def _run(self, script: str, lines: Sequence[str]) -> list[list[Run]]:
        self._ran.write_bytes(b"")
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", script],
            check=True,
            cwd=self.workspace,
            env={"PATH": self.path, "RAN": str(self._ran), "LC_ALL": "C"},
            input=b"".join(os.fsencode(line) + b"\0" for line in lines),
        )
        text = os.fsdecode(self._ran.read_bytes())
        return [
            [_read_record(each) for each in part.split("\x1e")[:-1]]
            for part in text.split("\x1d")[:-1]
        ]

    def _iter_planned(self, line: str) -> Iterator[Run]:
        """Yield what the line means if each program of the sandbox succeeds, as we read it."""
        directory, succeeded, before = self.workspace, True, ";"
        for pipeline, operator in _iter_pipelines(parse_plain(line)):
            if before == ";" or (before == "&&") is succeeded:
                for command in pipeline:
                    if _opens_files(command, directory):
                        yield from self._iter_run(command, directory)
                words = pipeline[-1].texts
                succeeded = _opens_files(pipeline[-1], directory) and _succeeds(words)
                if words[0] == "cd" and len(pipeline) == 1:
                    directory = directory / words[1]
            before = operator

    def _iter_run(self, command: PlainCommand, directory: Path) -> Iterator[Run]:
        words = list(command.words)
        if words[0].text in _BUILTINS:
            return
        while words[0].text == "timeout":
            words = words[find_inner_start([word.text for word in words]) :]
        name = words[0].text
        if name not in (*_NAMES, *_BUILTINS):
            return
        arguments = [text for word in words[1:] for text in _expand(word, directory)]
        if name == "git" and arguments[:1] == ["--no-pager"]:
            arguments = arguments[1:]
        values: Mapping[str, str] = {"PATH": self.path, **dict(command.variables)}
        yield Run(
            str(self.programs / name),
            tuple(arguments),
            tuple(values.get(each, "") for each in _VARIABLES),
        )

    def _without_options(self, run: Run) -> Run:
        """Remove the options with which git runs."""
        if self._name(run) != "git":
            return run
        words = list(run.words)
        while words and words[0].startswith("-"):
            del words[: 2 if words[0] == "-c" else 1]
        added = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
        kept = [word for at, word in enumerate(words) if not (0 < at < 4 and word in added)]
        return Run(run.program, tuple(kept), run.variables)

    def _name(self, run: Run) -> str:
        return run.program.rpartition("/")[2]

    def _files(self) -> Mapping[str, bytes]:
        found = self.root.rglob("*")
        paths = (path for path in found if path.is_file() and path.parent != self.programs)
        return {str(path): path.read_bytes() for path in paths}

    def _clean(self) -> None:
        """Remove what lines that the gate does not understand wrote."""
        for name in self._files().keys() - self._before.keys():
            Path(name).unlink()
        for name, content in self._before.items():
            Path(name).write_bytes(content)


def _read_record(record: str) -> Run:
    words, *values = record.split("\x1c")
    program, *arguments = words.split("\x1f")
    return Run(program, tuple(arguments), tuple(values))


def _iter_pipelines(
    commands: Sequence[PlainCommand],
) -> Iterator[tuple[list[PlainCommand], str]]:
    pipeline: list[PlainCommand] = []
    for command in commands:
        pipeline.append(command)
        if command.operator != "|":
            yield pipeline, command.operator
            pipeline = []


def _succeeds(words: Sequence[str]) -> bool:
    if words[0] in ("test", "["):
        return words[:2] == ("test", "-f") and words[2:] in (("README.md",), ("package.json",))
    return words[0] != "false"


def _opens_files(command: PlainCommand, directory: Path) -> bool:
    """Whether all redirections succeed; otherwise the shell does not run the command."""
    files = [(each, directory / each.path) for each in command.files]
    return all(
        path.exists() if each.is_input else path.parent.is_dir() and not path.is_dir()
        for each, path in files
    )


def _expand(word: Word, directory: Path) -> Sequence[str]:
    if not word.is_glob:
        return [word.text]
    found = sorted(glob.glob(word.text, root_dir=directory))  # noqa: PTH207 - like the shell
    return found or [re.sub(r"\\(.)", r"\1", word.text)]
