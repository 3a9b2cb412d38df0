"""Safety copy of work before a discarding call."""

import asyncio

from yourtool.agent.turn.calls.admission import offer_without_copy
from yourtool.agent.turn.calls.tool_call import ToolCall
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ToolError
from yourtool.permissions.credential_files import is_credential_file
from yourtool.tools.git.git_program import GitError
from yourtool.tools.protection.safety_copies import copy_work, describe_copy


async def make_safety_copy(call: ToolCall, turn: Turn) -> ToolError | None:
    """Copy what a call would discard; return why it must not run, or None.

    Raises:
        Interrupted: the turn was stopped.
    """
    if (lost := call.lost_work) is None or not lost.has_copy:
        return None
    workspace, stores = turn.env.workspace, turn.env.blobs / "repositories"

    def is_secret(path: str) -> bool:
        try:
            is_outside = path.startswith("../")
            return is_credential_file(path) if is_outside else workspace.is_credential_file(path)
        except ToolError:  # a link that leads out of the workspace; only its target is copied
            return is_credential_file(path)

    try:
        copying = asyncio.to_thread(copy_work, lost, workspace.root, stores, is_secret)
        call.copy = await turn.interrupt.guard(copying)
    except GitError as error:
        refusal = None
        if turn.env.interactive:
            try:
                await offer_without_copy(call, str(error), turn)
            except ToolError as declined:
                refusal = declined
        call.notes += (f"[No safety copy of {lost.subject} was made: {error}.]",)
        return refusal
    call.lost_work = None
    if call.copy is not None:
        call.notes += (f"[Made a safety copy of {lost.subject}: {describe_copy(call.copy)}.]",)
    return None
