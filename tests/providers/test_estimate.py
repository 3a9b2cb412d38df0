import base64
import statistics

import pytest

from tests.providers.exchanges import READ, Playback, adapter
from tests.providers.histories import PNG, image
from tests.providers.prompts import prompts, steps
from tests.strategies import Writer
from yourtool.messages import (
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.providers.estimate import calibrated, estimate_tokens


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


def test_a_prompt_after_a_counted_one_is_guessed_within_a_tenth_r_adp_19():
    off = [
        calibrated(_guess(after), _guess(before), before.tokens) / after.tokens
        for before, after in steps()
    ]
    assert len(off) >= 4
    assert statistics.median(off) == pytest.approx(1, abs=0.1)
    assert all(0.8 < each < 1.2 for each in off)


@pytest.mark.parametrize(("provider", "least"), [("anthropic", 5), ("openai", 8), ("google", 5)])
def test_recorded_prompts_with_our_tools_are_guessed_as_each_maker_counts(provider, least):
    """Prompts to which the maker adds words that nobody sees are left out."""
    off = [
        _guess(prompt) / prompt.tokens
        for prompt in prompts()
        if prompt.provider == provider and prompt.tools and prompt.tokens < 1_500
    ]
    assert len(off) >= least
    assert statistics.median(off) == pytest.approx(1, abs=0.25)


def test_an_anthropic_prompt_with_tools_is_guessed_within_a_tenth_r_adp_19():
    off = [
        _guess(prompt) / prompt.tokens
        for prompt in prompts()
        if prompt.provider == "anthropic" and prompt.tools and prompt.tokens < 1_500
    ]
    assert statistics.median(off) == pytest.approx(1, abs=0.1)
    assert all(0.8 < each < 1.1 for each in off)


@pytest.mark.parametrize(
    ("guess", "before", "counted", "right"),
    [
        (100, 0, 0, 100),
        (100, 100, 0, 100),
        (100, 100, 400, 400),
        (200, 100, 110, 220),
        (200, 100, 1_000, 1_130),
        (200, 100, 10, 87),
        (50, 100, 200, 100),
        (0, 100, 1, 1),
    ],
)
def test_a_count_is_the_measure_of_what_follows_within_reason_r_adp_19(
    guess, before, counted, right
):
    assert calibrated(guess, before, counted) == right


def _guess(prompt):
    return estimate_tokens(prompt.messages, prompt.tools, prompt.provider)
