"""Instructions of the user and the project.

Those from the root of the project to the workspace are in the system prompt. Those of a directory
below follow the result of the first call that uses it, so that the prompt stays the same.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.history.state import State
from yourtool.agent.requests.prompt import FOLDER_INSTRUCTIONS
from yourtool.agent.session.project.project_files import (
    MAX_BYTES,
    ProjectFile,
    get_instructions,
    read_folder_instructions,
    read_user_instructions,
)
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.messages.blocks import TextBlock
from yourtool.paths import resolve_paths

MAX_TOTAL_BYTES = 65_536
"""Of all instructions in the prompt, and again of all that follow results of calls."""
_UNUSED = "`{}` not used: you have not trusted its present content; `/trust` does."
_OMITTED = (
    f"The instructions of {{}} are not used: all together have more than {MAX_TOTAL_BYTES:,} bytes;"
    " shorten them."
)
_NO_ROOM = (
    "`{}` not used: the instructions of directories below have more than"
    f" {MAX_TOTAL_BYTES} bytes together; shorten them."
)


class Instructions(Struct, frozen=True):
    """The text of one source."""

    source: str
    text: str
    size: int
    """Bytes of `text`, without the note that it is truncated."""
    problem: str = ""
    """The part that the model does not get, for the user."""


def list_instructions(workspace: Path) -> list[Instructions]:
    """Return those of the system prompt, the most important ones last; blocks."""
    paths, found = resolve_paths(), list[Instructions]()
    if (own := read_user_instructions(paths)) is not None:
        path, data = own
        text = data[:MAX_BYTES].decode("utf-8-sig", "replace")
        found.append(_build(f"the user, from {path}", text, is_cut=len(data) > MAX_BYTES))
    for file in get_instructions(ProjectTrust(workspace, paths).examine().used_files):
        found.append(_to_instructions(file))
    return _limit([each for each in found if each.text])


def _to_instructions(file: ProjectFile) -> Instructions:
    return _build(f"the project, from {file.name}", file.text, is_cut=file.is_truncated)


def _build(source: str, text: str, *, is_cut: bool) -> Instructions:
    if not is_cut:
        text = text.strip()
        return Instructions(source, text, len(text.encode()))
    text = (text[: text.rfind("\n") + 1] or text).rstrip()
    lines = text.count("\n") + 1
    problem = f"Only the first {lines:,} lines are used of the instructions of {source}:"
    problem += f" they have more than {MAX_BYTES:,} bytes; shorten them."
    note = f"\n[cut after line {lines}, at {MAX_BYTES} bytes]"
    return Instructions(source, f"{text}{note}", len(text.encode()), problem)


def _limit(found: Sequence[Instructions]) -> list[Instructions]:
    """Omit the texts for which the total has no space, least important ones first."""
    kept, room = list[Instructions](), MAX_TOTAL_BYTES
    for each in reversed(found):
        if each.size > room:
            note = f"[omitted: all instructions together have more than {MAX_TOTAL_BYTES} bytes]"
            kept.append(replace(each, text=note, size=0, problem=_OMITTED.format(each.source)))
            continue
        room -= each.size
        kept.append(each)
    return kept[::-1]


class FolderInstructions:
    """The instructions of directories below the workspace, which a session gets once."""

    def __init__(self, trust: ProjectTrust, workspace: Path, state: State) -> None:
        self._trust = trust
        self._workspace = workspace
        self._state = state
        self._sizes: dict[str, int] | None = None
        self._shown = state.branch, 0
        """As when `_sizes` was computed: what requests no longer have is given again."""
        self._lock = threading.Lock()  # calls run in threads

    def find(self, paths: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return notes for the model about the directories of paths, and notices for the user.

        `paths` are relative to the workspace. Blocks on the file system.
        """
        parents = {each for path in paths if not path.startswith("/") for each in _parents(path)}
        if not parents or not self._trust.asks:
            return [], []
        files = read_folder_instructions(self._workspace, parents)
        notes, used = list[str](), self._trust.find_used_below(files)
        unused = [_UNUSED.format(each.name) for each in files if each not in used]
        with self._lock:
            given = self._get_given()
            for file in used:
                each = _to_instructions(file)
                if file.name in given:
                    continue
                if sum(given.values()) + each.size > MAX_TOTAL_BYTES:
                    unused.append(_NO_ROOM.format(file.name))
                    continue
                given[file.name] = each.size
                unused += [each.problem] if each.problem else []
                notes.append(f"{FOLDER_INSTRUCTIONS}{file.name}`]\n{each.text}")
        return notes, unused

    def list_sizes(self) -> list[tuple[str, int]]:
        """Return sources and bytes of all instructions that the next request has; blocks."""
        stable = [(each.source, each.size) for each in list_instructions(self._workspace)]
        with self._lock:
            below = tuple(self._get_given().items())
        return [*stable, *((f"the project, from {name}", size) for name, size in below)]

    def _get_given(self) -> dict[str, int]:
        """Return the names and sizes of the files that results of calls in requests contain."""
        shown = self._state.branch, self._state.branch.shortenings
        if self._sizes is None or self._shown != shown:
            self._shown = shown
            self._sizes = dict(_find_given(self._state))
        return self._sizes


def _parents(path: str) -> Iterator[str]:
    """Yield a path, which can be that of a directory, and its directory."""
    yield path
    yield str(Path(path).parent)


def _find_given(state: State) -> Iterator[tuple[str, int]]:
    """Yield the names and sizes of the notes in a history; a note follows an output."""
    for message in state.sent_messages:
        if (result := message.result) is None:
            continue
        for block in result.content[1:]:
            if isinstance(block, TextBlock) and block.text.startswith(FOLDER_INSTRUCTIONS):
                heading, _, text = block.text.partition("`]\n")
                yield heading.removeprefix(FOLDER_INSTRUCTIONS), len(text.encode())
