"""Commands `/undo`, `/redo` and `/rewind`.

They restore earlier files, an earlier prompt, or both.
"""

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourtool.agent.commands.base import Choice, Choose, CommandResults, SlashCommand
from yourtool.agent.commands.sessions.sessions import prompt_choices
from yourtool.agent.commands.sessions.tree import describe_plan, move_to
from yourtool.agent.session.file_restoring import is_empty
from yourtool.errors import UsageError
from yourtool.messages.message import now

if TYPE_CHECKING:
    from yourtool.agent.history.file_history import TurnChanges
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_BOTH, _CONVERSATION, _FILES = "both", "conversation", "files"


def undo_turn(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/undo`: take back the last turn's changes of files."""
    return session.files.undo()


def redo_turn(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/redo`: make the changes again that were taken back last."""
    return session.files.redo()


async def rewind_session(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/rewind`: go back to before a prompt: the conversation, the files, or both."""
    if not session.state.prompts:
        raise UsageError("Nothing to go back to yet; send a message first.")
    choices = (
        replace(choice, detail=_join(choice.detail, session.state.files.count(choice.value)))
        for choice in prompt_choices(session.state.prompts, now())
    )
    yield Choose(
        "Go back to before which prompt?",
        tuple(choices),
        then=partial(_choose_what, session),
        hint="Enter goes back, after a question if files changed since",
    )


async def _choose_what(session: "Session", at: str) -> CommandResults:
    """Ask what to restore, if files changed since the prompt."""
    place = await session.tree.find_place(at)
    move = partial(move_to, session, place.leaf, place.prompt)
    if (plan := session.state.files.plan_rewind(at)) is None:
        async for result in move(None, None):
            yield result
        return
    plan = await session.files.check(plan)
    if is_empty(plan):  # there were commits alone, which stay
        async for result in move(None, None):
            yield result
        return
    files = describe_plan(plan)
    branch = "continue on another branch; /tree shows both"
    choices = (
        Choice(_BOTH, "Conversation and files", files),
        Choice(_CONVERSATION, "Conversation only", f"{branch}; files stay as they are"),
        Choice(_FILES, "Files only", files),
    )

    async def go_back(what: str) -> CommandResults:
        if what == _FILES:
            async for event in session.files.rewind(plan):
                yield event
            return
        everything = await session.tree.plan_files(place.leaf) if what == _BOTH else None
        async for result in move(everything, None):
            yield result

    yield Choose("Restore what?", choices, then=go_back)


def _join(detail: str, changes: "TurnChanges | None") -> str:
    if changes is None:
        return f"{detail} · no files changed"
    files = f"{changes.files:,} file{'s' * (changes.files != 1)}"
    return f"{detail} · +{changes.added:,} -{changes.removed:,} in {files}"


COMMANDS = (
    SlashCommand(
        name="undo",
        run=undo_turn,
        summary="take back the changes to files of the last turn; again: of the turn before",
        during_turn=False,
    ),
    SlashCommand(
        name="redo",
        run=redo_turn,
        summary="make the changes again that `/undo` or `/rewind` took back last",
        during_turn=False,
    ),
    SlashCommand(
        name="rewind",
        run=rewind_session,
        summary="go back to before a prompt: the conversation on a new branch, the files, or both",
        during_turn=False,
    ),
)
