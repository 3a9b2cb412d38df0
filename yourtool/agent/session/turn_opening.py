"""How a turn starts: its first fact, its model if the conversation is long, and later messages."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator

from yourtool.agent.history.recorder import Recorder
from yourtool.agent.history.state import State
from yourtool.agent.input.mentions import AddressedPrompt
from yourtool.agent.routes import Routes
from yourtool.agent.session.project_trust import FolderTrust
from yourtool.agent.session.system_prompt import SystemPrompt
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn.user_messages import build_prompt
from yourtool.errors import UsageError
from yourtool.events.catalog import Event
from yourtool.events.turns import RouteDecided, TurnStarted
from yourtool.messages.blocks import ContentBlock, ImageBlock
from yourtool.messages.message import PromptMessage
from yourtool.messages.metadata import Origin
from yourtool.routing.router import RejectionCode


def build_turn_started(
    message: PromptMessage | None,
    state: State,
    env: SessionEnvironment,
    prompt: SystemPrompt,
) -> TurnStarted:
    """Return the fact that starts a turn; blocks. `message` None: the last one is sent again."""
    text = message.text if message is not None else ""
    new_messages = [message] if message is not None else []
    return TurnStarted(
        user_message_hash=hashlib.sha256(text.encode()).hexdigest(),
        estimated_input_tokens=env.estimates.total(
            state, env.routes.expected_model(state).id, new_messages
        ),
        has_images=any(isinstance(b, ImageBlock) for m in new_messages for b in m.content),
        has_tool_calls_in_history=any(each.tool_uses for each in state.messages),
        message=message,
        surroundings=prompt.find_surroundings(),
    )


async def prepare_routing(
    routes: Routes, record: Recorder, state: State, trust: FolderTrust
) -> AsyncGenerator[Event, None]:
    """Record what changed in availability and rules since the last turn."""
    started = state.open_turn.id if state.open_turn else None
    for recovered in routes.sweep():
        yield await record(recovered, parent=started)
    rules = routes.rules
    for invalid in await asyncio.to_thread(rules.refresh, trust.routing_file):
        yield await record(invalid, parent=started)
    if (changed := rules.find_change(state)) is not None:
        yield await record(changed, parent=started)
    await rules.load_inputs()


def check_steering(
    session_id: str, addressed: AddressedPrompt, state: State, routes: Routes
) -> tuple[ContentBlock, ...]:
    """Return the content of a message to the running turn.

    Raises:
        UsageError: it is meant for another model, or the turn cannot take it.
    """
    if addressed.override is not None:
        raise UsageError(
            f"The running turn stays with its model: a message to `{addressed.override.id}` has to"
            " wait for the end of the turn. Enter queues it."
        )
    message = build_prompt(session_id, addressed.content, Origin.STEERING)
    if (problem := routes.find_steering_problem(message, state)) is not None:
        raise UsageError(f"{problem}. Enter queues the message for the next turn.")
    return addressed.content


def is_only_too_long(route: RouteDecided, model_id: str) -> bool:
    """Whether no model was chosen, and this one was rejected for the length of the conversation."""
    return route.chosen_model is None and any(
        each.candidate_model == model_id
        and each.validation_failure == RejectionCode.EXCEEDS_CONTEXT_WINDOW
        for each in route.chain
    )
