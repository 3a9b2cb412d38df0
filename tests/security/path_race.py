"""Operations on paths while another process replaces their directories with links.

`python -m tests.security.path_race attack ROOT` replaces directories of the workspace `ROOT/work`
with links to `ROOT/outside`, and back, until it is ended.
`python -m tests.security.path_race operate ROOT OPENER COUNT SEED` uses paths through them, and
prints how many operations succeeded, how many saw something of `outside`, and how many plain opens
of the same paths did.
"""

import ctypes
import json
import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from yourtool.errors import ToolError
from yourtool.foundation.file_images import ABSENT_FILE, FileRestore
from yourtool.tools.workspace.directory_opening import open_by_components, system_opener
from yourtool.tools.workspace.directory_walk import iter_files
from yourtool.tools.workspace.file_states import file_state, read_state, restore_file
from yourtool.tools.workspace.replacing import ABSENT, digest
from yourtool.tools.workspace.workspace import Workspace

CANARY = b"outside canary"
OPENERS = {"kernel": system_opener, "components": lambda: open_by_components}
_PAIRS = (("place", "link"), ("place/sub", "place/sublink"), ("deep/a", "deep/link"))
_EXCHANGE = 2
_AT_FDCWD = -100
_PLAIN_EVERY = 20


def lay_out(root: Path) -> None:
    """Make a workspace with directories that can be exchanged with links."""
    outside, work = root / "outside", root / "work"
    for top in (outside, work / "place", work / "deep/a"):
        for name in ("sub", "b/c"):
            (top / name).mkdir(parents=True)
    for name in ("file", "sub/file", "b/c/file", "canary-name", "sub/canary-name"):
        (outside / name).write_bytes(CANARY)
    for name in ("place/file", "place/sub/file", "deep/a/b/c/file"):
        (work / name).write_bytes(b"inside")
    (work / "link").symlink_to("../outside")
    (work / "place/sublink").symlink_to(outside / "sub")
    (work / "deep/link").symlink_to("../../outside")


def attack(root: Path) -> None:
    """Exchange directories and links for ever, in one step or by renaming."""
    work = os.fsencode(root / "work")
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    pairs = [tuple(os.path.join(work, os.fsencode(each)) for each in pair) for pair in _PAIRS]  # noqa: PTH118
    sys.stdout.write("started\n")
    sys.stdout.flush()
    while True:
        for first, second in pairs:
            if renameat2 and not renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE):
                continue
            with suppress(OSError):
                os.rename(first, first + b".moved")  # noqa: PTH104
                os.rename(second, first)  # noqa: PTH104
                os.rename(first + b".moved", second)  # noqa: PTH104


_PATHS = (
    "place/file",
    "place/sub/file",
    "place/b/../sub/file",
    "deep/a/b/c/file",
    "link/file",
    "place/sublink/../file",
    "deep/link/b/c/file",
)


class Operations:
    """Uses paths of the workspace as the tools and undo do."""

    def __init__(self, workspace: Workspace, chance: random.Random) -> None:
        self._workspace = workspace
        self._chance = chance
        self.plain_escapes = 0
        self._kinds: dict[str, tuple[int, Callable[[str], bytes]]] = {
            "read": (60, lambda path: workspace.read(path, limit=99)),
            "list": (12, self._list),
            "search": (6, self._search),
            "write": (7, self._write),
            "edit": (7, self._edit),
            "delete": (4, self._delete),
            "restore": (4, self._restore),
        }

    def run(self, count: int) -> tuple[Counter[str], Counter[str]]:
        """Return how often each operation succeeded, and how often it escaped."""
        names = list(self._kinds)
        weights = [weight for weight, _ in self._kinds.values()]
        done, escaped = Counter[str](), Counter[str]()
        for number, name in enumerate(self._chance.choices(names, weights, k=count)):
            if number % _PLAIN_EVERY == 0:
                with suppress(OSError):
                    place = self._workspace.root / "place/file"
                    self.plain_escapes += b"canary" in place.read_bytes()
            try:
                seen = self._kinds[name][1](self._chance.choice(_PATHS))
            except (ToolError, FileNotFoundError):
                continue
            done[name] += 1
            escaped[name] += b"canary" in seen
        return done, escaped

    def _list(self, path: str) -> bytes:
        entries = self._workspace.entries(path.rpartition("/")[0])
        return " ".join(entry.name for entry in entries).encode()

    def _search(self, path: str) -> bytes:
        found = list(iter_files(self._workspace, path.partition("/")[0], threading.Event()))
        texts = [self._workspace.read(each, limit=99) for each in found if each.endswith("/file")]
        return b"".join(texts) + " ".join(found).encode()

    def _write(self, path: str) -> bytes:
        name = f"{path.rpartition('/')[0]}/new"
        before = ABSENT
        with suppress(ToolError):
            before = digest(self._workspace.read(name, limit=99))
        self._workspace.write(name, b"new", expected=before)
        return b""

    def _edit(self, path: str) -> bytes:
        seen = self._workspace.read(path, limit=99)
        self._workspace.write(path, b"inside", expected=digest(seen))
        return seen

    def _delete(self, path: str) -> bytes:
        name = f"{path.rpartition('/')[0]}/new"
        state = read_state(self._workspace, name)
        restore_file(
            self._workspace, FileRestore(path=name, before=state.image, after=ABSENT_FILE), None
        )
        return state.content or b""

    def _restore(self, path: str) -> bytes:
        state, after = read_state(self._workspace, path), file_state(b"inside", 0o640)
        restore_file(
            self._workspace,
            FileRestore(path=path, before=state.image, after=after.image),
            after.content,
        )
        return state.content or b""


def operate(root: Path, opener: str, count: int, seed: int) -> None:
    """Print the counts of operations as JSON."""
    workspace = Workspace(root / "work", opener=OPENERS[opener]())
    operations = Operations(workspace, random.Random(seed))
    done, escaped = operations.run(count)
    json.dump({"done": done, "escaped": escaped, "plain": operations.plain_escapes}, sys.stdout)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["attack", root]:
            attack(Path(root))
        case ["operate", root, opener, count, seed]:
            operate(Path(root), opener, int(count), int(seed))
        case _:
            sys.exit(__doc__)
