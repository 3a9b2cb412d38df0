"""Summaries of messages.

If the call fails, or its summary is empty or too long, the program writes a short one.
"""

import asyncio
from collections.abc import Sequence
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from yourtool.agent.history.summary_texts import (
    INSTRUCTIONS,
    render_conversation,
    write_summary,
)
from yourtool.agent.turn.model_call import call_silently
from yourtool.agent.turn.request import SilentRequest
from yourtool.agent.turn.turn import Turn
from yourtool.agent.turn.user_messages import build_prompt
from yourtool.errors import StoreError, YourtoolError
from yourtool.events.model_calls import LlmCallEnd, LlmCallFailed
from yourtool.foundation.text import storable
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message
from yourtool.messages.metadata import StopReason
from yourtool.providers.estimate import estimate_text

COMPACTION = "compaction"
"""The purpose of the call that writes a summary of old messages."""
_MAX_SUMMARY, _SUMMARY_SHARE = 4_000, 0.1
"""Tokens of a summary, and its share of the window."""
_INPUT_SHARE = 0.5
"""Share of the window of the summarising model that the messages have."""
_CHARACTERS = 3
"""Characters of a token, at least, in most texts."""


class Summary(Struct, frozen=True):
    """A summary and who wrote it."""

    text: str
    model: str = ""
    """Empty: the program."""
    problem: str = ""
    """Why no model wrote it."""


def get_summary_limit(turn: Turn) -> int:
    """Return the most tokens that a summary for the model of a turn has."""
    window = turn.model.window or inf
    return round(min(_MAX_SUMMARY, window * _SUMMARY_SHARE))


async def summarise(
    turn: Turn, messages: Sequence[Message], hint: str = "", purpose: str = COMPACTION
) -> Summary:
    """Return a summary of messages by a model, or one by the program if that fails.

    `hint`: what it must have above all. `purpose`: that of the silent call.

    Raises:
        Interrupted: the turn was stopped.
    """
    limit = get_summary_limit(turn)
    try:
        end = await _call_model(turn, messages, (hint, purpose), limit)
        problem = _find_problem(end, limit)
        if not problem and not isinstance(end, LlmCallFailed):
            return Summary(storable(end.message.text.strip()), end.model)
    except StoreError:
        raise
    except YourtoolError as error:
        problem = str(error)
    mask = await asyncio.to_thread(turn.env.place.mask)
    text = await asyncio.to_thread(write_summary, messages, limit * _CHARACTERS)
    return Summary(text, problem=storable(mask.text(problem)))


def _find_problem(end: LlmCallEnd, limit: int) -> str:
    """Return why the reply is no summary; empty if it is one."""
    if isinstance(end, LlmCallFailed):
        return end.error_message_redacted
    if not (text := end.message.text.strip()):
        return "the summary was empty"
    if end.stop_reason is not StopReason.END_TURN:
        return f"the summary ended early ({end.stop_reason})"
    if (size := estimate_text(text, end.model)) > limit:
        return f"the summary had about {round(size):,} tokens, more than {limit:,}"
    return ""


async def _call_model(
    turn: Turn, messages: Sequence[Message], what: tuple[str, str], limit: int
) -> LlmCallEnd:
    """Let a model summarise messages; its tokens and its cost belong to the turn."""
    hint, purpose = what
    writer = await _choose_writer(turn)
    window = writer.model.capabilities.max_context_tokens
    wish = f"\n\nThe user wants this above all: {hint}" if hint else ""
    text = await asyncio.to_thread(
        render_conversation, messages, round(window * _INPUT_SHARE * _CHARACTERS)
    )
    request = f"{INSTRUCTIONS} Write at most {limit // 2} words.{wish}\n\n{text}"
    prompt = build_prompt(turn.session_id, (TextBlock(request),))
    return await call_silently(writer, SilentRequest(purpose, (prompt,)))


async def _choose_writer(turn: Turn) -> Turn:
    """Return the turn with the model that writes the summary, and with the same counts."""
    named, env = turn.env.requests.context.summary_model, turn.env
    if not named:
        return turn
    model = env.routes.catalogue.resolve(named)
    await asyncio.to_thread(env.requests.registry.prepare, model)
    routing = replace(turn.means.routing, chosen_model=model.id, reason="it writes summaries")
    adapter = env.requests.registry.adapter(model)
    return replace(turn, model=model, means=replace(turn.means, adapter=adapter, routing=routing))
