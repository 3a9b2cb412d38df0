"""What prompt and tools cost: tokens of a request, and the share that the next one reads again."""

import itertools

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, Checked, play
from yourtool.agent.session.system_prompt import system_messages
from yourtool.models import EDIT_TOOLS
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.tools.builtin import default_toolbox

MODELS = ("anthropic:claude-sonnet-4-6", "openai:gpt-5", "google:gemini-2.5-pro", "ollama:qwen3")
MOST_TOKENS = 3_000


def count_tokens(model, workspace, omitted):
    """Return the estimated tokens of the prompt and all tools but one."""
    offered = default_toolbox().offered_to(replace(MODEL, edit_tool="none"))
    tools = [each for each in offered if each.name != omitted]
    return estimate_tokens(system_messages(workspace, ""), tools, model)


def find_cached(earlier, later):
    """Return the messages that a request has in common with the one before, up to a breakpoint."""
    cached = 0
    for at, (old, new) in enumerate(zip(earlier.messages, later.messages, strict=False), 1):
        if old.content != new.content or old.role != new.role:
            break
        end = len(new.content) - 1
        if later.cache.has(new.id, end) and earlier.cache.has(old.id, end):
            cached = at
    return later.messages[:cached]


async def find_share(bench):
    """Return the least share of a request that the next one reads from the cache."""
    can = replace(MODEL.capabilities, supports_prompt_caching=True)
    bench.catalogue = Catalogue([replace(MODEL, capabilities=can)], "2026-01-01")
    script = [calls("list_dir"), calls("list_dir", path="."), says("a"), says("b")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    for prompt in ("one", "two"):
        await play(session.send(prompt))
    await session.close()
    requests = adapter.requests
    shares = list[float]()
    for earlier, later in itertools.pairwise(requests):
        model, tools = earlier.model.id, earlier.tools
        cached = estimate_tokens(find_cached(earlier, later), tools, model)
        shares.append(cached / estimate_tokens(earlier.messages, tools, model))
    return min(shares)


@pytest.mark.parametrize("omitted", EDIT_TOOLS)
@pytest.mark.parametrize("model", MODELS)
def test_prompt_and_tools_have_at_most_3000_tokens(tmp_path, model, omitted):
    assert count_tokens(model, tmp_path, omitted) <= MOST_TOKENS


async def test_next_request_reads_the_one_before_from_the_cache(bench):
    assert await find_share(bench) >= 0.95


@pytest.mark.craft
async def test_prompt_and_tools_are_small_and_cached(bench, tmp_path, figures):
    most = max(count_tokens(model, tmp_path, each) for model in MODELS for each in EDIT_TOOLS)
    share = await find_share(bench)
    figures("prompt", f"{most:,.0f} tokens, {share:.0%}")
    assert most <= MOST_TOKENS
    assert share >= 0.95
