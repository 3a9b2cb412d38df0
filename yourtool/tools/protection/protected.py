"""Protected places before and after a command.

A command can write everywhere, so programs work as in a shell. Afterwards a change is right if its
content comes from a commit or was there before; any other one is taken back, and the user decides.

    places = ProtectedPlaces(Path("/home/me/project"))
    places.begin()
    ...  # the command runs
    outcome = places.end()
    places.apply(outcome.changes)  # if the user agrees
"""

import os
import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from yourtool.errors import ToolError
from yourtool.tools.protection.changes import Change, Outcome
from yourtool.tools.protection.entries import cut, is_equal, with_places
from yourtool.tools.protection.known_content import KnownContent
from yourtool.tools.protection.reading import TreeReader, everything
from yourtool.tools.protection.settling import Settling
from yourtool.tools.protection.states import State, StateReader
from yourtool.tools.protection.writing import move, put, release, remove_empty

TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108 - names only


class ProtectedPlaces:
    """The protected places of a workspace during a session; all methods block, and are thread-safe.

    Commands that run at the same time share the state before the first of them.
    """

    def __init__(self, workspace: Path, writable: Sequence[Path] = TEMPORARY) -> None:
        """`writable`: where commands write besides the workspace and its repository.

        The commits of a remote repository there can be those of a command.
        """
        self._workspace = Path(os.path.realpath(workspace))
        self._reader = StateReader(self._workspace)
        self._known = KnownContent(tuple(writable))
        self._lock = threading.Lock()
        self._running = 0
        self._state: State | None = None

    def begin(self) -> None:
        """Note the state before a command."""
        with self._lock:
            if self._running == 0 or self._state is None:
                self._state = self._reader.read()
                self._known.note_before(self._state.tree, self._state.repository)
            self._running += 1

    def check_running(self, named_addresses: Collection[str] = ()) -> tuple[Change, ...]:
        """Take back what a running command changed in directories of git, if that is wrong.

        Without a change this takes less than a millisecond.
        """
        with self._lock:
            settling = self._start_settling(named_addresses, is_running=True)
            settling.settle_git()
            return settling.build_outcome().changes

    def end(self, named_addresses: Collection[str] = ()) -> Outcome:
        """Take back the wrong changes of a command.

        `named_addresses`: the addresses that the approved command line shows literally.
        """
        with self._lock:
            self._running -= 1
            settling = self._start_settling(named_addresses)
            outcome = settling.settle()
            self._known.note_after()
            if self._running:
                self._state = settling.build_state()
            return outcome

    def apply(self, changes: Iterable[Change]) -> None:
        """Make changes that were taken back, after the user allowed them.

        Raises:
            ToolError: a place changed meanwhile, or cannot be written; earlier ones are made.
        """
        with self._lock:
            for change in changes:
                self._apply(change)
                self._accept([change.place])

    def accept(self, paths: Iterable[str]) -> None:
        """Accept the present state of places that the user let a tool write during a command.

        `paths`: relative to the workspace, without links.
        """
        with self._lock:
            self._accept([f"{self._workspace}/{path}" for path in paths])

    def _accept(self, places: Sequence[str]) -> None:
        if not self._running or self._state is None:
            return
        now = self._reader.read_again(self._state)
        tree = with_places(self._state.tree, now.tree, places)
        self._state = replace(now, tree=tree)
        self._known.remember({path: entry for path, entry in tree.items() if path in places})

    def _start_settling(self, addresses: Collection[str], *, is_running: bool = False) -> Settling:
        if self._state is None:
            raise RuntimeError("no command runs")
        return Settling(
            self._workspace,
            self._reader,
            self._known,
            self._state,
            addresses,
            is_running=is_running,
        )

    def _apply(self, change: Change) -> None:
        if change.is_made:
            return
        try:
            self._require_unchanged(change)
            if change.original:
                move(change.place, change.original)
            if change.held:
                put(change.place, {}, {})
                release(change.place, change.held)
            else:
                put(change.place, change.after, change.created)
            remove_empty(change.deleted)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ToolError(f"`{change.path}` could not be changed: {reason}") from error

    def _require_unchanged(self, change: Change) -> None:
        """Raise an error if a place is not as it was when the change was taken back."""
        now = cut(TreeReader().read({change.place: everything}), change.place)
        if change.original:
            is_unchanged = "" in now and now[""].identity == change.before[""].identity
        else:
            is_unchanged = is_equal(now, change.before)
        if not is_unchanged:
            raise ToolError(
                f"`{change.path}` changed meanwhile, so the change was not made; run the command"
                " again"
            )
