"""Safety copy of work before a discarding call."""

import asyncio

from msgspec.structs import replace

from yourtool.agent.turn.calls.second_questions import offer_without_copy
from yourtool.agent.turn.calls.tool_call import DecidedCall
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ToolError
from yourtool.permissions.credential_files import is_credential_file
from yourtool.tools.git.git_program import GitError
from yourtool.tools.protection.safety_copies import SafetyCopy, copy_work, describe_copy


async def make_safety_copy(
    decided: DecidedCall, turn: Turn
) -> tuple[DecidedCall, SafetyCopy | None]:
    """Copy what a call would discard.

    Raises:
        ToolError: no copy can be made, and the user declined to run it without one.
        Interrupted: the turn was stopped.
    """
    if (lost := decided.lost_work) is None or not lost.has_copy:
        return decided, None
    workspace, stores = turn.env.place.workspace, turn.env.place.blobs / "repositories"

    def is_secret(path: str) -> bool:
        try:
            is_outside = path.startswith("../")
            return is_credential_file(path) if is_outside else workspace.is_credential_file(path)
        except ToolError:  # a link that leads out of the workspace; only its target is copied
            return is_credential_file(path)

    report = decided.call.report
    try:
        copying = asyncio.to_thread(copy_work, lost, workspace.root, stores, is_secret)
        copy = await turn.interrupt.guard(copying)
    except GitError as error:
        report.note(f"[No safety copy of {lost.subject} was made: {error}.]")
        if turn.env.user.interactive:
            decided = await offer_without_copy(decided, str(error), turn)
        return decided, None
    if copy is not None:
        report.note(f"[Made a safety copy of {lost.subject}: {describe_copy(copy)}.]")
    return replace(decided, lost_work=None), copy
