"""Side questions.

The request is that of the conversation with one more prompt, so that the provider has its start in
the cache. Later requests have neither question nor answer: both are in the facts of a silent call.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.history.channel import Channel
from yourtool.agent.turn.model_call import call_silently
from yourtool.agent.turn.request import SilentRequest
from yourtool.agent.turn.turn import Turn
from yourtool.agent.turn.user_messages import build_prompt
from yourtool.errors import UsageError, YourtoolError
from yourtool.events.deltas import TextDelta
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from yourtool.foundation.text import storable
from yourtool.interrupt import Interrupt, Interrupted
from yourtool.messages.blocks import TextBlock
from yourtool.models import AGENT

if TYPE_CHECKING:
    from yourtool.agent.session.session import Session

PURPOSE = "aside"
"""The purpose of the calls."""
INSTRUCTIONS = """\
(A side question. Answer it in a few sentences from what this conversation has. Call no \
tool: the answer is shown once, and the work continues as if the question had not been asked.)"""

_ASKING = WeakSet["Session"]()
"""The sessions with a question that is being answered."""


class SideQuestionError(YourtoolError):
    """There is no answer."""


class Asked(Struct, frozen=True):
    """A question with its answer or with the error."""

    question: str
    answer: str
    model: str


class SideQuestion:
    """One question of the user."""

    def __init__(self, session: "Session", question: str) -> None:
        """Raises `UsageError` if another one is being answered, or an agent answers the session."""
        if session in _ASKING:
            raise UsageError("Another side question is being answered; wait for it, or stop it.")
        if session.model.provider == AGENT:
            raise UsageError(
                f"`{session.model.id}` is another agent, which takes no side question."
            )
        self._session, self._question = session, storable(question)
        self._interrupt = Interrupt()

    def stop(self) -> None:
        """Stop the request; what has arrived is stored."""
        self._interrupt.request()

    async def ask(self) -> AsyncGenerator[str, None]:
        """Yield the answer piece by piece; closing this stops the request and waits for its end.

        Raises:
            YourtoolError: there is no answer.
        """
        channel = Channel(self._session.record)
        events = channel.run(partial(self._answer, channel))
        _ASKING.add(self._session)
        try:
            async for event in events:
                if isinstance(event, TextDelta):
                    yield event.text
        finally:
            self.stop()
            async for _ in events:
                pass
            _ASKING.discard(self._session)

    async def _answer(self, channel: Channel) -> None:
        """Request the answer; a second time without tools if the model calls one instead."""
        try:
            turn = await self._session.build_aside(channel, self._interrupt)
            limit = turn.env.spending.limit_reached
            request = await asyncio.to_thread(_build_request, turn, self._question)
            end = await call_silently(turn, request, channel)
            if isinstance(end, LlmCallCompleted) and not end.message.text.strip():
                end = await call_silently(turn, replace(request, tool_choice="none"), channel)
        except Interrupted:
            return
        if isinstance(end, LlmCallFailed):
            if turn.env.spending.limit_reached == end.error_message_redacted:
                turn.env.spending.limit_reached = limit  # it stopped no turn
            raise SideQuestionError(f"There is no answer: {end.error_message_redacted}")
        if not end.message.text.strip():
            raise SideQuestionError(f"`{end.model}` replied without an answer.")


def _build_request(turn: Turn, question: str) -> SilentRequest:
    """Return the conversation with the question; blocks."""
    prompt = build_prompt(turn.session_id, (TextBlock(f"{INSTRUCTIONS}\n\n{question}"),))
    return SilentRequest(
        PURPOSE,
        (*turn.state.conversation_for(turn.model.id), prompt),
        (*turn.prompt.system, turn.prompt.build_situation()),
        turn.get_tools(),
        turn.env.requests.tool_choice,
        question,
    )


async def list_asked(session: "Session") -> Sequence[Asked]:
    """Return the stored questions of a session, the last one first."""
    asked = dict[str, Asked]()
    for fact in await session.stored.read_all():
        match fact:
            case LlmCallStarted(purpose="aside", question=str(question), id=fact_id):
                asked[fact_id] = Asked(question, "no answer: the program ended", fact.model)
            case LlmCallCompleted(purpose="aside", parent_event_id=str(start)) if start in asked:
                asked[start] = replace(asked[start], answer=fact.message.text.strip())
            case LlmCallFailed(purpose="aside", parent_event_id=str(start)) if start in asked:
                said = fact.message.text.strip() if fact.message is not None else ""
                answer = f"{said}\n[{fact.error_message_redacted}]".strip()
                asked[start] = replace(asked[start], answer=answer)
            case _:
                pass
    return [each for each in reversed(asked.values()) if each.answer]
