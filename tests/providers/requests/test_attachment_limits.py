import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.providers.dialect_journeys import SWAP_TARGETS
from tests.providers.histories import PNG
from tests.providers.recorded_exchanges import model, request
from tests.strategies import Writer, examples
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    iter_blocks,
)
from yourtool.messages.message import Role
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import FileRoots
from yourtool.providers.requests.attachment_limits import find_attachment_problem, fit_attachments
from yourtool.providers.requests.placeholders import placeholder_for

CAN = AdapterCapabilities(
    supports_images=True, supports_audio=True, supports_documents=True, max_request_bytes=3 * 2**20
)
RAW = base64.b64decode(PNG)


def takes(**limits):
    return model("anthropic", "narrow", capabilities=replace(CAN, **limits))


def make_image(size=40, side=10):
    data = base64.b64encode(RAW + b"\0" * (size - len(RAW))).decode()
    return ImageBlock(ImageSource("base64", data), "image/png", (side, 1))


def conversation(*turns, replies=True):
    """Return a conversation: the prompts of the user, and a reply to all but the last."""
    writer, messages = Writer(), []
    for number, blocks in enumerate(turns, 1):
        messages.append(writer.message(Role.USER, (TextBlock("look"), *blocks)))
        if replies and number < len(turns):
            messages.append(writer.message(Role.ASSISTANT, [TextBlock("I see.")]))
    return tuple(messages)


def number_in(remark):
    return int(remark.split()[0]) if remark else 0


@pytest.fixture
def places(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    return FileRoots(tmp_path / "blobs", workspace)


@pytest.fixture
def left_out(places):
    """Return for each attachment whether it is dropped."""

    def run(messages, target):
        fitted = fit_attachments(messages, target, places)
        given = [block for each in messages for block in iter_blocks(each.content)]
        after = [block for each in fitted.messages for block in iter_blocks(each.content)]
        pairs = [pair for pair in zip(given, after, strict=True) if isinstance(pair[0], MediaBlock)]
        assert all(now in (was, TextBlock(placeholder_for(was))) for was, now in pairs)
        left = [was != now for was, now in pairs]
        assert number_in(fitted.notice) == sum(left)
        return left

    return run


def test_attachments_within_the_limits_are_unchanged(places):
    messages = conversation([make_image()], [make_image()])
    fitted = fit_attachments(messages, takes(), places)
    assert fitted == (messages, None)
    assert all(now is was for now, was in zip(fitted.messages, messages, strict=True))


@pytest.mark.req("R-ADP-15")
def test_oldest_attachments_are_omitted_down_to_half_of_the_limit(left_out):
    turns = [[make_image()] for _ in range(5)]
    assert left_out(conversation(*turns), takes(max_images=4)) == [True] * 3 + [False] * 2
    assert left_out(conversation(*turns, []), takes(max_images=4)) == [True] * 3 + [False] * 2
    assert (
        left_out(conversation(*turns, [make_image()] * 2), takes(max_images=4))
        == [True] * 3 + [False] * 4
    )


def test_attachments_of_the_current_message_are_omitted_last(left_out):
    messages = conversation([make_image()], [make_image()] * 4)
    assert left_out(messages, takes(max_images=4)) == [True] + [False] * 4
    assert left_out(messages, takes(max_images=3)) == [True] * 2 + [False] * 3


@pytest.mark.parametrize(
    ("block", "limits"),
    [
        (make_image(3_001), {"max_image_bytes": 3_000}),
        (make_image(side=801), {"max_image_side": 800}),
        (DocumentBlock(make_image(3_001).source, "application/pdf"), {"max_file_bytes": 3_000}),
        (AudioBlock(make_image(3_001).source, "audio/wav"), {"max_file_bytes": 3_000}),
    ],
    ids=["bytes", "pixels", "document", "recording"],
)
@pytest.mark.req("R-ADP-15")
def test_too_large_attachment_is_omitted_at_any_position(left_out, block, limits):
    assert left_out(conversation([make_image()], [block]), takes(**limits)) == [False, True]
    assert find_attachment_problem([make_image(), block], takes(**limits)) is not None
    assert find_attachment_problem([make_image(), block], takes()) is None


PDF = DocumentBlock(make_image(2**20).source, "application/pdf", "plan\x1b.pdf")


@pytest.mark.parametrize(
    ("turns", "limits", "words"),
    [
        (
            [[make_image(2**19)], [make_image()]],
            {"max_image_bytes": 2**18},
            "1 attachment is omitted from the request: `anthropic:narrow` takes images of at most"
            " 0.25 MiB, and one has 0.5 MiB.",
        ),
        (
            [[PDF]],
            {"max_file_bytes": 2**19},
            "1 attachment is omitted from the request: `anthropic:narrow` takes documents of at"
            " most 0.5 MiB, and `plan␛.pdf` has 1 MiB.",
        ),
        (
            [[make_image()]] * 5,
            {"max_images": 4},
            "3 attachments are omitted from the request: `anthropic:narrow` takes at most 4 images"
            " in one request, and the oldest are omitted first.",
        ),
        (
            [[make_image(side=2_001)], *[[make_image()]] * 2],
            {"many_images": 2},
            "1 attachment is omitted from the request: `anthropic:narrow` takes at most 2 images"
            " in one request if one has more than 2,000 pixels a side, and the oldest are omitted"
            " first.",
        ),
        (
            [[PDF], [make_image(side=801)], [PDF], [make_image(side=802)]],
            {"max_image_side": 800},
            "3 attachments are omitted from the request: `anthropic:narrow` takes images of at most"
            " 800 pixels a side, and one has 801; `anthropic:narrow` takes at most 3 MiB in one"
            " request, and the oldest are omitted first.",
        ),
    ],
    ids=["bytes", "name", "images", "many", "both"],
)
@pytest.mark.req("R-ADP-15")
def test_notice_names_the_exceeded_limit(places, turns, limits, words):
    remark = fit_attachments(conversation(*turns), takes(**limits), places).notice
    rest = "The session still contains all of them; a model with higher limits receives more."
    assert remark == f"{words} {rest}"


def test_all_attachments_are_omitted_if_the_text_exceeds_the_limit(left_out):
    tiny = takes(max_request_bytes=1_000)
    assert left_out(conversation([make_image()], [make_image()]), tiny) == [True, True]
    assert find_attachment_problem([TextBlock("look")], tiny) is None
    assert find_attachment_problem([make_image()], tiny) is not None


def test_many_images_have_a_lower_size_limit(left_out):
    few = takes(many_images=3, many_images_side=2_000)
    turns = [[make_image(side=2_001)], *([make_image(side=2_000)] for _ in range(2))]
    assert left_out(conversation(*turns), few) == [False] * 3
    assert left_out(conversation(*turns, [make_image()]), few) == [True] + [False] * 3
    assert left_out(conversation(*turns[1:], *turns[1:]), few) == [False] * 4


def test_images_in_tool_results_count(left_out):
    writer = Writer()
    messages = [writer.message(Role.USER, [TextBlock("look"), make_image()])]
    for _ in range(3):
        call = writer.tool_use_id()
        messages.append(writer.message(Role.ASSISTANT, [ToolUseBlock(call, "read_file", {})]))
        messages.append(writer.message(Role.TOOL, [ToolResultBlock(call, (make_image(),))]))
    assert left_out(messages, takes(max_images=3)) == [False, True, True, False]


def test_size_of_a_file_reference_is_the_size_of_the_file(left_out, places):
    stored = ImageSource("file_ref", store_blob(places.blobs, RAW + b"\0" * 5_000))
    (places.workspace / "cat.png").write_bytes(RAW + b"\0" * 5_000)
    sources = [stored, ImageSource("file_ref", "cat.png")]
    narrow = takes(max_image_bytes=5_000)
    blocks = [ImageBlock(source, "image/png") for source in sources]
    assert left_out(conversation(blocks), narrow) == [True, True]
    missing = [ImageSource("file_ref", name) for name in ("sha256:0", "gone.png", "a\0b")]
    there = [*missing, ImageSource("url", "https://example.org/cat.png")]
    assert left_out(
        conversation([ImageBlock(source, "image/png") for source in there]), narrow
    ) == ([False] * 4)


def test_unsupported_attachments_do_not_count(left_out):
    blind = takes(max_images=0, supports_images=False)
    assert left_out(conversation([make_image()]), blind) == [False]
    assert find_attachment_problem([make_image()], blind) is None


def test_text_counts_towards_the_request_limit(left_out):
    target = takes()
    shots = [make_image(700_000)] * 2
    assert left_out(conversation(shots), target) == [False, False]
    assert left_out(conversation([TextBlock("x" * 2**20), *shots]), target) == [True, False]


@pytest.mark.parametrize("name", SWAP_TARGETS)
@pytest.mark.req("R-ADP-15")
def test_body_of_every_dialect_is_within_the_request_limit(places, name):
    station = SWAP_TARGETS[name]
    target = replace(station.model, capabilities=takes(max_images=30).capabilities)
    messages = conversation(*([make_image(60_000)] for _ in range(45)))
    fitted = fit_attachments(messages, target, places)
    assert number_in(fitted.notice) > 10
    body = station.dialect().to_wire(request(target, fitted.messages)).body
    assert len(body) <= target.capabilities.max_request_bytes


SIZES = (1_000, 100_000, 400_000, 900_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("work")
    for size in SIZES:
        with (directory / f"{size}.png").open("wb") as file:
            file.truncate(size)
    return FileRoots(directory / "blobs", directory)


TURNS = st.lists(
    st.lists(st.tuples(st.sampled_from(SIZES), st.integers(1_500, 2_500)), max_size=3),
    min_size=1,
    max_size=10,
)
"""Size and side of the images in each turn."""


@settings(max_examples=examples(25), deadline=None)
@given(TURNS)
def test_omitted_attachments_stay_omitted_and_the_rest_fits(files, turns):
    target = takes(max_images=6, many_images=4)
    contents = [
        [ImageBlock(ImageSource("file_ref", f"{size}.png"), "image/png", (side, 1))
         for size, side in blocks]
        for blocks in turns
    ]  # fmt: skip
    before = list[bool]()
    for number in range(1, len(turns) + 1):
        fitted = fit_attachments(conversation(*contents[:number]), target, files)
        assert fit_attachments(fitted.messages, target, files) == (fitted.messages, None)
        attachments = [each.content[1:] for each in fitted.messages if each.role is Role.USER]
        sent = [
            block for content in attachments for block in content if isinstance(block, ImageBlock)
        ]
        assert len(sent) <= (4 if any(block.pixels[0] > 2_000 for block in sent) else 6)
        assert sum(int(block.source.data[:-4]) for block in sent) * 4 // 3 <= 2 * 2**20
        left = [isinstance(block, TextBlock) for content in attachments for block in content]
        assert all(now or not was for was, now in zip(before, left, strict=False))
        before = left
