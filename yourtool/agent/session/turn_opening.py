"""Start of a turn.

The module handles its first fact, its model for a long conversation, and later messages.
"""

import asyncio
import hashlib
from datetime import timedelta

from yourtool.agent.history.channel import Channel
from yourtool.agent.history.repair import close_open_turn
from yourtool.agent.history.state import State
from yourtool.agent.input.mentions import AddressedPrompt, parse_address
from yourtool.agent.routes.route_records import RecordedRoute, describe_advice
from yourtool.agent.routes.session_routes import Routes
from yourtool.agent.session.model_selection import ModelSelection
from yourtool.agent.session.processes import SessionProcesses
from yourtool.agent.session.project.project_trust import FolderTrust
from yourtool.agent.session.system_prompt import SystemPrompt
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.agent.turn.turn import Turn, TurnCounts
from yourtool.agent.turn.user_messages import build_prompt
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.events.turns import RouteDecided, TurnStarted
from yourtool.interrupt import Interrupt
from yourtool.messages.blocks import ContentBlock, ImageBlock
from yourtool.messages.message import PromptMessage
from yourtool.messages.metadata import Origin
from yourtool.providers.requests.reasoning_effort import describe_effort_change
from yourtool.routing.router import RejectionCode

_END_NOTICE = timedelta(days=60)
"""Time of the warning before the end of a model."""


def parse_prompt(
    content: str | tuple[ContentBlock, ...], env: SessionEnvironment
) -> AddressedPrompt:
    """Return a prompt without the model that it is addressed to, and that model.

    Raises:
        UsageError: no model has that alias, or the message is empty.
    """
    return parse_address(content, env.routes.catalogue, env.place.workspace.root, env.has_resource)


async def build_turn_started(
    message: PromptMessage | None,
    state: State,
    env: SessionEnvironment,
    prompt: SystemPrompt,
) -> TurnStarted:
    """Return the fact that starts a turn; `message` None: the last one is sent again."""
    if env.place.sandbox is not None:
        env.place.sandbox.exceptions.get_rules = lambda: env.gate.policy.rules
    await prompt.measure_sandbox()
    return await asyncio.to_thread(_build_turn_started, message, state, env, prompt)


def _build_turn_started(
    message: PromptMessage | None,
    state: State,
    env: SessionEnvironment,
    prompt: SystemPrompt,
) -> TurnStarted:
    text = message.text if message is not None else ""
    new_messages = [message] if message is not None else []
    return TurnStarted(
        user_message_hash=hashlib.sha256(text.encode()).hexdigest(),
        estimated_input_tokens=env.requests.estimates.total(
            state, env.routes.expected_model(state).id, new_messages
        ),
        has_images=any(isinstance(b, ImageBlock) for m in new_messages for b in m.content),
        has_tool_calls_in_history=any(each.tool_uses for each in state.messages),
        message=message,
        surroundings=prompt.find_surroundings(),
    )


async def settle(
    state: State, channel: Channel, models: ModelSelection, processes: SessionProcesses
) -> None:
    """Record the end and the selections of the last turn, and what became of processes."""
    await close_open_turn(state, channel)
    await models.store_pending(channel)
    await processes.report(channel)


async def prepare_routing(
    routes: Routes, channel: Channel, state: State, trust: FolderTrust
) -> None:
    """Record what changed in availability and rules since the last turn."""
    started = state.open_turn.id if state.open_turn else None
    await channel.emit(*routes.sweep(), parent=started)
    rules = routes.rules
    invalid = await asyncio.to_thread(rules.refresh, trust.routing_file)
    await channel.emit(*invalid, parent=started)
    if (changed := rules.find_change(state)) is not None:
        await channel.emit(changed, parent=started)
    await rules.load_inputs()
    if routes.learned is not None:
        await routes.learned.load(state.open_turn.session_id if state.open_turn else "")


async def end(route: RouteDecided, routes: Routes, channel: Channel, interrupt: Interrupt) -> None:
    """Record the end of a turn that no model answers, and report why."""
    is_stopped = interrupt.requested
    for line in () if is_stopped else routes.explain_failure(route):
        await channel.emit(Notice(level="error", text=line))
    unused = TurnCounts()
    ended = unused.build_cancelled() if is_stopped else unused.build_completed()
    await channel.emit(ended, parent=route.id)


def find_notices(turn: Turn, prompt: SystemPrompt) -> list[Notice]:
    """Return what limits the model of a turn, and a better one, each once per session."""
    adjusted = describe_effort_change(turn.model, turn.means.effort)
    advice = None if turn.state.last_route is None else describe_advice(turn.state.last_route)
    missing = turn.env.routes.missing_tools_notice(turn.model)
    end = turn.model.describe_end(within=_END_NOTICE)
    return turn.env.user.new_notices(adjusted, missing, advice, end, *prompt.problems)


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


def is_only_too_long(decided: RecordedRoute, model_id: str) -> bool:
    """Whether no model was chosen, and this one was rejected for the length of the conversation."""
    route = decided.route
    return route.chosen_model is None and any(
        each.candidate_model == model_id
        and each.validation_failure == RejectionCode.EXCEEDS_CONTEXT_WINDOW
        for each in route.chain
    )
