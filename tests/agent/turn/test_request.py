import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, names, play
from tests.providers.histories import image
from yourtool.errors import ServerError, UsageError
from yourtool.events.deltas import Notice
from yourtool.events.turns import TurnStarted
from yourtool.messages.blocks import DocumentBlock, ImageBlock, ImageSource, TextBlock
from yourtool.messages.codec import decode_metadata, encode_metadata
from yourtool.messages.message import Role
from yourtool.messages.metadata import RequestOptions
from yourtool.providers.base import ForcedTool
from yourtool.providers.scripted import Scripted, calls, fails, says

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def replies(session):
    return [each for each in session.state.messages if each.role is Role.ASSISTANT]


def warnings(events):
    return [each.text for each in events if isinstance(each, Notice) and each.level == "warning"]


def levels(session):
    return [each.metadata.request.thinking_level for each in replies(session)]


@pytest.mark.req("D18")
async def test_reply_is_stored_with_its_request_options(bench):
    options = {"effort": "max", "cache_retention": "long"}
    session = await bench.session(Scripted([says("hello")]), settings=options)
    await play(session.send("hi"))
    [reply] = replies(session)
    assert reply.metadata.request == RequestOptions(
        thinking_level="high", max_tokens=4_096, tool_choice="auto", cache_retention="long"
    )
    stored = decode_metadata(encode_metadata(reply.metadata), reply.role, where="test")
    assert stored.request == reply.metadata.request
    await session.close()
    resumed = await bench.session(Scripted([]), resume=session.id)
    assert replies(resumed) == [reply]
    await resumed.close()


@pytest.mark.req("D18")
async def test_interrupted_reply_is_stored_with_its_request_options(bench):
    options = {"effort": "low", "tool_choice": ForcedTool("read_file")}
    half = says("half") + fails(ServerError("gone"))
    session = await bench.session(Scripted([half]), settings=options)
    await play(session.send("hi"))
    [reply] = replies(session)
    assert reply.metadata.request.thinking_level == "low"
    assert reply.metadata.request.tool_choice == "tool:read_file"
    await session.close()


async def test_options_reach_every_request_in_supported_form(bench):
    options = {"effort": "max", "output_schema": SCHEMA, "tool_choice": "any"}
    (bench.workspace / "a.txt").write_text("a cat")
    script = Scripted([calls("read_file", path="a.txt"), says("{}")])
    session = await bench.session(script, settings=options)
    await play(session.send("hi"))
    assert levels(session) == ["high", "high"]
    assert [each.output_schema for each in script.requests] == [SCHEMA, SCHEMA]
    assert [each.tool_choice for each in script.requests] == ["any", "any"]
    assert replies(session)[0].metadata.request.tool_choice == "any"
    await session.close()


@pytest.mark.req("R-ADP-17")
async def test_unsupported_effort_is_reported_once_per_session(bench):
    script = Scripted([says("one"), says("two"), says("three"), says("four"), says("five")])
    session = await bench.session(script, settings={"effort": "max"})
    [notice] = warnings(await play(session.send("hi")))
    assert notice.startswith("`anthropic:test` supports no effort `max`")
    assert warnings(await play(session.send("hi"))) == []
    await play(session.select_effort("minimal"))
    effort = "Reasoning effort: low instead of minimal; `/effort` takes low, medium, high."
    assert session.effort_summary() == effort
    assert session.effort_summary() in session.explain()
    [notice] = warnings(await play(session.send("hi")))
    assert "`minimal`" in notice
    await play(session.select_effort(None))
    assert warnings(await play(session.send("hi"))) == []
    assert levels(session) == ["high", "high", "low", None]
    await session.close()


@pytest.mark.req("D2")
async def test_cache_plan_is_part_of_the_request_and_is_not_stored(bench):
    can = replace(MODEL.capabilities, supports_prompt_caching=True)
    cached = replace(MODEL, capabilities=can, least_cached_tokens=0)
    script = Scripted([says("one"), says("two")])
    bench.catalogue.add_discovered(cached.provider, [cached])
    session = await bench.session(script)
    await play(session.send("hi"))
    events = await play(session.send("more"))
    first, second = (each.cache for each in script.requests)
    stable, volatile, *_, last = script.requests[1].messages
    assert [mark.message_id for mark in second.breakpoints] == [
        None, stable.id, first.breakpoints[-1].message_id, last.id
    ]  # fmt: skip
    assert volatile.id not in {mark.message_id for mark in second.breakpoints}
    assert "marks" not in str(events)
    assert names(events)[-1] == "turn.completed"
    await session.close()


def images_in(request):
    return [
        isinstance(block, ImageBlock)
        for message in request.messages
        if message.role is Role.USER
        for block in message.content[1:]
    ]


@pytest.mark.req("R-ADP-15", "R-SWP-01")
async def test_session_with_too_many_images_for_a_model_continues(bench):
    script = Scripted([says("I see.")] * 6)
    session = await bench.session(script)
    for _ in range(3):
        await play(session.send((TextBlock("look"), image())))
    await play(session.select_model("narrow"))
    events = [*await play(session.send("and now?")), *await play(session.send("sure?"))]
    assert warnings(events) == [
        "2 attachments are omitted from the request: `openai:narrow` takes at most 2 images in one"
        " request, and the oldest are omitted first. The session still contains all of them; a"
        " model with higher limits receives more."
    ]
    await play(session.select_model("test"))
    assert warnings(await play(session.send("back"))) == []
    assert [images_in(each) for each in script.requests[2:]] == [
        [True] * 3,
        [False, False, True],
        [False, False, True],
        [True] * 3,
    ]
    prompts = [each for each in session.state.messages if each.role is Role.USER][:3]
    assert all(isinstance(each.content[1], ImageBlock) for each in prompts)
    await session.close()


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ((image(),) * 3, "`openai:narrow` takes at most 2 images in one request"),
        (
            (DocumentBlock(ImageSource("base64", "AAAA" * 2**19), "application/pdf", "a.pdf"),),
            "`openai:narrow` takes documents of at most 1 MiB, and `a.pdf` has 1.5 MiB",
        ),
    ],
)
@pytest.mark.req("R-ADP-15")
async def test_prompt_over_the_request_limit_is_rejected_before_it_is_stored(bench, blocks, why):
    script = Scripted([says("never")])
    session = await bench.session(script)
    await play(session.select_model("narrow"))
    assert session.find_rejection(*blocks) == why
    with pytest.raises(UsageError, match=f"^{why}. Nothing was sent: reduce the size"):
        await play(session.send((TextBlock("look"), *blocks)))
    with pytest.raises(UsageError, match=why):
        await play(session.send((TextBlock("@narrow look"), *blocks)))
    assert (session.state.messages, script.requests) == ([], [])
    await session.close()


async def test_attachment_is_checked_against_the_pending_model(bench):
    session = await bench.session(Scripted([says("hello")]))
    async for event in session.send("hi"):
        if isinstance(event, TurnStarted):
            await play(session.select_model("blind"))
            assert session.find_rejection(image()) == "`openai:blind` takes no images"
    await session.close()
