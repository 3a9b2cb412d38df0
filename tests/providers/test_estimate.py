import argparse
import base64
import hashlib
import inspect
import json
import struct
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from tests.providers.exchanges import READ, Playback, adapter
from tests.providers.histories import image
from tests.providers.prompts import prompts, replies, steps
from tests.strategies import Writer
from yourtool.messages import (
    RedactedThinkingBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.providers.estimate import (
    calibrated,
    counted_by,
    estimate_text,
    estimate_tokens,
)
from yourtool.providers.makers import maker_of

FEW = 15
"""Tokens; a tenth of a short prompt is less than what makers put around it."""
JAPANESE = (
    "昨日は朝から雨が降っていたので、家で本を読みながらゆっくり過ごしました。夕方になると空が晴れて"
    "きて、近くの公園まで散歩に出かけました。このプログラムはファイルを読み込み、その内容を画面に"
    "表示します。エラーが発生した場合は、原因と対処方法を知らせてください。"
)
RUSSIAN = (
    "Вчера с самого утра шёл дождь, поэтому я остался дома и спокойно читал книгу. К вечеру небо"
    " прояснилось, и я вышел прогуляться в ближайший парк. Эта программа читает файл и показывает"
    " его содержимое на экране. Если произойдёт ошибка, сообщите, пожалуйста, её причину."
)
UNEXPLAINED = {"openai-responses-1de45ab9", "openrouter-chat-825fdb47"}
"""Counted by a quarter less, and by a sixth more, than their words would be."""


def user(*blocks):
    return [Writer().message(Role.USER, blocks)]


def near(guess, tokens):
    return abs(guess - tokens) <= max(FEW, tokens / 10)


def test_recorded_prompts_are_guessed_within_a_tenth_for_each_maker_r_adp_19():
    """What nobody could know is left out; `prompts` says why, prompt by prompt."""
    told = [prompt for prompt in prompts() if not prompt.left_out]
    off = {
        prompt.name: (_guess(prompt), prompt.tokens)
        for prompt in told
        if not near(_guess(prompt), prompt.tokens)
    }
    assert off.keys() <= UNEXPLAINED
    makers = [prompt.model.partition(":")[0] for prompt in told]
    assert min(makers.count(name) for name in ("anthropic", "openai", "google")) >= 10
    assert sum(bool(prompt.tools) for prompt in told) >= 15
    assert max(prompt.tokens for prompt in told) > 4_000


def test_recorded_replies_are_guessed_within_a_tenth_r_adp_19():
    long = [(model, text, tokens) for model, text, tokens in replies() if tokens >= 30]
    off = [
        (model, tokens, round(guess))
        for model, text, tokens in long
        if not near(guess := estimate_text(text, model), tokens)
    ]
    assert len(long) >= 15
    assert [model for model, *_ in off] == ["openai:gpt-4o-mini-search-preview-2025-03-11"]


@pytest.mark.parametrize("fitted", [0, 1])
def test_prompts_are_guessed_that_the_weight_of_words_was_not_fitted_to_r_adp_19(fitted):
    """One half of the recordings, by the hash of their names, gives what a maker's words weigh;
    the other half is then guessed with it.

    Not shown by this: what stands around a prompt, and how text is taken apart, were found on all
    of the recordings, which are few and mostly English.
    """
    told = [prompt for prompt in prompts() if not prompt.left_out]
    held_out = [prompt for prompt in told if _half(prompt) != fitted]
    guesses: dict[str, int] = {}
    for maker in {maker_of(prompt.model)._replace(words=1) for prompt in told}:
        own = [p for p in told if maker_of(p.model)._replace(words=1) == maker]
        weight = _fitted(maker, [p for p in own if _half(p) == fitted])
        for prompt in own:
            weighed = maker._replace(words=weight)
            guesses[prompt.name] = counted_by(weighed, prompt.messages, prompt.tools)
    off = [p.name for p in held_out if not near(guesses[p.name], p.tokens)]
    far = [p.name for p in held_out if abs(guesses[p.name] - p.tokens) > max(FEW, p.tokens / 8)]
    assert len(held_out) >= 15
    assert len(off) <= len(held_out) / 6
    assert set(far) <= UNEXPLAINED
    whole = sum(guesses[p.name] for p in held_out) / sum(p.tokens for p in held_out)
    assert whole == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(
    ("kind", "bytes_per_token", "rel"),
    [
        ("japanese", 4.9, 0.1),
        ("russian", 8.3, 0.1),
        ("base64", 1.5, 0.1),
        ("python", 4.8, 0.2),
        ("markdown", 4.2, 0.2),
        ("json", 2.4, 0.2),
    ],
)
def test_kinds_of_text_are_guessed_by_what_was_measured_of_them_r_adp_19(
    kind, bytes_per_token, rel
):
    """The measured ratios are those of `ecosystem.md`, of OpenAI's newer vocabulary.

    They were measured on other texts than these. What is random is alike everywhere; code, prose
    and data are denser here and there, so no tenth is claimed for them. Nothing is shown of other
    makers' vocabularies in other scripts: nothing was recorded of those.
    """
    text = _sample(kind)
    guessed = len(text.encode()) / estimate_text(text, "openai:gpt-5")
    assert guessed == pytest.approx(bytes_per_token, rel=rel)


def test_a_provider_that_is_called_like_a_maker_is_not_that_maker():
    assert maker_of("openai-like:llama") == maker_of("somebody:llama") != maker_of("openai:any")
    assert maker_of("openai") == maker_of("openrouter:openai/gpt-5")


def test_a_kept_picture_counts_by_its_size_too():
    kept = structs.replace(image("sha256:" + "0" * 64, "file_ref"), pixels=(800, 600))
    around = estimate_tokens(user(), (), "anthropic")
    assert estimate_tokens(user(kept), (), "anthropic") - around == 640


def test_a_long_text_is_sampled_and_guessed_as_if_it_were_counted_whole():
    lines = [f"    value_{number} = compute({number}, 'key')\n" for number in range(20_000)]
    sampled = estimate_text("".join(lines))
    counted = sum(estimate_text("".join(lines[at : at + 500])) for at in range(0, 20_000, 500))
    assert sampled == pytest.approx(counted, rel=0.1)


def test_every_kind_of_block_counts():
    empty = estimate_tokens(user(), ())
    for block in (
        ThinkingBlock("some thought of some length"),
        RedactedThinkingBlock("x" * 50),
        ToolUseBlock("tu_1", "f", {"a": "some words"}),
        ToolResultBlock("tu_1", (TextBlock("some words"),)),
        image(),
    ):
        assert estimate_tokens(user(block), ()) > empty


def test_tools_count_with_their_schema_and_what_the_maker_says_of_tools():
    assert 30 < estimate_tokens([], [READ], "openai") < 50
    assert 500 < estimate_tokens([], [READ], "anthropic") < 600


def test_a_schema_counts_as_its_maker_shows_it():
    nested = {
        "type": "object",
        "properties": {
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "old": {"type": "string", "description": "What is there."},
                        "kind": {"enum": ["word", "line"]},
                        "at": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    },
                    "required": ["old"],
                },
            }
        },
    }
    tool = structs.replace(READ, input_schema=nested)
    plain = structs.replace(READ, input_schema={"type": "object", "properties": {}})
    sizes = {
        maker: estimate_tokens([], [tool], maker) - estimate_tokens([], [plain], maker)
        for maker in ("openai", "anthropic", "google")
    }
    assert 25 < sizes["openai"] < sizes["anthropic"]
    assert sizes["google"] > 25


@pytest.mark.parametrize(
    ("maker", "size", "tokens"),
    [
        ("anthropic", (800, 600), 640),
        ("anthropic", (4_000, 3_000), 1_600),
        ("openai", (512, 512), 255),
        ("openai", (1_024, 1_024), 765),
        ("openai", (2_048, 4_096), 1_105),
        ("google", (384, 384), 258),
        ("google", (960, 540), 516),
        ("somebody", (1, 1), 1),
    ],
)
def test_pictures_are_counted_by_their_size_as_each_maker_says_r_adp_19(maker, size, tokens):
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", *size) + b"\x08\x02\0\0\0"
    picture = image(base64.b64encode(png).decode())
    around = estimate_tokens(user(), (), maker)
    assert estimate_tokens(user(picture), (), maker) - around == tokens


@pytest.mark.parametrize(
    "picture",
    [
        image("/9j/AAAA", media_type="image/jpeg"),
        image("cat.png", "file_ref"),
        image("not base64!", "base64"),
    ],
)
def test_a_picture_of_unknown_size_counts_as_a_large_one(picture):
    assert estimate_tokens(user(picture), ()) - estimate_tokens(user(), ()) == 1_600


def test_the_size_of_a_jpeg_is_found_behind_its_other_segments():
    jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\x02\x58\x03\x20" + b"\0" * 20
    picture = image(base64.b64encode(jpeg).decode())
    around = estimate_tokens(user(), ())
    assert estimate_tokens(user(picture), ()) - around == 800 * 600 // 750


def test_an_adapter_estimates_without_the_network():
    transport = Playback([])
    speaker = adapter("openai-chat-fae50610", transport)
    assert speaker.estimate_input_tokens(user(TextBlock("hello")), [READ]) > 40
    assert transport.posted == []


def test_a_prompt_after_a_counted_one_is_guessed_within_a_tenth_whoever_counts_r_adp_19():
    """Neither a hidden prompt nor a server's template matters here."""
    unread = ("reasoning", "stub", "own tool", "thinking", "form of answer")
    off = [
        (after.name, calibrated(_guess(after), _guess(before), before.tokens), after.tokens)
        for before, after in steps()
        if not any(word in after.left_out for word in unread)
    ]
    assert len(off) >= 7
    assert {name for name, guess, tokens in off if not near(guess, tokens)} <= UNEXPLAINED


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
    return estimate_tokens(prompt.messages, prompt.tools, prompt.model)


def _half(prompt):
    return hashlib.sha256(prompt.name.encode()).digest()[0] % 2


def _fitted(maker, told):
    """Return the weight of words that fits recorded prompts of a maker best."""

    def off(percent):
        weighed = maker._replace(words=percent / 100)
        guesses = ((counted_by(weighed, p.messages, p.tools), p.tokens) for p in told)
        return sum(min(abs(guess - tokens) / tokens, 0.5) for guess, tokens in guesses)

    return min(range(70, 150), key=off) / 100


def _sample(kind):
    match kind:
        case "japanese":
            return JAPANESE
        case "russian":
            return RUSSIAN
        case "base64":
            return base64.b64encode(Random(1).randbytes(6_000)).decode()
        case "python":
            return inspect.getsource(argparse)
        case "markdown":
            return (Path(__file__).parents[2] / "README.md").read_text("utf-8")
        case _:
            locked = {
                f"library-{n}": {
                    "version": f"1.{n}.0",
                    "sha256": hashlib.sha256(bytes([n])).hexdigest(),
                }
                for n in range(99)
            }
            return json.dumps(locked, indent=2)
