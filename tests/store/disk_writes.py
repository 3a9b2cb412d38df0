"""What a program writes to a directory, recorded by `strace`, and what a power loss leaves of it.

A disk keeps every write before a completed sync of its file. Of later writes it keeps any, in any
order, and of each any sectors; a file that was made or removed since the last sync of its directory
can be there or not. See https://www.sqlite.org/atomiccommit.html, section 2.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from msgspec import Struct

STRACE = shutil.which("strace")
needs_strace = pytest.mark.skipif(STRACE is None, reason="`strace` is not installed")
SECTOR = 512

_CALLS = "pwrite64,write,fsync,fdatasync,ftruncate,openat,unlink,rename"
_CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) = (-?\d+)")
_UNFINISHED = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
_FD = re.compile(r"^(\d+)(?:<([^>]*)>)?")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Write(Struct, frozen=True):
    """One change of a file: bytes at a place, or a new length."""

    file: str
    at: int
    data: bytes | None


class Sync(Struct, frozen=True):
    """All writes to a file are on the disk; the empty name is the directory."""

    file: str


class Exists(Struct, frozen=True):
    """A file was made or removed."""

    file: str
    exists: bool


class Acknowledged(Struct, frozen=True):
    """A line that the program printed."""

    line: str


Step = Write | Sync | Exists | Acknowledged


def record(command: Sequence[str], directory: Path, cwd: Path) -> list[Step]:
    """Run a program, and return what it did in a directory and printed."""
    log = directory.with_name("strace.log")
    assert STRACE is not None
    subprocess.run(
        [
            STRACE,
            "-f",
            "-y",
            "-xx",
            "-s",
            "100000000",
            "-e",
            f"trace={_CALLS}",
            "-o",
            log,
            *command,
        ],
        cwd=cwd,
        check=True,
        capture_output=True,
    )
    return list(_parse(log.read_text().splitlines(), str(directory)))


def _parse(lines: Iterable[str], directory: str) -> Iterator[Step]:
    started: dict[str, str] = {}
    for line in lines:
        if unfinished := _UNFINISHED.match(line):
            started[unfinished[1]] = unfinished[2]
            continue
        if resumed := _RESUMED.match(line):
            line = f"{resumed[1]} {started.pop(resumed[1])}{resumed[2]}"
        if (call := _CALL.match(line)) and int(call[4]) >= 0:
            yield from _parse_call(call[2], call[3], directory)


def _parse_call(name: str, arguments: str, directory: str) -> Iterator[Step]:
    strings = [_bytes(found[1]) for found in _STRING.finditer(arguments)]
    number, path = "", ""
    if descriptor := _FD.match(arguments):
        number, path = descriptor[1], _bytes(descriptor[2] or "").decode()
    if name == "write" and number == "1":
        yield from map(Acknowledged, strings[0].decode().splitlines())
    if name in ("openat", "unlink", "rename"):
        for at, each in enumerate(strings):
            if (file := _inside(each.decode(), directory)) and (
                name != "openat" or "O_CREAT" in arguments
            ):
                yield Exists(file, name == "openat" or at == 1)
    elif path == directory and name in ("fsync", "fdatasync"):
        yield Sync("")
    elif file := _inside(path, directory):
        last = arguments.rpartition(", ")[2]
        match name:
            case "pwrite64":
                yield Write(file, int(last), strings[0])
            case "ftruncate":
                yield Write(file, int(last), None)
            case "fsync" | "fdatasync":
                yield Sync(file)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if "\\x" in text else text.encode()


def _inside(path: str, directory: str) -> str:
    """Return the name of a file of SQLite in the directory, else an empty string."""
    name = path.removeprefix(f"{directory}/")
    return name if name != path and name.endswith((".db", "-wal", "-journal")) else ""


def after_power_loss(steps: Sequence[Step], chance: Random) -> dict[str, bytearray]:
    """Return files as a disk can have them when the power fails after some steps."""
    synced = {step.file: at for at, step in enumerate(steps) if isinstance(step, Sync)}
    files: dict[str, bytearray] = {}
    late: list[Write] = []
    lost: set[str] = set()
    for at, step in enumerate(steps):
        match step:
            case Exists(file, exists):
                is_lost = at > synced.get("", -1) and chance.random() < 0.5
                if exists and file not in files:
                    files[file] = bytearray()
                    lost = lost | {file} if is_lost else lost - {file}
                elif not exists and not is_lost:
                    files.pop(file, None)
            case Write(file) if at < synced.get(file, -1):
                _apply(files, step, None)
            case Write():
                late.append(step)
            case _:
                pass
    chance.shuffle(late)
    share = chance.random()
    for step in late:
        if chance.random() < share:
            _apply(files, step, chance if chance.random() < 0.3 else None)
    return {file: content for file, content in files.items() if file not in lost}


def _apply(files: dict[str, bytearray], write: Write, torn: Random | None) -> None:
    """Change a file; with `torn`, only some sectors."""
    if (content := files.get(write.file)) is None:
        return
    if write.data is None:
        del content[write.at :]
        content.extend(bytes(write.at - len(content)))
        return
    content.extend(bytes(max(0, write.at + len(write.data) - len(content))))
    for start in range(0, len(write.data), SECTOR):
        if torn is None or torn.random() < 0.5:
            piece = write.data[start : start + SECTOR]
            content[write.at + start : write.at + start + len(piece)] = piece
