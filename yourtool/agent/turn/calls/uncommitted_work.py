"""Uncommitted work before a discarding call."""

import asyncio
import hashlib
import os

from yourtool.agent.turn.turn import Turn
from yourtool.errors import BlobError, ToolError
from yourtool.messages.blobs import read_blob
from yourtool.permissions.judging import CallSubjects
from yourtool.tools.git.git_program import GitError, GitRunner
from yourtool.tools.git.lost_work import LostWork, find_lost_work
from yourtool.tools.workspace.file_states import read_state

_MAX_OWN_FILES = 200
_SECONDS = 6.0


async def find_discarded(subjects: CallSubjects, turn: Turn) -> LostWork | None:
    """Return the uncommitted work that a call would discard; None without any."""
    commands = [each.text for each in subjects.items if each.kind == "command"]
    if len(commands) != 1:
        return None
    root = turn.env.place.workspace.root
    environment = turn.env.place.environments.build_for_model(os.environ)
    finding = asyncio.to_thread(find_lost_work, commands[0], root, environment)
    return await turn.interrupt.guard(finding)


async def is_work_of_user(lost: LostWork | None, turn: Turn) -> bool:
    """Return True if the user may have made some of the files or stashes that would be lost."""
    if lost is None or not (lost.files or lost.is_unknown or lost.removes_stashes):
        return False
    if lost.is_unknown or lost.removes_stashes or len(lost.files) > _MAX_OWN_FILES:
        return True
    return not await turn.interrupt.guard(asyncio.to_thread(_is_all_own, lost, turn))


def _is_all_own(lost: LostWork, turn: Turn) -> bool:
    """Whether each file is as the agent left it, and started as git has it."""
    root = lost.repository.top
    workspace, blobs = turn.env.place.workspace, turn.env.place.blobs / "files"
    wanted = list[tuple[str, bytes]]()
    try:
        for each in lost.files:
            path = os.path.relpath(root / each.path, workspace.root)
            states = turn.state.files.find_states(path)
            if states is None or path.startswith("..") or each.path.endswith("/"):
                return False
            first, last = states
            if not read_state(workspace, path, 0).image.is_same(last):
                return False
            if first.kind == "file":
                wanted.append((each.path, read_blob(blobs, f"sha256:{first.digest}")))
            elif first.kind != "absent":
                return False
        return not wanted or _has_git_all(wanted, GitRunner(lost.repository, _SECONDS))
    except (ToolError, BlobError, GitError):
        return False


def _has_git_all(files: list[tuple[str, bytes]], runner: GitRunner) -> bool:
    """Whether each file has the same content as in the last commit."""
    names = "".join(f"HEAD:{path}\n" for path, _ in files)
    output = runner.run("cat-file", "--batch-check=%(objectname)", data=os.fsencode(names))
    ids = output.decode("ascii", "replace").splitlines()
    return len(ids) == len(files) and all(
        found == _get_object_id(content, len(found))
        for found, (_, content) in zip(ids, files, strict=True)
    )


def _get_object_id(content: bytes, length: int) -> str:
    """Return the id of a file in git. Ids of 64 characters are SHA-256."""
    data = b"blob %d\0%s" % (len(content), content)
    if length == 64:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
