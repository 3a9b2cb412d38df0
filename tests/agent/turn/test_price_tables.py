"""A request stores the table of its price before it is sent (R-CST-03)."""

import pytest

from tests.agent.harness import MODEL, Checked, play
from yourtool.events.deltas import Notice
from yourtool.providers.catalogue.stored_prices import load_table
from yourtool.providers.scripted import Scripted, says

pytestmark = pytest.mark.req("R-CST-03")


async def test_version_of_a_stored_request_names_a_stored_table_with_its_price(bench):
    session = await bench.session(Checked(Scripted([says("a")])))
    await play(session.send("x"))
    usage = session.state.messages[-1].metadata.usage
    table = load_table(bench.root / "data" / "prices", usage.pricing_version)
    assert table is not None and table.name == usage.pricing_version
    assert table.find(MODEL.id) == MODEL.price
    await session.close()


async def test_turn_continues_with_one_notice_if_the_table_cannot_be_stored(bench):
    (bench.root / "data").mkdir(exist_ok=True)
    (bench.root / "data" / "prices").write_text("a file")
    session = await bench.session(Checked(Scripted([says("a"), says("b")])))
    events = [*await play(session.send("x")), *await play(session.send("y"))]
    (notice,) = [each for each in events if isinstance(each, Notice)]
    assert "price table" in notice.text and "cannot be stored" in notice.text
    assert session.state.messages[-1].text == "b"
    await session.close()
