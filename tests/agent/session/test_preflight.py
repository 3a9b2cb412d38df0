"""What a swap would change, found without a request and without a change."""

from decimal import Decimal
from itertools import product

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, PRICE, Checked, play
from tests.providers.histories import image
from yourtool.errors import UnknownModelError
from yourtool.events.deltas import TokenUsage
from yourtool.messages.blocks import TextBlock
from yourtool.models import Price
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.scripted import Scripted, counts, says, thinks

DEAR = Price(input_per_mtok_usd=Decimal(3_000), output_per_mtok_usd=Decimal(15_000))
PICTURE = (TextBlock("word " * 40_000), image())
ROOMS = {"fits": 200_000, "needs room": 42_000, "too long": 20_000}
YES_NO = (True, False)


def _target(number, room, *, sees, calls, reasons, dear):
    can = replace(
        MODEL.capabilities,
        max_context_tokens=ROOMS[room],
        supports_images=sees,
        supports_tools=calls,
        supports_thinking=reasons,
    )
    price = DEAR if dear else PRICE
    return replace(OTHER, id=f"openai:t{number}", aliases=(), capabilities=can, price=price)


async def _talk(bench, *replies, models=()):
    bench.catalogue = Catalogue([MODEL, OTHER, *models], "2026-01-01")
    session = await bench.session(Checked(Scripted(replies)))
    await play(session.select_effort("high"))
    return session


@pytest.mark.req("R-SWP-04")
async def test_verdict_follows_from_context_images_tools_effort_and_price(bench):
    cases = list(product(ROOMS, YES_NO, YES_NO, YES_NO, YES_NO))
    names = ("sees", "calls", "reasons", "dear")
    models = [
        _target(at, room, **dict(zip(names, rest, strict=True)))
        for at, (room, *rest) in enumerate(cases)
    ]
    session = await _talk(bench, says("Seen."), models=models)
    await play(session.send(PICTURE))
    facts = list(session.state.facts)
    for model, case in zip(models, cases, strict=True):
        room, sees, calls, reasons, dear = case
        found = await session.models.examine(model.id)
        expected = {
            "context": room != "fits",
            "images": not sees,
            "tools": not calls,
            "effort": not reasons,
            "price": dear,
        }
        stakes = {each.subject for each in found.consequences if each.is_stake}
        assert stakes == {name for name, is_stake in expected.items() if is_stake}, case
        assert found.is_at_stake == any(expected.values()), case
        code = None if found.refusal is None else found.refusal.code
        too_long = "exceeds_context_window" if room == "too long" else None
        assert code == (too_long if sees else "no_vision_support"), case
        assert found.can_make_room(is_busy=False) == (sees and room != "fits"), case
        assert not found.can_make_room(is_busy=True)
        assert [each.kind for each in found.left_out] == ([] if sees else ["image"]), case
    assert session.state.facts == facts
    await session.close()


async def test_swap_that_loses_nothing_is_not_at_stake(bench):
    session = await _talk(bench, says("Hello."))
    assert not (await session.models.examine("other")).consequences
    await play(session.send("hello"))
    found = await session.models.examine("other")
    assert [each.subject for each in found.consequences] == ["context", "price"]
    assert not found.is_at_stake and found.refusal is None
    assert not (await session.models.examine(MODEL.id)).consequences
    with pytest.raises(UnknownModelError):
        await session.models.examine("nonsense")
    await session.close()


async def test_reasoning_that_only_the_active_model_can_read_is_named_but_no_stake(bench):
    session = await _talk(bench, thinks("Hm.", "sig") + says("Yes."))
    await play(session.send("hello"))
    found = await session.models.examine("other")
    [reasoning] = [each for each in found.consequences if each.subject == "reasoning"]
    assert reasoning.text == "1 block that only `anthropic:test` can read, not sent"
    assert not found.is_at_stake
    [lost] = found.left_out
    assert (lost.kind, lost.message_id) == ("thinking", session.state.messages[1].id)
    await session.close()


async def test_tokens_in_the_cache_of_the_active_model_cost_more_with_another(bench):
    cached = TokenUsage(input_tokens=50, output_tokens=5, cached_input_tokens=90_000)
    session = await _talk(bench, says("Read.") + counts(cached))
    await play(session.send("word " * 90_000))
    found = await session.models.examine("other")
    texts = {each.subject: each.text for each in found.consequences}
    assert texts["cache"] == "90k tokens are read again without it"
    await session.close()
