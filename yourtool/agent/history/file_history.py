"""Changed files of a session, and their restoration.

The states of a file form a chain: each change starts where the one before ended, unless somebody
else changed the file in between. Only an unbroken end of the chain is taken back, and only if the
file is still in its last state, so that bytes which the agent did not write never change.
"""

from collections.abc import Collection, Sequence

from msgspec import UNSET, Struct, UnsetType

from yourtool.events.catalog import AnyFact
from yourtool.events.files import (
    FileChangeFailed,
    FilesChanged,
    FilesRestored,
    FilesRestoring,
    RestoreKind,
)
from yourtool.events.sessions import SessionImported
from yourtool.events.turns import TurnStarted
from yourtool.foundation.file_images import FileImage, FileRestore, LeftFile
from yourtool.tools.git.git_state import is_git_path

OF_FILES = frozenset(
    {TurnStarted, FilesChanged, FileChangeFailed, FilesRestoring, FilesRestored, SessionImported}
)
"""The facts that change the history; no others need to be applied."""

_NOT_STORED = (
    "its content was not stored: too large, secret, not readable, ignored by git before, or moved"
    " here from a place that is not watched"
)
_CHANGED_BETWEEN = "only the changes after an edit by somebody else are taken back"


class _Step(Struct, frozen=True):
    """A change of a file by a call, or a restored file."""

    event_id: str
    turn_id: str
    """Empty for a restored file."""
    before: FileImage
    after: FileImage
    directories: tuple[str, ...]


class TurnChanges(Struct, frozen=True):
    """The size of the changes of a turn."""

    files: int
    added: int
    """Lines."""
    removed: int


class RestorePlan(Struct, frozen=True):
    """Files to restore, and files that cannot be restored."""

    kind: RestoreKind
    turns: tuple[str, ...]
    files: tuple[FileRestore, ...]
    left: tuple[LeftFile, ...]
    through: str | UnsetType = UNSET
    """Id of the fact after which the files were as planned; unset: only the turns count."""


class FileHistory:
    """The changes of files in a session; only `apply` changes it."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.unfinished: FilesRestoring | None = None
        """Files that were being restored when the program died."""
        self._turns: dict[str, tuple[str, ...]] = {}
        """The turns of the last prompt, and of each whose turns changed files, with retries."""
        self._first_prompt = ""
        self._steps: dict[str, list[_Step]] = {}
        self._changed: dict[str, list[FilesChanged]] = {}
        """By turn, in the order of their first changes."""
        self._undone: dict[str, str] = {}
        """Turns whose changes were taken back, with the id of the fact that did."""
        self._redo: list[RestorePlan] = []

    def apply(self, fact: AnyFact) -> None:
        """Update the history with a fact."""
        match fact:
            case TurnStarted(turn_id=str(turn), message=message):
                if message is not None:
                    self._start_prompt(message.id)
                if self._turns:
                    self._turns[next(reversed(self._turns))] += (turn,)
            case FilesChanged():
                self._add_changes(fact)
            case FileChangeFailed():
                self._remove_changes(fact)
            case FilesRestoring():
                self.unfinished = fact
            case FilesRestored():
                self._end_restoring(fact)
            case SessionImported():
                self._clear()  # the changes happened to other files
            case _:
                pass

    def count(self, prompt_id: str) -> TurnChanges | None:
        """Return the size of the changes that answered a prompt; None if no file changed."""
        turns = self._turns.get(prompt_id, ())
        facts = [each for turn in turns for each in self._changed.get(turn, ())]
        every = (change for fact in facts for change in fact.changes)
        changes = [change for change in every if not is_git_path(change.path)]
        omitted = sum(fact.omitted for fact in facts)
        if not (changes or omitted):
            return None
        return TurnChanges(
            len({change.path for change in changes}) + omitted,
            sum(change.added for change in changes),
            sum(change.removed for change in changes),
        )

    def find_states(self, path: str) -> tuple[FileImage, FileImage] | None:
        """Return the first and the last state of a file in the unbroken end of its changes."""
        if not (steps := self._steps.get(path)):
            return None
        start = len(steps) - 1
        while start > 0 and steps[start - 1].after.is_same(steps[start].before):
            start -= 1
        return steps[start].before, steps[-1].after

    def plan_undo(self, passed: Collection[str] = ()) -> RestorePlan | None:
        """Plan how to undo the last turn that changed files, but for `passed`; None: none did."""
        done = {*self._undone, *passed}
        turns = [turn for turn in self._changed if turn not in done]
        return self._plan("undo", turns[-1:]) if turns else None

    def plan_redo(self) -> RestorePlan | None:
        """Return how to make the changes again that were taken back last."""
        return self._redo[-1] if self._redo else None

    def plan_rewind(self, prompt_id: str) -> RestorePlan | None:
        """Plan how to undo the changes since a prompt; None if there are no changes."""
        if not self._first_prompt or prompt_id < self._first_prompt:
            return None
        wanted = {
            turn for each, turns in self._turns.items() if each >= prompt_id for turn in turns
        }
        found = [turn for turn in self._changed if turn in wanted and turn not in self._undone]
        return self._plan("rewind", found) if found else None

    def plan_return(self, through: str) -> RestorePlan | None:
        """Plan how to restore the files as they were after a fact; None if none would change.

        Changes by turns are taken back or made again, those by commands of the user are not.
        """
        by_turns = {turn for turns in self._turns.values() for turn in turns} | {""}
        found = list[FileRestore | LeftFile]()
        for path, steps in self._steps.items():
            later = (
                at
                for at, step in enumerate(steps)
                if step.event_id > through and step.turn_id in by_turns
            )
            if (first := next(later, None)) is not None:
                found += _plan_file(path, steps, first)
        turns = [
            turn
            for turn, facts in self._changed.items()
            if facts[-1].id > through and turn in by_turns and turn not in self._undone
        ]
        files = tuple(each for each in found if isinstance(each, FileRestore))
        left = tuple(each for each in found if isinstance(each, LeftFile))
        if not (files or left):
            return None
        return RestorePlan("rewind", tuple(turns), files, left, through)

    def _plan(self, kind: RestoreKind, turns: Sequence[str]) -> RestorePlan:
        files, left = list[FileRestore](), list[LeftFile]()
        omitted = 0
        for turn in turns:
            omitted += sum(fact.omitted for fact in self._changed[turn])
        for path, steps in self._steps.items():
            if any(step.turn_id in turns for step in steps):
                first = next(at for at, step in enumerate(steps) if step.turn_id in turns)
                found = _plan_file(path, steps, first)
                files += [each for each in found if isinstance(each, FileRestore)]
                left += [each for each in found if isinstance(each, LeftFile)]
        if omitted:
            left.append(LeftFile(f"{omitted:,} more files", "too many changed at once"))
        return RestorePlan(kind, tuple(turns), tuple(files), tuple(left))

    def _start_prompt(self, prompt_id: str) -> None:
        """Note a prompt, and forget the one before if its turns changed no file."""
        self._first_prompt = self._first_prompt or prompt_id
        if self._turns:
            last = next(reversed(self._turns))
            if not any(turn in self._changed for turn in self._turns[last]):
                del self._turns[last]
        self._turns[prompt_id] = ()

    def _add_changes(self, fact: FilesChanged) -> None:
        turn = fact.turn_id or fact.id
        self._changed.setdefault(turn, []).append(fact)
        self._redo.clear()
        self._undone.pop(turn, None)
        for change in fact.changes:
            step = _Step(fact.id, turn, change.before, change.after, change.directories)
            self._steps.setdefault(change.path, []).append(step)

    def _remove_changes(self, fact: FileChangeFailed) -> None:
        for path, steps in list(self._steps.items()):
            steps[:] = [step for step in steps if step.event_id != fact.changed_event_id]
            if not steps:
                del self._steps[path]
        for turn, facts in list(self._changed.items()):
            facts[:] = [each for each in facts if each.id != fact.changed_event_id]
            if not facts:
                del self._changed[turn]

    def _end_restoring(self, fact: FilesRestored) -> None:
        started, self.unfinished = self.unfinished, None
        if started is None:
            return
        restored = tuple(each for each in started.files if each.path in fact.paths)
        for each in restored:
            step = _Step(fact.id, "", each.before, each.after, each.directories)
            self._steps.setdefault(each.path, []).append(step)
        if started.kind == "redo":
            for turn in started.turns:
                self._undone.pop(turn, None)
            if self._redo:
                self._redo.pop()
        else:
            if isinstance(through := started.through, str):
                before = self._undone.items()
                self._undone = {turn: by for turn, by in before if by <= through}
            self._undone |= dict.fromkeys(started.turns, fact.id)
            again = tuple(each.reverse() for each in restored)
            self._redo.append(RestorePlan("redo", started.turns, again, ()))


def _plan_file(path: str, steps: Sequence[_Step], first: int) -> tuple[FileRestore | LeftFile, ...]:
    """Return how to take back the steps of a file since the one at `first`."""
    start = len(steps) - 1
    while start > first and steps[start - 1].after.is_same(steps[start].before):
        start -= 1
    before, after = steps[-1].after, steps[start].before
    left = () if start == first else (LeftFile(path, _CHANGED_BETWEEN),)
    if before.is_same(after):
        return left
    if not (before.is_restorable and after.is_restorable):
        return (LeftFile(path, _NOT_STORED),)
    return (
        FileRestore(
            path=path, before=before, after=after, directories=_find_directories(steps[start:])
        ),
        *left,
    )


def _find_directories(steps: Sequence[_Step]) -> tuple[str, ...]:
    """Return the directories that were created for a file since a restore created it, if one did.

    They are outermost first.
    """
    found = set[str]()
    for step in reversed(steps):
        found.update(step.directories)
        if not step.turn_id and "absent" in (step.before.kind, step.after.kind):
            break
    return tuple(sorted(found))
