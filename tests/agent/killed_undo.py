"""Change files or take the changes back in child processes, each killed at another file operation.

Usage: python -m tests.agent.killed_undo ROOT write|patch|undo. Prints the directory of each killed
process. The kernel's view of the files is complete after a kill, so no file is half written unless
the program writes it in place.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.agent.harness import Bench, play
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode

OLD = {"changed.txt": "of the user\n", "removed.txt": "also\n"}
NEW = {"changed.txt": "of the agent\n", "d/created.txt": "new\n", "e/f/more.txt": "new too\n"}
SCRIPT = [
    calls("write_file", path="changed.txt", content="of the agent\n"),
    calls("write_file", path="d/created.txt", content="new\n")
    + calls("write_file", path="e/f/more.txt", content="new too\n"),
    calls("shell", command="rm removed.txt"),
    says("done"),
]
PATCH = """\
*** Update File: changed.txt
@@
-of the user
+of the agent
*** Add File: d/created.txt
+new
*** Delete File: removed.txt
*** Add File: e/f/more.txt
+new too
"""


async def run(root: Path, deadly: int, phase: str) -> None:
    left = [deadly]

    def count(event: str, _: object) -> None:
        if event in ("os.rename", "os.remove"):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), 9)

    bench = Bench(root)
    for name, text in OLD.items():
        (bench.workspace / name).write_text(text)
    script = [calls("apply_patch", patch=PATCH), says("done")] if phase == "patch" else SCRIPT
    session = await bench.session(Scripted(script), mode=Mode.AUTO)
    (root / "session").write_text(session.id)
    if phase != "undo":
        sys.addaudithook(count)
    await play(session.send("go"))
    if phase == "undo":
        sys.addaudithook(count)
    await play(session.files.undo())


def main() -> None:
    root, phase = Path(sys.argv[1]), sys.argv[2]
    for deadly in range(1, 100):
        place = root / f"{phase}-{deadly}"
        place.mkdir()
        if (pid := os.fork()) == 0:
            asyncio.run(run(place, deadly, phase))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            break
        print(place, flush=True)  # noqa: T201 - this is what the parent reads


if __name__ == "__main__":
    main()
