"""Swapping the model in a session: the worked examples of the message contract."""

from types import SimpleNamespace

import pytest

from tests.agent.harness import MODEL, Checked, play
from yourtool.agent.commands.routing import explain_model
from yourtool.errors import UnknownModelError, UsageError
from yourtool.events.context import ContextHandedOver
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.messages.message import Role
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.scripted import Scripted, calls, says, thinks

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
IMAGE = (TextBlock("what is this?"), ImageBlock(ImageSource("base64", PIXEL), "image/png"))


async def test_swap_after_a_tool_turn_sends_the_entire_history_in_the_new_dialect(bench, caplog):
    """The contract's example 8.3."""
    (bench.workspace / "LICENSE").write_text("MIT\n")
    (bench.workspace / "README.md").write_text("# Project Foo\n")
    first = thinks("I need the file.", "sig") + says("I'll read the file.")
    script = [
        first + calls("read_file", path="README.md"),
        says("It describes Project Foo."),
        calls("read_file", path="LICENSE"),
        says("MIT."),
    ]
    adapter = Scripted(script)
    session = await bench.session(Checked(adapter))
    await play(session.send("Summarize README.md"))
    await play(session.select_model("openai:other"))
    await play(session.send("What about the LICENSE file?"))
    answer = session.state.messages[5]
    assert answer.metadata.routing.mode == "manual"
    assert answer.metadata.model == "openai:other"
    caplog.clear()
    body = ChatDialect().to_wire(adapter.requests[2]).body
    assert b'"role":"tool"' in body
    assert b"sig" not in body
    roles = [message.role for message in session.state.messages]
    assert roles[:4] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert all(use.id.startswith("tu_") for m in session.state.messages for use in m.tool_uses)
    await session.close()


async def test_model_without_vision_is_rejected_by_the_command(bench):
    """The contract's example 8.4 (R-RTE-04)."""
    adapter = Scripted([says("A pixel."), says("Still me.")])
    session = await bench.session(Checked(adapter))
    await play(session.send(IMAGE))
    with pytest.raises(UsageError) as refusal:
        await play(session.select_model("blind"))
    assert str(refusal.value) == (
        "Cannot swap to openai:blind: session contains images that this model can't process."
        " Active model unchanged. The first image is in message 1 of 2."
    )
    await play(session.send("and now?"))
    assert adapter.requests[1].model.id == MODEL.id
    await session.close()


async def test_model_too_small_for_the_session_is_rejected_with_both_sizes(bench):
    """R-RTE-04."""
    session = await bench.session(Checked(Scripted([says("long " * 2_000)])))
    await play(session.send("talk"))
    with pytest.raises(UsageError, match=r"about [\d,]+ tokens, and `openai:small` takes 1,500"):
        await play(session.select_model("small"))
    assert session.state.model is None
    await session.close()


async def test_override_without_vision_rejects_the_turn_with_the_reason(bench):
    """R-RTE-03."""
    session = await bench.session(Checked(Scripted([says("never")])))
    events = await play(session.send((TextBlock("@blind look"), IMAGE[1])))
    errors = [event.text for event in events if getattr(event, "level", "") == "error"]
    assert any("openai:blind" in text and "images" in text for text in errors)
    assert session.state.messages[-1].role is Role.USER
    await session.close()


async def test_ambiguous_or_unknown_name_changes_nothing(bench):
    session = await bench.session(Checked(Scripted([])))
    with pytest.raises(UnknownModelError):
        await play(session.select_model("nonsense"))
    assert session.state.model is None
    await session.close()


async def test_explanation_has_a_line_per_slot_and_at_most_twelve(bench):
    """R-RTE-11."""
    session = await bench.session(Checked(Scripted([says("hi")])))
    await play(session.send("hello"))
    lines = session.explain()
    assert len(lines) <= 12
    assert sum("not used" in line for line in lines) == 6
    assert "global default" in lines[-1]
    await session.close()


async def test_provider_ids_survive_a_restart(bench):
    """R-PER-04: the id map is rebuilt from the store."""
    (bench.workspace / "a.txt").write_text("x")
    first = Scripted([calls("read_file", path="a.txt"), says("x")])
    session = await bench.session(Checked(first))
    await play(session.send("read"))
    [use] = session.state.messages[1].tool_uses
    wire = first.requests[1].tool_ids.issued_id("anthropic", use.id)
    assert wire is not None
    await session.close()
    second = Scripted([says("again")])
    resumed = await bench.session(Checked(second), resume=session.id)
    await play(resumed.send("more"))
    assert second.requests[0].tool_ids.issued_id("anthropic", use.id) == wire
    await resumed.close()


@pytest.mark.req("R-SWP-05")
async def test_report_of_what_the_new_model_did_not_get_is_stored_and_shown(bench):
    replies = [thinks("Hm.", "sig") + says("A pixel."), says("In words."), says("Still.")]
    session = await bench.session(Checked(Scripted(replies)))
    await play(session.send(IMAGE))
    await play(session.select_model("blind", use_placeholders=True))
    await play(session.send("and now?"))
    await play(session.send("and then?"))
    [report] = [each for each in session.state.facts if isinstance(each, ContextHandedOver)]
    assert (report.source, report.model) == (MODEL.id, "openai:blind")
    assert [(each.kind, each.reason) for each in report.left_out] == [
        ("image", "`openai:blind` takes no images"),
        ("thinking", "only the model that produced the reasoning can read it"),
    ]
    prompt, reply, *_ = session.state.messages
    assert [each.message_id for each in report.left_out] == [prompt.id, reply.id]
    await session.close()
    again = await bench.session(Checked(Scripted([])), resume=session.id)
    runtime = SimpleNamespace(catalogue=bench.catalogue)
    *_, shown = [each async for each in explain_model(again, runtime, "")]
    first, image, thinking = shown.text.split("\n")
    assert first == "Handed over from anthropic:test to openai:blind: 2 blocks not sent"
    assert f"image of message {prompt.id}" in image and "thinking" in thinking
    await again.close()


async def test_turn_addressed_to_another_model_has_a_report_and_so_has_the_way_back(bench):
    session = await bench.session(Checked(Scripted([says("One."), says("Two."), says("Three.")])))
    await play(session.send("hello"))
    await play(session.send("@other and you?"))
    await play(session.send("thanks"))
    reports = [each for each in session.state.facts if isinstance(each, ContextHandedOver)]
    models = [(each.source, each.model, each.left_out_count) for each in reports]
    assert models == [(MODEL.id, "openai:other", 0), ("openai:other", MODEL.id, 0)]
    await session.close()
