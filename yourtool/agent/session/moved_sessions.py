"""Sessions of directories that were moved."""

import asyncio
import os
from pathlib import Path

from yourtool.agent.history.state import State
from yourtool.errors import UsageError
from yourtool.paths import Paths, from_stored_path
from yourtool.settings.config import RunOptions
from yourtool.store.base import SessionStore


def find_workspace(state: State, options: RunOptions, paths: Paths) -> Path:
    """Return the directory in which a session continues: a named one, or that of the session.

    The copy for a demo stays its directory.
    """
    last = from_stored_path(state.workspace_path)
    moves = options.names_workspace and last.parent != paths.scratch
    return options.workspace if moves else last


async def describe_no_session(store: SessionStore, workspace: Path) -> str:
    """Return the message that a directory has no session, with one that may belong to it.

    Only a session whose directory is gone, and had the same name, may have been moved here.
    """
    found = f"`{workspace}` has no session to continue."
    for each in await store.list():
        path = from_stored_path(each.workspace_path)
        if path.name == workspace.name and not await asyncio.to_thread(os.path.lexists, path):
            way = f"`yourtool -r {each.id} --cwd .` goes on here."
            return f"{found} The last session of `{path}`, which is gone: {way}"
    return found


async def require_workspace(root: Path, session_id: str) -> None:
    """Check that the directory of a session exists.

    Raises:
        UsageError: it does not.
    """
    if not await asyncio.to_thread(os.path.isdir, root):
        raise UsageError(
            f"The workspace of session `{session_id}`, `{root}`, no longer exists. If it"
            f" was moved, `yourtool -r {session_id} --cwd DIR` goes on in it;"
            " `yourtool sessions show` reads the session."
        )
