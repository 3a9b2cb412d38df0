"""Prompt history and unsent draft of a workspace.

Both are in a private directory of the user's state. Each running program locks its own draft file;
an unlocked draft is left over from a crash, and the next program restores it.

A thread writes them, in order, because a busy disk can stop a write for seconds.
"""

import asyncio
import fcntl
import hashlib
import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import msgspec

from yourtool.agent.commands.base import Choice
from yourtool.foundation.files import real_path
from yourtool.tui.input.drafts import Draft, StoredDraft, fold_unless_displayable

MAX_ENTRIES = 1_000
MAX_ENTRY_BYTES = 1_000_000
"""Longer prompts are not stored; they can be recalled in the same run only."""
MAX_READ_BYTES = 8_000_000
"""Size of the end of the file that is read."""
_MAX_DRAFTS = 16
_LONGEST_TITLE = 1_000

_log = logging.getLogger(__name__)


class PromptHistory:
    """The prompts of one workspace, oldest first, and the position of Up and Down in them."""

    def __init__(self, directory: Path, workspace: Path) -> None:
        self._directory = directory / "prompts"
        self._name = hashlib.sha256(os.fsencode(real_path(workspace))).hexdigest()[:16]
        self._lock: IO[bytes] | None = None
        self._draft_file: Path | None = None
        self._position: int | None = None
        self._current_draft = Draft()
        self._writer = ThreadPoolExecutor(1, "prompts")
        self._unwritten: StoredDraft | None = None
        """The newest draft; the thread sets it to None when it starts to write it."""
        self.entries: list[Draft] = self._read()
        self.command_uses = count_commands(each.text for each in self.entries)
        """Uses of each command before this run, so that the order is stable."""

    def add(self, draft: Draft) -> None:
        """Add a prompt unless it repeats the last one."""
        self._position = None
        if not draft.text.strip() or (self.entries and self.entries[-1] == draft):
            return
        self.entries.append(draft)
        self._writer.submit(self._append, draft)

    def older(self, current: Draft) -> Draft | None:
        """Return the previous prompt, None at the oldest; save `current` for `newer`."""
        if self._position is None:
            self._current_draft, self._position = current, len(self.entries)
        if self._position == 0:
            return None
        self._position -= 1
        return self.entries[self._position]

    def newer(self) -> Draft | None:
        """Return the next prompt, or the saved draft at the end; None without an `older`."""
        if self._position is None:
            return None
        self._position += 1
        if self._position < len(self.entries):
            return self.entries[self._position]
        self._position = None
        return self._current_draft

    def claim_draft_later(self) -> asyncio.Future[StoredDraft]:
        """Return what `claim_draft` will return, which `close` waits for."""
        return asyncio.wrap_future(self._writer.submit(self.claim_draft))

    def claim_draft(self) -> StoredDraft:
        """Lock a draft file for this run and return the drafts that an earlier run left in it."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for number in range(_MAX_DRAFTS):
                if (lock := _try_lock(self._directory / f"{self._name}.{number}.lock")) is not None:
                    self._lock = lock
                    self._draft_file = self._directory / f"{self._name}.{number}.draft"
                    return _read_draft(self._draft_file)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError) as error:
            _log.warning("the draft could not be read: %s", error)
        return StoredDraft()

    def save_draft(self, draft: Draft, stash: tuple[Draft, ...] = ()) -> None:
        """Write the draft and the stashed ones to their file, unless newer ones replace them."""
        if self._draft_file is not None:
            self._unwritten = StoredDraft(draft.text, draft.pastes, draft.attachments, stash)
            self._writer.submit(self._write_draft, self._draft_file)

    def wait_until_written(self) -> None:
        """Wait until everything is written that was added and saved before."""
        self._writer.submit(int).result()

    def close(self) -> None:
        """Write what is not written yet; release the draft file without deleting its content."""
        self.wait_until_written()
        if self._lock is not None:
            self._lock.close()
            self._lock = self._draft_file = None

    @property
    def _history_file(self) -> Path:
        return self._directory / f"{self._name}.jsonl"

    def _read(self) -> list[Draft]:
        try:
            with self._history_file.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - MAX_READ_BYTES))
                lines = file.read().splitlines()
        except OSError:
            return []
        if size > MAX_READ_BYTES:
            del lines[0]  # an incomplete line
        entries: list[Draft] = []
        for line in lines[-MAX_ENTRIES:]:
            try:
                entries.append(_decode_draft(line))
            except (ValueError, RecursionError):
                _log.warning("skipped an unreadable line of %s", self._history_file)
        if len(lines) > 2 * MAX_ENTRIES or size > 2 * MAX_READ_BYTES:
            self._rewrite(entries)
        return entries

    def _append(self, draft: Draft) -> None:
        line = msgspec.json.encode(draft)
        if len(line) > MAX_ENTRY_BYTES:
            return
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _open_private(self._history_file, os.O_APPEND) as file:
                file.write(line + b"\n")
        except OSError as error:
            _log.warning("the prompt was not saved: %s", error)

    def _write_draft(self, path: Path) -> None:
        stored, self._unwritten = self._unwritten, None
        if stored is None:
            return
        try:
            if stored.text or stored.stash:
                fresh = path.with_suffix(".new")
                with _open_private(fresh, os.O_TRUNC) as file:
                    file.write(msgspec.json.encode(stored))
                fresh.replace(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("the draft was not saved: %s", error)

    def _rewrite(self, entries: list[Draft]) -> None:
        try:
            fresh = self._history_file.with_suffix(".new")
            with _open_private(fresh, os.O_TRUNC) as file:
                file.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
            fresh.replace(self._history_file)
        except OSError as error:
            _log.warning("the prompt history was not shortened: %s", error)


def _read_draft(path: Path) -> StoredDraft:
    with path.open("rb") as file:
        content = file.read(MAX_READ_BYTES + 1)
    if len(content) > MAX_READ_BYTES:
        raise ValueError(f"{path} is larger than {MAX_READ_BYTES:,} bytes")
    stored = msgspec.json.decode(content, type=StoredDraft)
    draft, *stash = map(fold_unless_displayable, (stored.draft, *stored.stash))
    return StoredDraft(draft.text, draft.pastes, draft.attachments, tuple(stash))


def _decode_draft(content: bytes) -> Draft:
    return fold_unless_displayable(msgspec.json.decode(content, type=Draft))


def history_choices(entries: Sequence[Draft]) -> list[Choice]:
    """Return distinct earlier prompts, latest first; the value is the index."""
    seen: dict[str, Choice] = {}
    for at in range(len(entries) - 1, -1, -1):
        first, _, rest = entries[at].text.strip().partition("\n")
        title = f"{first[:_LONGEST_TITLE]} …" if rest else first[:_LONGEST_TITLE]
        seen.setdefault(entries[at].text, Choice(str(at), title))
    return list(seen.values())


def count_commands(texts: Iterable[str]) -> Mapping[str, int]:
    """Return how many texts are the slash command of each name."""
    starts = (text[1:_LONGEST_TITLE].split(None, 1) for text in texts if text.startswith("/"))
    return Counter(start[0] for start in starts if start)


def _open_private(path: Path, flags: int) -> IO[bytes]:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    return os.fdopen(handle, "wb")


def _try_lock(path: Path) -> IO[bytes] | None:
    file = _open_private(path, 0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
