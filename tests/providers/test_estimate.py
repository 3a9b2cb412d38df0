import base64
import statistics

import pytest

from tests.providers.exchanges import NAMES, READ, Playback, adapter, exchange, expected
from tests.providers.histories import PNG, image
from tests.strategies import Writer
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.messages import (
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.providers.estimate import estimate_tokens


def user(*blocks):
    return [Writer().message(Role.USER, blocks)]


def test_text_is_counted_by_its_bytes():
    assert estimate_tokens(user(TextBlock("a" * 3500)), ()) == 1_004
    assert estimate_tokens(user(TextBlock("漢" * 1_000)), ()) == 861


def test_every_kind_of_block_counts():
    empty = estimate_tokens(user(), ())
    for block in (
        ThinkingBlock("x" * 50),
        RedactedThinkingBlock("x" * 50),
        ToolUseBlock("tu_1", "f", {"a": "x" * 50}),
        ToolResultBlock("tu_1", (TextBlock("x" * 50),)),
        image(),
    ):
        assert estimate_tokens(user(block), ()) > empty


def test_tools_count_with_their_schema():
    assert 40 < estimate_tokens([], [READ]) < 80


@pytest.mark.parametrize(
    ("picture", "tokens"),
    [
        (image(), 1),
        (image("/9j/AAAA", media_type="image/jpeg"), 1_600),
        (image("cat.png", "file_ref"), 1_600),
        (image("not base64!", "base64"), 1_600),
    ],
)
def test_images_are_counted_by_their_size(picture, tokens):
    assert estimate_tokens(user(picture), ()) == 4 + tokens


def test_the_size_of_a_jpeg_is_found_behind_its_other_segments():
    jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\x02\x58\x03\x20" + b"\0" * 20
    picture = image(base64.b64encode(jpeg).decode())
    assert estimate_tokens(user(picture), ()) == 4 + 800 * 600 // 750


def test_an_adapter_estimates_without_the_network():
    transport = Playback([])
    speaker = adapter("openai-chat-fae50610", transport)
    assert speaker.estimate_input_tokens(user(TextBlock("hello")), [READ]) > 40
    assert transport.posted == []
    assert PNG


def test_recorded_prompts_of_plain_text_and_tools_are_guessed_within_a_fifth_on_average():
    ratios = [ratio for name in NAMES if (ratio := _ratio(name)) is not None]
    assert len(ratios) >= 15
    assert 0.8 < statistics.median(ratios) < 1.2


def _ratio(name):
    """Estimate over recorded count of an OpenAI-like request that holds only text and tools."""
    recorded, usage = exchange(name), expected(name)["usage"]["total"]
    if recorded["api"] != "chat" or recorded["provider"] == "ollama":
        return None
    if not recorded["request"] or usage is None:
        return None
    body = recorded["request"]["body"]
    if not body or any(not isinstance(m.get("content"), str | None) for m in body["messages"]):
        return None
    writer = Writer()
    messages = [
        writer.message(Role.USER, [TextBlock(message.get("content") or "")])
        for message in body["messages"]
    ]
    tools = [
        ToolDefinition(
            name=tool["function"]["name"],
            description=tool["function"].get("description") or "",
            input_schema=tool["function"].get("parameters") or {},
            side_effects=SideEffects.NONE,
        )
        for tool in body.get("tools") or ()
        if "function" in tool
    ]
    return estimate_tokens(messages, tools) / usage["input_tokens"]
