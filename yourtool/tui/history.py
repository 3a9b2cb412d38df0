"""Prompts of a workspace, kept across runs, and the one that was being written.

Both live in a private directory of the user's state. Each running program holds a draft of its own
under a lock; a draft that nobody holds was left by a crash, and the next program takes it over.
"""

import fcntl
import hashlib
import logging
import os
from pathlib import Path
from typing import IO

import msgspec

from yourtool.tui.drafts import Draft

MAX_ENTRIES = 1_000
MAX_ENTRY_BYTES = 1_000_000
"""A longer prompt can be recalled in the same run only."""
MAX_BYTES = 8_000_000
"""Of the last entries that are read together."""
_SLOTS = 16

_log = logging.getLogger(__name__)


class History:
    """The prompts of one workspace, oldest first, and a cursor that walks them."""

    def __init__(self, directory: Path, workspace: Path) -> None:
        self._directory = directory / "prompts"
        self._name = hashlib.sha256(os.fsencode(workspace.resolve())).hexdigest()[:16]
        self._lock: IO[bytes] | None = None
        self._slot: Path | None = None
        self._at: int | None = None
        self._unsent = Draft()
        self.entries: list[Draft] = self._read()

    def add(self, draft: Draft) -> None:
        """Remember a prompt; the same one twice in a row counts once."""
        self._at = None
        if not draft.text.strip() or (self.entries and self.entries[-1] == draft):
            return
        self.entries.append(draft)
        line = msgspec.json.encode(draft)
        if len(line) <= MAX_ENTRY_BYTES:
            self._append(line)

    def older(self, current: Draft) -> Draft | None:
        """Step back; `current` is kept for the way forward. None at the oldest."""
        if self._at is None:
            self._unsent, self._at = current, len(self.entries)
        if self._at == 0:
            return None
        self._at -= 1
        return self.entries[self._at]

    def newer(self) -> Draft | None:
        """Step forward, at last to the draft that was left; None when not walking."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self.entries):
            return self.entries[self._at]
        self._at = None
        return self._unsent

    def take_draft(self) -> Draft:
        """Claim a place for the draft of this run and return what a crashed run left there."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for number in range(_SLOTS):
                if (lock := _locked(self._directory / f"{self._name}.{number}.lock")) is not None:
                    self._lock = lock
                    self._slot = self._directory / f"{self._name}.{number}.draft"
                    return msgspec.json.decode(self._slot.read_bytes(), type=Draft)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError) as error:
            _log.warning("no draft: %s", error)
        return Draft()

    def keep_draft(self, draft: Draft) -> None:
        """Write the draft where it survives this process."""
        if self._slot is None:
            return
        try:
            if draft.text:
                fresh = self._slot.with_suffix(".new")
                with _private(fresh, os.O_TRUNC) as file:
                    file.write(msgspec.json.encode(draft))
                fresh.replace(self._slot)
            else:
                self._slot.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("the draft was not kept: %s", error)

    def close(self) -> None:
        """Give the place of the draft back; what it holds stays."""
        if self._lock is not None:
            self._lock.close()
            self._lock = self._slot = None

    @property
    def _file(self) -> Path:
        return self._directory / f"{self._name}.jsonl"

    def _read(self) -> list[Draft]:
        try:
            with self._file.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - MAX_BYTES))
                lines = file.read().splitlines()
        except OSError:
            return []
        if size > MAX_BYTES:
            del lines[0]  # the end of one
        entries: list[Draft] = []
        for line in lines[-MAX_ENTRIES:]:
            try:
                entries.append(msgspec.json.decode(line, type=Draft))
            except msgspec.DecodeError:
                _log.warning("skipped an unreadable line of %s", self._file)
        if len(lines) > 2 * MAX_ENTRIES or size > 2 * MAX_BYTES:
            self._rewrite(entries)
        return entries

    def _append(self, line: bytes) -> None:
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _private(self._file, os.O_APPEND) as file:
                file.write(line + b"\n")
        except OSError as error:
            _log.warning("the prompt was not remembered: %s", error)

    def _rewrite(self, entries: list[Draft]) -> None:
        try:
            fresh = self._file.with_suffix(".new")
            with _private(fresh, os.O_TRUNC) as file:
                file.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
            fresh.replace(self._file)
        except OSError as error:
            _log.warning("the prompt history was not shortened: %s", error)


def _private(path: Path, flags: int) -> IO[bytes]:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    return os.fdopen(handle, "wb")


def _locked(path: Path) -> IO[bytes] | None:
    file = _private(path, 0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
