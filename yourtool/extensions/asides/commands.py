"""Slash commands about side questions, reviews and goals."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    Choose,
    CommandResults,
    Report,
    Section,
    ShowAnswer,
    SlashCommand,
    StartTurn,
)
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.extensions.asides import goal, goal_options, review, side_question

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session


async def ask_aside(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/btw`: ask a side question, or list those of the session."""
    if argument:
        aside = side_question.SideQuestion(session, argument)
        yield ShowAnswer(argument, aside.ask(), aside.stop)
        return
    if not (asked := await side_question.list_asked(session)):
        yield Notice(level="info", text="There is no side question; `/btw QUESTION` asks one.")
        return
    yield Report(
        "Side questions",
        tuple(Section(each.question, ((each.model, each.answer),)) for each in asked),
    )


async def review_changes(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/review`: let a model review what is uncommitted, or a branch."""
    yield StartTurn(review.review(session, runtime, argument))


async def pursue_goal(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/goal`: work until a goal is met; show, stop or continue it."""
    stored = goal.find_goal(session)
    match argument:
        case "" if stored is None:
            text = f"There is no goal; `/goal {goal_options.USAGE}` starts one."
            yield Notice(level="info", text=text)
        case "" if stored is not None:
            yield Report("Goal", (Section("Goal", goal.describe(stored, session)),))
        case "stop":
            async for event in goal.stop_goal(session):
                yield event
        case "resume":
            wanted = goal.find_goal_to_continue(session).goal
            is_attended = runtime.options.interactive
            then = partial(_continue_goal, session, is_attended)
            if not wanted.check:
                async for result in then("yes"):
                    yield result
            elif is_attended:  # another session or another program can have written it
                title = f"Continue, and run `{wanted.check}` after each turn?"
                yield Choose(title, (Choice("yes", "Continue"), Choice("no", "Not now")), then)
            else:
                raise UsageError(
                    f"Nobody is present to approve `{wanted.check}`: start the goal again."
                )
        case _:
            wanted = goal_options.parse_goal(argument)
            started = goal.start_goal(session, wanted, interactive=runtime.options.interactive)
            yield StartTurn(started)


async def _continue_goal(session: "Session", is_attended: bool, answer: str) -> CommandResults:
    if answer == "yes":
        yield StartTurn(goal.continue_goal(session, interactive=is_attended))


COMMANDS = (
    SlashCommand(
        name="btw",
        run=ask_aside,
        argument="[QUESTION]",
        is_multiline=True,
        summary="ask a side question, also during a turn; without QUESTION, list them",
    ),
    SlashCommand(
        name="review",
        run=review_changes,
        argument="[BASE]",
        during_turn=False,
        has_answer=True,
        summary="let a model review the uncommitted changes, or those since BASE",
    ),
    SlashCommand(
        name="goal",
        run=pursue_goal,
        argument="[stop | resume | [--turns N] [--cost USD] [--minutes N] TEXT [-- COMMAND]]",
        keywords=(("stop", "end the goal"), ("resume", "continue a goal that is paused")),
        is_multiline=True,
        has_answer=True,
        summary="work until COMMAND succeeds, or a model decides that TEXT is met; alone, show it",
    ),
)


def find_notices(session: "Session") -> Sequence[str]:
    """Return warnings about a session that was opened."""
    has_goal = "goal" in session.state.branch.entries
    return goal.find_notices(session) if has_goal else ()
