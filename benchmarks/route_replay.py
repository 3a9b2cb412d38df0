"""The time to decide again about stored turns, as `yourtool route replay` does.

Sessions of fifty turns with five rules, one of which holds for a third of the prompts; each turn
has a request, and its prompt, tokens and time differ. Prints JSON; times are seconds.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from yourtool.agent.routes.route_records import build_record
from yourtool.agent.routes.session_routes import to_routing_record
from yourtool.events.catalog import AnyFact
from yourtool.events.model_calls import LlmCallCompleted
from yourtool.events.sessions import SessionCreated
from yourtool.events.turns import RouteDecided, RoutingPolicyChanged, TurnStarted
from yourtool.extensions.lab.stored_routes import ReplaySettings, replay_routes
from yourtool.ids import new_id, new_session_id
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import PromptMessage, ReplyMessage
from yourtool.messages.metadata import MessageStatus, ReplyMetadata, StopReason
from yourtool.messages.usage import Usage
from yourtool.models import AdapterCapabilities, Model, Price
from yourtool.routing.policy import Policy, PolicyFile, build_policy, parse_policy
from yourtool.routing.predicates import TurnInput
from yourtool.routing.router import Needs
from yourtool.routing.situation import ModelStatus, Situation, decide_turn
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

_TURNS = 50
"""Turns in a session."""
_WORKSPACE = "/home/me/project"
_WORDS = ("prove that it ends", "rename the variable", "read the log and explain the failure")
_RULES = "".join(
    f'[[rules]]\nname = "r{number}"\nwhen = {{ {when} }}\nuse = "{model}"\n'
    for number, (when, model) in enumerate(
        (
            ("has_images = true", "b:large"),
            ('message_contains_any = ["typo", "spelling"]', "a:small"),
            ("estimated_input_tokens_gt = 60_000", "b:large"),
            ("cost_today_exceeds_usd = 100_000", "a:small"),
            ('message_matches = "(?i)prove"', "b:large"),
        )
    )
)
_PRICE = Price(input_per_mtok_usd=Decimal(3), output_per_mtok_usd=Decimal(15))
_CAPABILITIES = AdapterCapabilities(max_context_tokens=200_000)


def measure(count: int = 100_000) -> dict[str, Any]:
    """Return the seconds for `count` decisions under the same and under other rules."""
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_measure(Path(directory), count))


async def _measure(directory: Path, count: int) -> dict[str, Any]:
    store = SqliteStore(Database(directory / "sessions.db"))
    policy = _parse(_RULES)
    for _ in range(count // _TURNS):
        await store.append(*_build_session(policy))
    settings = ReplaySettings(find_status=_find_status, find_price=lambda _: _PRICE)
    found: dict[str, Any] = {}
    other = _parse(_RULES.replace("prove", "rename"))

    def build_other(_workspace: str) -> Policy:
        return other

    for name, rules in (("same", None), ("other", build_other)):
        began, cpu = time.perf_counter(), time.process_time()
        report = await replay_routes(store, replace(settings, build_policy=rules))
        found |= {
            f"{name}_seconds": round(time.perf_counter() - began, 2),
            f"{name}_cpu_seconds": round(time.process_time() - cpu, 2),
            f"{name}_changes": len(report.changes),
            "decisions": report.decisions,
        }
    await store.close()
    return {**found, "goal_seconds": 10}


def _parse(rules: str) -> Policy:
    return build_policy(parse_policy(rules, "rules", str), PolicyFile(), _WORKSPACE)


def _find_status(model_id: str) -> ModelStatus:
    return ModelStatus(Model(id=model_id, wire_name="", capabilities=_CAPABILITIES))


def _build_session(policy: Policy) -> Iterator[AnyFact]:
    stamp: dict[str, Any] = {"session_id": new_session_id()}
    start = datetime.now(UTC)
    yield SessionCreated(
        id=new_id(), timestamp=start, workspace_path=_WORKSPACE, workspace_hash="", **stamp
    )
    document = policy.to_document()
    yield RoutingPolicyChanged(
        id=new_id(), timestamp=start, version=policy.version, policy=document, **stamp
    )
    settings = set[str]()
    for number in range(_TURNS):
        stamp |= {"timestamp": start + timedelta(minutes=number), "turn_id": new_id()}
        text = f"{_WORDS[number % len(_WORDS)]}, part {number}"
        message = PromptMessage(
            id=new_id(),
            session_id=stamp["session_id"],
            content=(TextBlock(text),),
            created_at=stamp["timestamp"],
        )
        yield TurnStarted(
            id=new_id(),
            user_message_hash="",
            estimated_input_tokens=5_000,
            has_images=False,
            has_tool_calls_in_history=False,
            message=message,
            **stamp,
        )
        size = 5_000 + 731 * number
        now = stamp["timestamp"].time()
        situation = Situation(
            turn=TurnInput(text=text, workspace=_WORKSPACE, local_time=now),
            needs=Needs(tools=True, system_prompt=True),
            global_default="a:usual",
        )
        decided = decide_turn(policy, situation, _find_status, partial(_count_tokens, size))
        route = RouteDecided(
            id=new_id(),
            chosen_model=decided.chosen,
            winner_index=decided.winner_index,
            elapsed_ms=0.1,
            chain=decided.chain,
            **stamp,
        )
        tokens = {decided.chosen or "": size}
        record = build_record(route, situation, policy, _find_status, tokens, is_own_prompt=True)
        if record.snapshot.settings not in settings:
            settings.add(record.snapshot.settings)
            yield replace(record.snapshot, id=new_id(), **stamp)
        yield replace(record.route, id=new_id())
        yield _build_call(route, stamp)


def _count_tokens(size: int, _model: str) -> int:
    return size


def _build_call(route: RouteDecided, stamp: dict[str, Any]) -> LlmCallCompleted:
    model = route.chosen_model or ""
    usage = Usage(
        input_tokens=5_000,
        output_tokens=300,
        cost_usd=Decimal("0.0195"),
        pricing_version="1",
        latency_ms=900,
    )
    metadata = ReplyMetadata(
        model=model,
        provider=model.partition(":")[0],
        routing=to_routing_record(route, model),
        usage=usage,
        stop_reason=StopReason.END_TURN,
        status=MessageStatus.COMPLETE,
    )
    message = ReplyMessage(
        id=new_id(),
        session_id=stamp["session_id"],
        content=(TextBlock("It is done. " * 20),),
        created_at=stamp["timestamp"],
        metadata=metadata,
    )
    return LlmCallCompleted(id=new_id(), message=message, **stamp)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=100_000)
    print(json.dumps(measure(parser.parse_args().decisions)))
