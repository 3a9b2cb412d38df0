"""Answers about the network of a command."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from yourtool.agent.turn.calls.tool_call import ToolCall
from yourtool.agent.turn.turn import Turn
from yourtool.effects import (
    OUTSIDE_SANDBOX,
    Confirmation,
    Decision,
    NetworkAnswer,
    NetworkOffer,
    Preview,
)
from yourtool.errors import ConfigError
from yourtool.events.deltas import Notice
from yourtool.permissions.rules import HOST_RULE, NETWORK_RULE, OUTSIDE_RULE, Rule
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.base import Block


def build_offer(block: Block) -> NetworkOffer | None:
    """Return the hosts that a command was refused and that can be allowed."""
    hosts = tuple(each for each in block.hosts if "." in each and not block.are_private)
    return NetworkOffer(hosts=hosts) if hosts else None


async def take_answer(
    decision: Decision, confirmation: Confirmation, call: ToolCall, turn: Turn
) -> Preview | None:
    """Store the answer about the network; return the preview of what runs with it."""
    offer, shown = confirmation.network, confirmation.preview
    if offer is None or shown is None:
        return shown
    match decision.network:
        case NetworkAnswer.NETWORK if offer.is_enough and offer.outside:
            rules = [str(Rule(NETWORK_RULE, each)) for each in offer.outside]
            text = f"{_name(offer.outside)} has a network in the sandbox from now on."
            shown = _stay_inside(shown, turn, has_network=True)
        case NetworkAnswer.HOSTS if offer.hosts:
            rules = [str(Rule(HOST_RULE, each)) for each in offer.hosts]
            hosts = _name(offer.hosts)
            text = f"All commands in the sandbox of this folder reach {hosts} from now on."
            shown = _stay_inside(shown, turn, has_network=False)
        case NetworkAnswer.PROGRAM if offer.outside:
            rules = [str(Rule(OUTSIDE_RULE, each)) for each in offer.outside]
            text = f"{_name(offer.outside)} runs outside the sandbox from now on."
            shown = replace(
                shown,
                surroundings=OUTSIDE_SANDBOX,
                is_outside=True,
                has_network=False,
                sandbox=SandboxLevel.NONE,
            )
        case _:
            return shown
    call.report.note(f"[{text}]")
    notice = Notice(level="info", text=f"{text} `/permissions` takes it back.")
    try:
        await asyncio.to_thread(turn.env.gate.grant, rules, always=True)
    except ConfigError as error:
        notice = Notice(level="warning", text=f"Allowed for this session only: {error}")
    await turn.emit(notice)
    return shown


def _stay_inside(shown: Preview, turn: Turn, *, has_network: bool) -> Preview:
    """Let a call run in the sandbox, also one for which the model asked to leave it."""
    if (sandbox := turn.env.place.sandbox) is None:
        return shown
    return replace(
        shown, is_outside=False, has_network=has_network, leaving="", sandbox=sandbox.level
    )


def _name(texts: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in texts)
