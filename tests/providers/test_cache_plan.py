import hashlib
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from tests.providers.dialect_journeys import SWAP_TARGETS, without_cache_breakpoints
from tests.providers.histories import build_full_history
from tests.providers.recorded_exchanges import READ, model, problems, request
from tests.strategies import Writer, histories
from yourtool.messages.blocks import TextBlock, ThinkingBlock, canonical_json
from yourtool.messages.message import Role
from yourtool.models import AdapterCapabilities
from yourtool.paths import resolve_paths
from yourtool.providers.cache_plan import CacheBreakpoint, CachePlan, plan_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.provider_specs import BUILT_IN
from yourtool.providers.registry import load_dialect
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.tool_ids import ToolIdMap

SONNET = model("anthropic", "claude-sonnet-4-6")
CLAUDE = model("openrouter", "anthropic/claude-sonnet-4.6")
DIALECTS = {**SWAP_TARGETS, "openrouter claude": replace(SWAP_TARGETS["openrouter"], model=CLAUDE)}


@pytest.fixture
def catalogue(home):
    return Catalogue.load(resolve_paths())


def system(writer):
    return (
        writer.message(Role.SYSTEM, [TextBlock("You write code.")]),
        writer.message(Role.SYSTEM, [TextBlock("Today is a Friday.")]),
    )


def marked(body):
    return json.dumps(body).count("cache_control")


@pytest.mark.req("R-ADP-18")
def test_breakpoints_follow_tools_stable_prompt_last_request_and_end():
    history = build_full_history(SONNET)
    stable, volatile, _, _, _, result, reply, last = history
    plan = plan_cache(history, (READ,), SONNET, "short")
    assert plan.breakpoints == (
        CacheBreakpoint(None),
        CacheBreakpoint(stable.id, 1),
        CacheBreakpoint(result.id, 0),
        CacheBreakpoint(last.id, 1),
    )
    assert not {volatile.id, reply.id} & {mark.message_id for mark in plan.breakpoints}


@pytest.mark.req("R-ADP-18")
def test_end_of_a_request_has_a_breakpoint_in_the_next_longer_one():
    history = build_full_history(SONNET)
    first = plan_cache(history[:3], (READ,), SONNET, "short")
    second = plan_cache(history[:6], (READ,), SONNET, "short")
    assert first.breakpoints[-1] in second.breakpoints


def test_reasoning_and_blank_text_get_no_breakpoint():
    writer = Writer()
    answer = writer.message(
        Role.ASSISTANT, [TextBlock("a"), ThinkingBlock("b", "s"), TextBlock(" ")]
    )
    prompt = writer.message(Role.USER, [TextBlock("?")])
    assert plan_cache((prompt, answer), (), SONNET, "short").breakpoints[-1] == CacheBreakpoint(
        answer.id, 0
    )


def test_prefix_that_the_model_would_not_cache_gets_no_breakpoint():
    writer = Writer()
    long = writer.message(Role.USER, [TextBlock("word " * 2_000)])
    picky = replace(SONNET, least_cached_tokens=1_024)
    messages = (*system(writer), long)
    assert plan_cache(messages, (READ,), picky, "short").breakpoints == (
        CacheBreakpoint(long.id, 0),
    )
    assert plan_cache(messages[:2], (READ,), picky, "short").breakpoints == ()


@pytest.mark.req("R-ADP-18")
def test_prefix_length_is_counted_like_the_vendor_on_any_host():
    long = Writer().message(Role.USER, [TextBlock("word " * 2_000)])
    least = estimate_tokens([long], (), CLAUDE.id)
    assert estimate_tokens([long], (), CLAUDE.provider) < least
    picky = replace(CLAUDE, least_cached_tokens=least)
    assert plan_cache((long,), (), picky, "short").breakpoints == (CacheBreakpoint(long.id, 0),)


@pytest.mark.parametrize("target", [SONNET, replace(SONNET, capabilities=AdapterCapabilities())])
def test_model_without_cache_gets_no_breakpoints(target):
    expected_retention = "none" if target is SONNET else "short"
    assert (
        plan_cache(build_full_history(SONNET), (READ,), target, expected_retention) == CachePlan()
    )


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=30)
@given(history=histories())
@pytest.mark.req("R-ADP-18")
@pytest.mark.sample(8)
def test_consecutive_requests_share_their_prefix(dialect, history):
    logging.disable(logging.WARNING)
    try:
        _check_growth(DIALECTS[dialect], history)
    finally:
        logging.disable(logging.NOTSET)


def _check_growth(station, history):
    ids, parts = ToolIdMap(), system(Writer("sess_system"))
    begins = [at for at, message in enumerate(history) if message.role is Role.ASSISTANT]
    before = None
    for end in (*begins, len(history)):
        view = build_request_view(history[:end], station.model)
        outgoing = request(station.model, (*parts, *view), (READ,), tool_ids=ids)
        wire = station.dialect().to_wire(outgoing).body
        assert problems(*station.api, wire) == []
        body = json.loads(wire)
        assert marked(body) <= 4
        now = without_cache_breakpoints(body)
        turns = canonical_json(now.pop(station.turns)).removesuffix(b"]")
        turns = turns.removesuffix(b'],"role":"user"}')  # the next text may join this turn
        if before is not None:
            assert now == before[0]
            assert turns.startswith(before[1])
        before = now, turns


@pytest.mark.req("D2")
def test_openrouter_gets_breakpoints_on_entire_messages():
    outgoing = request(CLAUDE, build_request_view(build_full_history(CLAUDE), CLAUDE), (READ,))
    body = json.loads(DIALECTS["openrouter claude"].dialect().to_wire(outgoing).body)
    assert marked(body["tools"]) == 0
    ends = [turn for turn in body["messages"] if marked(turn)]
    assert [turn["role"] for turn in ends] == ["system", "tool", "user"]
    assert ends[1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(("keeps_long", "mark"), [(True, "1h"), (False, None)])
@pytest.mark.req("D2")
def test_cache_of_an_hour_is_requested_on_the_host_of_the_vendor_only(keeps_long, mark):
    plan = plan_cache(build_full_history(SONNET), (READ,), SONNET, "long")
    outgoing = request(SONNET, build_full_history(SONNET), (READ,), cache=plan)
    body = json.loads(MessagesDialect(supports_long_cache=keeps_long).to_wire(outgoing).body)
    assert body["tools"][-1]["cache_control"].get("ttl") == mark


@pytest.mark.parametrize(
    ("name", "keeps_long", "retention"),
    [
        ("gpt-5", True, "24h"),
        ("gpt-4.1", True, "24h"),
        ("gpt-5", False, None),
        ("gpt-5-mini", True, None),
        ("gpt-5.6-terra", True, None),
        ("gpt-6-sol", True, None),
        ("gpt-7-unheard-of", True, None),
    ],
)
@pytest.mark.req("D2")
def test_cache_of_a_day_is_requested_only_from_models_documented_to_support_it(
    catalogue, name, keeps_long, retention
):
    gpt = catalogue.get(f"openai:{name}")
    can = replace(gpt.capabilities, supports_prompt_caching=True)
    gpt = replace(gpt, capabilities=can)
    outgoing = request(
        gpt, build_full_history(gpt), cache=plan_cache(build_full_history(gpt), (), gpt, "long")
    )
    body = json.loads(ResponsesDialect(supports_long_cache=keeps_long).to_wire(outgoing).body)
    assert body["prompt_cache_key"] == outgoing.session_id
    assert body.get("prompt_cache_retention") == retention


@pytest.mark.parametrize(
    ("name", "url", "mark"),
    [("anthropic", None, b'"ttl":"1h"'), ("anthropic", "https://proxy.example.com", None),
     ("openai", None, b'"24h"'), ("openai", "http://127.0.0.1:1234/v1", None)],
)  # fmt: skip
@pytest.mark.req("D2")
def test_registry_identifies_the_host_of_the_vendor(name, url, mark):
    row = next(each for each in BUILT_IN if each.name == name)
    target = replace(model(name, "claude-sonnet-4-6"), caches_for_a_day=True)
    plan = plan_cache(build_full_history(target), (READ,), target, "long")
    dialect = load_dialect(replace(row, base_url=url or row.base_url))
    body = dialect.to_wire(request(target, build_full_history(target), (READ,), cache=plan)).body
    assert (mark in body) if mark else not (b'"1h"' in body or b'"24h"' in body)


def test_session_without_storage_sends_no_cache_key():
    gpt = model("openai", "gpt-5.6-terra")
    body = ResponsesDialect().to_wire(request(gpt, build_full_history(gpt), cache=CachePlan())).body
    assert b"prompt_cache" not in body


def digest() -> str:
    """Every dialect's bytes for one conversation, with a tool's schema in two orders."""
    turned = replace(READ, input_schema=dict(reversed(list(READ.input_schema.items()))))
    found = hashlib.sha256()
    for station in DIALECTS.values():
        bodies = {
            station.dialect()
            .to_wire(request(station.model, build_full_history(station.model), (tool,)))
            .body
            for tool in (READ, turned)
        }
        assert len(bodies) == 1
        found.update(bodies.pop())
    return found.hexdigest()


@pytest.mark.parametrize("seed", ["1", "2"])
@pytest.mark.req("D15")
@pytest.mark.sample(2)
def test_request_bytes_are_equal_in_every_process(seed):
    code = "from tests.providers.test_cache_plan import digest; print(digest())"
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == digest()
