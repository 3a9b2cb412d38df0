"""`/undo`, `/redo` and `/rewind`: go back to earlier files, to an earlier prompt, or both."""

from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourtool.agent.commands.base import Choice, Choose, CommandResults, SlashCommand
from yourtool.agent.commands.sessions import fork_before, prompt_choices
from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact, Event
from yourtool.events.files import FilesRestored, FilesRestoring
from yourtool.file_images import LeftFile
from yourtool.messages.message import now

if TYPE_CHECKING:
    from yourtool.agent.history.file_history import RestorePlan, TurnChanges
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_BOTH, _CONVERSATION, _FILES = "both", "conversation", "files"
_MAX_NAMED = 5


async def undo_turn(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/undo`: take back the last turn's changes of files."""
    async for event in session.files.undo():
        yield event


async def redo_turn(session: "Session", _runtime: "Runtime", _argument: str) -> CommandResults:
    """`/redo`: make the changes again that were taken back last."""
    async for event in session.files.redo():
        yield event


async def rewind_session(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
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
        then=partial(_choose_what, session, runtime),
        hint="Enter goes back, after a question if files changed since",
    )


async def _choose_what(session: "Session", runtime: "Runtime", at: str) -> CommandResults:
    """Ask what to restore, if files changed since the prompt."""
    if (plan := session.state.files.plan_rewind(at)) is None:
        async for result in fork_before(session, runtime, at):
            yield result
        return
    plan = await session.files.check(plan)
    files = _describe_plan(plan)
    copied = "continue in a copy of the session; this one stays as it is"
    choices = (
        Choice(_BOTH, "Conversation and files", files),
        Choice(_CONVERSATION, "Conversation only", f"{copied}; files stay as they are"),
        Choice(_FILES, "Files only", files),
    )
    yield Choose("Restore what?", choices, then=partial(_go_back, session, runtime, at, plan))


async def _go_back(
    session: "Session", runtime: "Runtime", at: str, plan: "RestorePlan", what: str
) -> CommandResults:
    facts = list[AnyFact]()
    if what != _CONVERSATION:
        async with aclosing(session.files.rewind(plan)) as events:
            async for event in events:
                facts += _restoring_facts(event)
                yield event
    if what != _FILES:
        async for result in fork_before(session, runtime, at, facts):
            yield result


def _restoring_facts(event: Event) -> tuple[AnyFact, ...]:
    """Return a fact for the copy, where no message describes the changes."""
    match event:
        case FilesRestoring():
            return (event,)
        case FilesRestored():
            return (replace(event, message=None),)
        case _:
            return ()


def _join(detail: str, changes: "TurnChanges | None") -> str:
    if changes is None:
        return f"{detail} · no files changed"
    files = f"{changes.files:,} file{'s' * (changes.files != 1)}"
    return f"{detail} · +{changes.added:,} -{changes.removed:,} in {files}"


def _describe_plan(plan: "RestorePlan") -> str:
    files = [each.path for each in plan.files]
    count = f"{len(files):,} file{'s' * (len(files) != 1)}"
    text = f"restore {count}: {_name(files)}" if files else "no file can be restored"
    return f"{text}; left: {_name_left(plan.left)}" if plan.left else text


def _name(paths: Sequence[str]) -> str:
    more = f", and {len(paths) - _MAX_NAMED:,} more" if len(paths) > _MAX_NAMED else ""
    return ", ".join(paths[:_MAX_NAMED]) + more


def _name_left(left: Sequence[LeftFile]) -> str:
    return _name([f"{each.path} ({each.reason})" for each in left])


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
        summary="go back to before a prompt: the conversation in a copy, the files, or both",
        during_turn=False,
    ),
)
