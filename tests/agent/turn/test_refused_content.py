"""Content that a provider refuses, in a session that continues."""

import base64
import json

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, MODEL, Checked, User, play
from yourtool.errors import ErrorCode, InvalidRequestError
from yourtool.events.context import ContextOverridden
from yourtool.events.deltas import Notice
from yourtool.messages.blocks import DocumentBlock, ImageBlock, ImageSource, TextBlock
from yourtool.messages.invariants import validate_session
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.scripted import Scripted, calls, fails, says

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = ImageBlock(ImageSource("base64", PIXEL), "image/png")
PDF = DocumentBlock(ImageSource("base64", "JVBERi0xLjQK"), "application/pdf")


def refused(message, status=400, **options):
    return fails(InvalidRequestError(message, status=status, **options))


def media_in(request):
    parts = (part for each in request.messages for part in each.content)
    inner = [part for each in parts for part in (getattr(each, "content", None) or (each,))]
    return [type(each) for each in inner if isinstance(each, ImageBlock | DocumentBlock)]


async def talk(bench, script, *prompts, **options):
    adapter = Checked(Scripted([*script]))
    session = await bench.session(adapter, **options)
    events = [event for each in prompts for event in await play(session.send(each))]
    assert validate_session(session.state.messages) == []
    return session, adapter, events


@pytest.mark.parametrize(
    "message",
    [
        "messages.2.content.0.image.source.base64.data: Could not process image",
        "You uploaded an unsupported image. Please make sure your image has of one of ['png']",
        "Unable to process input image. Please retry or report",
        "Invalid image data: failed to decode JPEG",
    ],
)
async def test_image_that_is_refused_is_left_out_and_named(bench, message):
    session, adapter, events = await talk(
        bench, [refused(message), says("alive"), says("still")], (TextBlock("look"), IMAGE), "go on"
    )
    assert [media_in(each) for each in adapter.requests] == [[ImageBlock], [], []]
    assert "a provider refused it" in adapter.requests[1].messages[-1].text
    assert session.state.messages[-1].text == "still"
    assert IMAGE.media_type in json.dumps([str(each) for each in session.state.messages])
    [notice] = [each.text for each in events if isinstance(each, Notice)]
    assert "refused an attachment" in notice and "/context" in notice
    await session.close()


async def test_refused_image_of_a_tool_costs_only_itself_and_can_come_back(bench):
    (bench.workspace / "p.png").write_bytes(base64.b64decode(PIXEL))
    script = [
        calls("read_file", path="p.png"),
        refused("Could not process image"),
        says("alive"),
        says("seen"),
    ]
    session, adapter, events = await talk(bench, script, "read it")
    assert [media_in(each) for each in adapter.requests] == [[], [ImageBlock], []]
    [chosen] = [each for each in events if isinstance(each, ContextOverridden)]
    assert chosen.override == "without_media"
    await play(session.context.override(chosen.target, "none"))
    await play(session.send("again"))
    assert media_in(adapter.requests[-1]) == [ImageBlock]
    await session.close()


async def test_accepted_images_stay_until_a_provider_refuses_all(bench):
    script = [says("one"), refused("image too large"), says("two"), refused("bad image"), says("x")]
    first, second = (TextBlock("a"), IMAGE), (TextBlock("b"), IMAGE)
    session, adapter, _ = await talk(bench, script, first, second, "c")
    counts = [len(media_in(each)) for each in adapter.requests]
    assert counts == [1, 2, 1, 1, 0]
    await session.close()


async def test_refused_document_leaves_the_images(bench):
    content = (TextBlock("look"), IMAGE, PDF)
    can = replace(MODEL.capabilities, supports_documents=True)
    bench.catalogue = Catalogue([replace(MODEL, capabilities=can)], "2026-01-01")
    session, adapter, _ = await talk(
        bench, [refused("The PDF specified was not valid."), says("ok")], content
    )
    assert media_in(adapter.requests[0]) == [ImageBlock, DocumentBlock]
    assert media_in(adapter.requests[1]) == [ImageBlock]
    assert "a provider refused it" in adapter.requests[1].messages[-1].text
    await session.close()


async def test_output_of_a_tool_that_a_filter_refuses_is_left_out(bench):
    (bench.workspace / "a.txt").write_text("bad words\n")
    filtered = refused("flagged", code=ErrorCode.CONTENT_FILTER)
    session, adapter, _ = await talk(
        bench, [calls("read_file", path="a.txt"), filtered, says("ok")], "go", confirm=User(ALLOW)
    )
    [text] = [each.result.content[0].text for each in adapter.requests[-1].messages if each.result]
    assert text == "(The output of this call was left out: a provider refused it.)"
    await session.close()


@pytest.mark.parametrize("message", ["tools.0: Extra inputs are not permitted", "no image here"])
async def test_other_refusals_change_nothing(bench, message):
    content = "look" if "image" in message else (TextBlock("look"), IMAGE)
    session, adapter, _ = await talk(bench, [refused(message), says("never")], content)
    assert len(adapter.requests) == 1
    await session.close()
